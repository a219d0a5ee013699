/** @module The named audit queries, as data: HTTP, OpenAPI, the command line and the dashboard are all generated from this table. */
import { AUDIT_FILTERS, type FilterGroup, type FilterName } from '../../../schemas/audit-fields.ts'
import type { AuditFilter } from '../../store/audit-index.ts'

/** What a query lists: events, or groups of events. */
export type AuditShape =
  | 'events'
  | 'rejections'
  | 'suspects'
  | 'open-calls'
  | 'open-reservations'
  | 'open-compensations'
  | 'runs'
  | 'spend'
  | 'keys'
  | 'access'
  | 'sample'

export interface AuditQueryDefinition {
  readonly summary: string
  readonly shape: AuditShape
  readonly filters: readonly FilterName[]
  /** Conditions that are always added to those of the caller. */
  readonly preset?: Pick<AuditFilter, 'types' | 'verdict' | 'rule' | 'clocked' | 'mark'>
  /** Members of a row that a table shows, in this order. */
  readonly columns: readonly string[]
  /** Filters that the query requires. */
  readonly required?: readonly FilterName[]
}

/** The filters of these groups, in this order. */
const by = (...groups: readonly FilterGroup[]): readonly FilterName[] =>
  groups.flatMap((group) => AUDIT_FILTERS.filter((filter) => filter.group === group).map(({ name }) => name))

const EVERY = by('run', 'type', 'who', 'call', 'rule', 'verdict', 'model', 'any', 'key', 'when', 'text')

const EVENT_COLUMNS = [
  'leaf',
  'time',
  'type',
  'run',
  'revision',
  'actor',
  'agent',
  'tool',
  'verdict',
  'rules',
  'seal',
] as const

export const AUDIT_QUERIES = {
  events: {
    summary: 'Events by any filters: everything of an actor, a principal, a tool, a call, a verdict, a time',
    shape: 'events',
    filters: EVERY,
    columns: EVENT_COLUMNS,
  },
  search: {
    summary:
      'Events whose payloads, results, errors and reasons hold the words of `text`, with the place where they are',
    shape: 'events',
    filters: EVERY,
    required: ['text'],
    columns: ['leaf', 'time', 'type', 'run', 'revision', 'agent', 'snippet', 'seal'],
  },
  runs: {
    summary: 'The population: every run with its count of events and the revisions that are missing',
    shape: 'runs',
    filters: by('run', 'when'),
    columns: ['run', 'started', 'last', 'events', 'lastRevision', 'missing', 'status', 'compensation', 'rejections'],
  },
  'open-runs': {
    summary: 'Runs without an end',
    shape: 'runs',
    filters: by('run', 'when'),
    columns: ['run', 'started', 'last', 'events', 'rejections'],
  },
  'open-calls': {
    summary: 'Calls that were started and have no outcome: claimed, in doubt, or (calls of models) unanswered',
    shape: 'open-calls',
    filters: by('run', 'who', 'call', 'any', 'key', 'when'),
    columns: ['leaf', 'time', 'run', 'revision', 'tool', 'agent', 'call', 'status', 'seal'],
  },
  rejections: {
    summary: 'Handoffs that were refused, by which rules, and to where the run was rewound',
    shape: 'rejections',
    filters: by('run', 'who', 'rule', 'any', 'key', 'when', 'text'),
    preset: { types: ['EnvelopeRejected'] },
    columns: ['leaf', 'time', 'run', 'revision', 'agent', 'actor', 'rules', 'rewind', 'seal'],
  },
  'would-refuse': {
    summary: 'Handoffs that were accepted only because the policy records (`enforce: "record"`), by which rules',
    shape: 'events',
    filters: by('run', 'who', 'rule', 'any', 'key', 'when', 'text'),
    preset: { types: ['EnvelopeAccepted'], mark: 'would-refuse' },
    columns: ['leaf', 'time', 'run', 'revision', 'agent', 'actor', 'rules', 'marks', 'seal'],
  },
  suspects: {
    summary: 'Handoffs with changes that nothing explained, and how many of these were still open',
    shape: 'suspects',
    filters: by('run', 'who', 'rule', 'any', 'key', 'when', 'text'),
    preset: { types: ['EnvelopeAccepted'], mark: 'suspect' },
    columns: ['leaf', 'time', 'run', 'revision', 'agent', 'actor', 'rules', 'status', 'open', 'suspects', 'seal'],
  },
  violations: {
    summary: 'Handoffs that wrote outside the boundary of their agent',
    shape: 'rejections',
    filters: by('run', 'who', 'any', 'key', 'when'),
    preset: { types: ['EnvelopeRejected', 'EnvelopeAccepted'], rule: 'manifest-violation' },
    columns: ['leaf', 'time', 'run', 'revision', 'agent', 'actor', 'verdict', 'rewind', 'seal'],
  },
  refusals: {
    summary: 'Requests that were refused: each is evidence that a gate works',
    shape: 'events',
    filters: by('run', 'who', 'rule', 'any', 'key', 'when', 'text'),
    preset: { types: ['RequestRefused', 'BudgetExceeded'] },
    columns: ['leaf', 'time', 'run', 'revision', 'actor', 'agent', 'rules', 'detail', 'seal'],
  },
  spend: {
    summary: 'Tokens and money, summed from the events by run, agent, model, day, month or tenant; one row a currency',
    shape: 'spend',
    filters: by('run', 'who', 'model', 'any', 'when'),
    columns: [
      'key',
      'tokens',
      'cost',
      'reportedTokens',
      'reportedCost',
      'estimatedTokens',
      'estimatedCost',
      'currency',
    ],
  },
  overshoots: {
    summary: 'Usage that came to light over a limit (reservations that a limit refused are under `refusals`)',
    shape: 'events',
    filters: by('run', 'who', 'model', 'any', 'when'),
    preset: { verdict: 'overshoot' },
    columns: ['leaf', 'time', 'run', 'revision', 'agent', 'detail', 'seal'],
  },
  'open-reservations': {
    summary: 'Reservations that were never settled nor released; an expired one is charged in full, as an estimate',
    shape: 'open-reservations',
    filters: by('run', 'who', 'model', 'any', 'when'),
    columns: ['leaf', 'time', 'run', 'revision', 'agent', 'reservation', 'status', 'detail', 'seal'],
  },
  'open-compensations': {
    summary: 'Compensations that failed or whose outcome is not known',
    shape: 'open-compensations',
    filters: by('run', 'who', 'call', 'any', 'when'),
    columns: ['leaf', 'time', 'run', 'revision', 'tool', 'compensates', 'verdict', 'detail', 'seal'],
  },
  'clock-regressions': {
    summary: "Events whose writer's clock was behind the event before them",
    shape: 'events',
    filters: by('run', 'type', 'who', 'any', 'key', 'when'),
    preset: { clocked: true },
    columns: ['leaf', 'time', 'type', 'run', 'revision', 'actor', 'seal'],
  },
  keys: {
    summary: 'Each sealing key: its recorded period, what it sealed, and what it sealed outside of that period',
    shape: 'keys',
    filters: by('run', 'when'),
    columns: ['kid', 'announced', 'retired', 'events', 'first', 'last', 'before', 'after'],
  },
  access: {
    summary: 'Who read, exported, replayed or verified what, and when',
    shape: 'access',
    filters: ['actor', 'actorContains', ...by('run', 'when')],
    preset: { types: ['AccessRecorded', 'ExportStarted', 'ExportIssued'] },
    columns: ['at', 'until', 'actor', 'principal', 'query', 'run', 'reads', 'filters', 'count', 'verdict'],
  },
  reviews: {
    summary: 'Reviews that were signed off: by whom, of which query, as of which size of the log, and what they found',
    shape: 'events',
    filters: by('who', 'any', 'key', 'when'),
    preset: { types: ['ReviewSigned'] },
    columns: ['leaf', 'time', 'actor', 'principal', 'detail', 'seal'],
  },
  verifications: {
    summary: 'The verification history: replays and verifications with their verdicts',
    shape: 'access',
    filters: ['actor', 'actorContains', ...by('run', 'when')],
    preset: { types: ['AccessRecorded'] },
    columns: ['at', 'actor', 'query', 'filters', 'verdict'],
  },
  sample: {
    summary:
      'A random sample of runs that neither side picks: the seed is the root of a checkpoint, and the same seed draws the same runs',
    shape: 'sample',
    filters: by('when'),
    columns: ['run', 'started', 'last', 'events', 'status', 'compensation'],
  },
} as const satisfies Record<string, AuditQueryDefinition>

export type AuditQueryName = keyof typeof AUDIT_QUERIES

const ORDERED: ReadonlySet<AuditShape> = new Set([
  'events',
  'rejections',
  'suspects',
  'access',
  'open-calls',
  'open-reservations',
  'open-compensations',
])

/** Whether a bundle can prove the answer. It cannot for keys: their announcement is only in the ledger's own log. */
export function followsFromLog(shape: AuditShape): boolean {
  return shape !== 'keys'
}

/** Whether the items are ordered by their leaf, so that they can be listed from either end. */
export function isOrdered(shape: AuditShape): boolean {
  return ORDERED.has(shape)
}
