/**
 * @module The one table of the event fields that the auditors' index stores and of the filters over them. The index's tables and
 * conditions, the HTTP parameters and their descriptions, flags, help texts and forms are generated from it; each fact of bodies
 * (`event-type.ts`) has its row here.
 */
import { z } from 'zod'
import type { BodyFact } from './event-type.ts'
import { EVENTS } from './events.ts'
import { GivenTime } from './given-time.ts'
import { Name, RunId } from './names.ts'
import { VERDICTS, Verdict } from './verdict.ts'

/** Increased if the meaning of a field changes while its column stays the same, so that older indexes are rebuilt. */
export const AUDIT_FIELDS_VERSION = 2

/** Maximum length of a search text and maximum number of words in it. */
export const SEARCH_MAX_CHARS = 256
export const SEARCH_MAX_TERMS = 16

/** Maximum length of the part of a name in a query. */
export const PART_MAX_CHARS = 256

/** Groups of filters that are shown together in a query, in this order. */
const FILTER_GROUPS = ['run', 'who', 'call', 'rule', 'verdict', 'model', 'any', 'key', 'when', 'text', 'type'] as const
export type FilterGroup = (typeof FILTER_GROUPS)[number]

/** RFC 3339 in any zone, converted to UTC with milliseconds, so that text order is time order. */
export const Instant = GivenTime.transform((text) => new Date(text).toISOString())

/** Rejects unknown types, since a query for a misspelt type would return an empty answer without any error. */
const Type = z.string().refine((type) => Object.hasOwn(EVENTS, type), 'takes types of events such as EnvelopeRejected')
const Types = z.array(Type).min(1).max(64)

export interface AuditFilterField {
  readonly group: FilterGroup
  /**
   * Comparison: with the column, with one of its values, with a part of the column or of one of its values ignoring case, with a part of
   * any of `PART_FIELDS`, or (`words`) with the texts of the body.
   */
  readonly compare: '=' | '>=' | '<' | 'in' | 'contains' | 'part' | 'any-part' | 'words'
  readonly schema: z.ZodType
  /** Schema of the form in a URL or a flag, if it differs. */
  readonly parameter?: z.ZodType
  /** Ends the sentence "Only events with ..." in the description of the API. */
  readonly about: string
  /** Label of the form field. */
  readonly label: string
  readonly input?: 'time' | readonly string[]
  /** Who can check the filter in a bundle: a holder of the headers, a holder of the bodies, or only the ledger with its own index. */
  readonly proof: 'header' | 'body' | 'index'
}

export interface AuditField {
  /** `list`: texts without line feeds. */
  readonly column?: 'text' | 'integer' | 'flag' | 'list'
  readonly optional?: true
  /** The column has its own index, by tenant and leaf index. */
  readonly indexed?: true
  readonly filters?: Readonly<Record<string, AuditFilterField>>
}

const text = { column: 'text' } as const
const fact = { column: 'text', optional: true } as const
/** Part of a name, compared ignoring case. */
const Part = z.string().min(1).max(PART_MAX_CHARS)

type FieldArguments = readonly [group: FilterGroup, label: string, proof: AuditFilterField['proof'], about: string]
const byName = (...[group, label, proof, about]: FieldArguments) =>
  ({ compare: '=', schema: Name, group, label: `${label}, whole name`, proof, about }) as const
const byPart = (...[group, label, proof, about]: FieldArguments) =>
  ({ compare: 'part', schema: Part, group, label, proof, about: `${about}, in any case` }) as const

/** In the order of the columns. */
export const AUDIT_FIELDS = {
  tenant: text,
  /** Leaf index in the tenant's log, counted by the auditors' index. */
  leaf: { column: 'integer' },
  stream: text,
  run: {
    ...{ ...fact, indexed: true },
    filters: {
      run: {
        ...{ group: 'run', compare: '=', schema: RunId, label: 'Run, whole id', proof: 'header' },
        about: 'in this run',
      },
      runContains: byPart('run', 'Run', 'header', 'in runs with this in their id'),
    },
  },
  revision: { column: 'integer' },
  position: text,
  id: text,
  type: {
    ...{ ...text, indexed: true },
    filters: {
      types: {
        ...{ group: 'type', compare: 'in', schema: Types, label: 'Types (with commas)', proof: 'header' },
        parameter: z
          .string()
          .max(2_048)
          .transform((list) => list.split(','))
          .pipe(Types),
        about: 'of one of these types, with commas between them',
      },
    },
  },
  time: {
    ...text,
    filters: {
      since: {
        ...{ group: 'when', compare: '>=', schema: Instant, label: 'Since (UTC)', input: 'time', proof: 'header' },
        about: 'of this time or later, by the header; RFC 3339',
      },
      until: {
        ...{ group: 'when', compare: '<', schema: Instant, label: 'Before (UTC)', input: 'time', proof: 'header' },
        about: 'of a time before this one, by the header; RFC 3339',
      },
    },
  },
  actor: {
    ...{ ...text, indexed: true },
    filters: {
      actor: byName('who', 'Actor', 'header', 'written by this actor, by the header'),
      actorContains: byPart('who', 'Actor', 'header', 'written by an actor with this in its name'),
    },
  },
  principal: {
    ...{ ...text, indexed: true },
    filters: {
      principal: byName(
        'who',
        'Principal',
        'header',
        "written in this one's name: the header's principal, or else its actor",
      ),
      principalContains: byPart('who', 'Principal', 'header', "written in somebody's name that has this in it"),
    },
  },
  kid: {
    ...text,
    filters: {
      kid: { ...byName('key', '', 'header', 'sealed with the key of this id'), label: 'Key id' },
    },
  },
  agent: {
    ...{ ...fact, indexed: true },
    filters: {
      agent: byName('who', 'Agent', 'body', 'whose body names this agent; of an outcome, the agent of its call'),
      agentContains: byPart('who', 'Agent', 'body', 'of an agent with this in its name'),
    },
  },
  tool: {
    ...{ ...fact, indexed: true },
    filters: {
      tool: byName('call', 'Tool', 'body', 'whose body names this tool; of an outcome, the tool of its call'),
      toolContains: byPart('call', 'Tool', 'body', 'of a tool with this in its name'),
    },
  },
  call: {
    ...{ ...fact, indexed: true },
    filters: {
      call: {
        ...{ group: 'call', compare: '=', schema: z.uuid(), label: 'Call id', proof: 'body' },
        about: 'of the call with this id',
      },
    },
  },
  approval: {
    ...{ ...fact, indexed: true },
    filters: {
      approval: {
        ...{ group: 'call', compare: '=', schema: z.uuid(), label: 'Approval id', proof: 'body' },
        about: 'that ask for the approval with this id, decide on it, or use it',
      },
    },
  },
  reservation: { ...fact, indexed: true },
  /** The call that this one compensates. */
  compensates: { ...fact, indexed: true },
  provider: {
    ...fact,
    filters: {
      provider: byName('model', 'Provider', 'body', 'whose body names this provider of models'),
      providerContains: byPart('model', 'Provider', 'body', 'of a provider of models with this in its name'),
    },
  },
  model: {
    ...fact,
    filters: {
      model: byName('model', 'Model', 'body', 'whose body names this model'),
      modelContains: byPart('model', 'Model', 'body', 'of a model with this in its name'),
    },
  },
  verdict: {
    ...fact,
    filters: {
      verdict: {
        ...{ group: 'verdict', compare: '=', schema: Verdict, label: 'Verdict', input: VERDICTS, proof: 'index' },
        about: 'that say this of what they record',
      },
    },
  },
  rules: {
    column: 'list',
    filters: {
      rule: {
        ...{ group: 'rule', compare: 'contains', schema: Name, label: 'Rule, whole', proof: 'index' },
        about: 'with a finding of this rule, or a refusal of this code',
      },
      ruleContains: byPart('rule', 'Rule', 'index', 'with a finding or a refusal whose rule or code has this in it'),
    },
  },
  /** What an accepted handoff is to be looked at for (`schemas/marks.ts`). */
  marks: { column: 'list' },
  /** The writer's clock was behind the time of the previous event. */
  clocked: { column: 'flag' },
  /** Has no column; searches all the names. */
  names: {
    filters: {
      contains: {
        ...byPart(
          'any',
          'Any name',
          'body',
          "with this in the run's id, or in the name of an actor, principal, agent, tool, provider or model",
        ),
        compare: 'any-part',
      },
    },
  },
  /** Has no column; searches the words of the body. */
  words: {
    filters: {
      text: {
        ...{ group: 'text', compare: 'words', label: 'Text', proof: 'index' },
        schema: z.string().min(1).max(SEARCH_MAX_CHARS),
        about: 'whose texts hold all of these words; words in double quotes must be adjacent',
      },
    },
  },
} as const satisfies Readonly<Record<BodyFact, AuditField> & Record<string, AuditField>>

type Fields = typeof AUDIT_FIELDS
export type AuditFieldName = keyof Fields

/** Fields that have a column. */
export type AuditColumn = { [F in AuditFieldName]: Fields[F] extends { column: string } ? F : never }[AuditFieldName]

interface KindOf {
  readonly text: string
  readonly integer: number
  readonly flag: boolean
  readonly list: readonly string[]
}
type Optional = { [F in AuditColumn]: Fields[F] extends { optional: true } ? F : never }[AuditColumn]

/** The index entry of one event. */
export type AuditRow = { readonly [F in Exclude<AuditColumn, Optional>]: KindOf[Fields[F]['column']] } & {
  readonly [F in Optional]?: string
}

type FiltersOfFields = {
  [F in AuditFieldName]: Fields[F] extends { filters: infer Each } ? Each : never
}[AuditFieldName]
type Merged<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void ? I : never
type Filters = Merged<FiltersOfFields>
export type FilterName = keyof Filters
/** The value of each filter. */
export type FilterValues = { readonly [N in FilterName]?: z.output<Filters[N]['schema']> | undefined }

export const AUDIT_COLUMNS: readonly AuditColumn[] = (Object.keys(AUDIT_FIELDS) as AuditFieldName[]).filter(
  (name): name is AuditColumn => 'column' in AUDIT_FIELDS[name],
)

export interface NamedFilter extends AuditFilterField {
  readonly name: FilterName
  /** The field that the filter is compared with. */
  readonly field: AuditFieldName
}

/** Every filter, group by group. */
export const AUDIT_FILTERS: readonly NamedFilter[] = FILTER_GROUPS.flatMap((group) =>
  Object.entries<AuditField>(AUDIT_FIELDS).flatMap(([field, { filters = {} }]) =>
    Object.entries(filters)
      .filter(([, filter]) => filter.group === group)
      .map(([name, filter]) => ({ ...filter, name: name as FilterName, field: field as AuditFieldName })),
  ),
)

/** Columns searched by `contains`. */
export const PART_FIELDS = [
  'run',
  'actor',
  'principal',
  'agent',
  'tool',
  'provider',
  'model',
] as const satisfies readonly AuditColumn[]
