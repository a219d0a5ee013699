/** @module The auditors' questions as pages: one per named query, generated from the table of queries. */
import type { Child } from 'hono/jsx'
import { z } from 'zod'
import { AUDIT_FILTERS, type FilterName, PART_FIELDS } from '../../../schemas/audit-fields.ts'
import { typesThat } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { READ_TENANT, READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import {
  AUDIT_QUERIES,
  type AuditQueryDefinition,
  type AuditQueryName,
  isOrdered,
} from '../../ledger/audit/audit-queries.ts'
import type { AuditPage } from '../../ledger/audit/audit-reads.ts'
import { count, plural } from '../format.ts'
import { textIn } from '../item-members.ts'
import { pageRoute, Refused, type View } from '../page.ts'
import { AuditTable, titleOf } from '../parts/audit-table.tsx'
import { PeriodChips, PeriodFields } from '../parts/period-fields.tsx'
import { TakenAnswer } from '../parts/taken-answer.tsx'
import { AUDIT, auditPath, SERVICE, withQuery } from '../paths.ts'
import { visibleText } from '../visible.ts'
import { type AuditFilters, filtersOf } from './audit-filters.ts'
import { placeOf, placeText, queryAudit } from './audit-query.ts'

const PAGE_ROWS = 50

export const auditIndexPage = pageRoute({
  path: '/audit',
  access: READ_TENANT,
  query: z.object({}),
  handle: () => ({
    title: 'Audit',
    nav: 'audit',
    body: (
      <>
        <h1>Audit</h1>
        <p class="muted">Each question is answered as of one size of the log, and asking is itself recorded.</p>
        <ul class="questions">
          {Object.entries(AUDIT_QUERIES).map(([name, { summary }]) => (
            <li class="card">
              <h2>
                <a href={auditPath(name)}>{titleOf(name)}</a>
              </h2>
              <p class="muted">{summary.replaceAll('`', '')}</p>
            </li>
          ))}
          <li class="card">
            <h2>
              <a href={SERVICE}>Service and tokens</a>
            </h2>
            <p class="muted">What was done to the ledger itself, and the tokens that were issued for this tenant</p>
          </li>
        </ul>
      </>
    ),
  }),
})

const AuditParams = z.looseObject({ place: z.string().max(2_048).optional() })
type AuditParams = z.output<typeof AuditParams>

export const auditPage = pageRoute({
  path: '/audit/:name',
  access: READ_TENANT_RECORDED_BEHIND,
  query: AuditParams,
  handle: async (view) => {
    const name = view.c.req.param('name') ?? ''
    if (!Object.hasOwn(AUDIT_QUERIES, name))
      throw new Refused({ code: 'not-found', detail: `There is no question ${name}.` })
    const definition: AuditQueryDefinition = AUDIT_QUERIES[name as AuditQueryName]
    const filters = filtersOf(name as AuditQueryName, view.query, view.deps.now())
    const { typed, extra, narrowed } = filters
    const missing = missingOf(name, definition, { ...typed, ...extra })
    const page = missing === undefined ? await answered(view, name as AuditQueryName, filters) : undefined
    const nav = name === 'rejections' ? 'refused' : 'audit'
    const body = (
      <AuditBody
        name={name}
        definition={definition}
        typed={{ ...typed, ...extra }}
        page={page}
        missing={missing}
        narrowed={narrowed}
        taken={page && <TakenAsked view={view} name={name as AuditQueryName} filters={filters} page={page} />}
      />
    )
    return { title: titleOf(name), nav, scripts: ['zones.js', 'event-detail.js'], body }
  },
})

function missingOf(
  name: string,
  { required = [] }: AuditQueryDefinition,
  inputs: Readonly<Record<string, string>>,
): string | undefined {
  const wanted = name === 'sample' ? ['seed'] : required
  return wanted.find((each) => inputs[each] === undefined)
}

async function answered(
  view: View<AuditParams>,
  name: AuditQueryName,
  { filter, extra: { by, seed }, asOf }: AuditFilters,
): Promise<AuditPage> {
  const place = placeOf(view.query.place)
  if (place === undefined) throw new Refused({ code: 'invalid-cursor', detail: 'This is no place in this list.' })
  const { shape } = AUDIT_QUERIES[name]
  const question = { name, filter, ...(by !== undefined && { by }), ...(seed !== undefined && { seed }) }
  const pinned = { ...(asOf !== undefined && { treeSize: asOf }), ...place }
  return queryAudit(view, question, { ...pinned, limit: PAGE_ROWS, newestFirst: isOrdered(shape) })
}

interface BodyProps {
  readonly name: string
  readonly definition: AuditQueryDefinition
  readonly typed: Readonly<Record<string, string>>
  readonly page: AuditPage | undefined
  readonly missing: string | undefined
  readonly narrowed: boolean
  /** The answer in words, with its downloads. */
  readonly taken: Child
}

function AuditBody({ name, definition, typed, page, missing, narrowed, taken }: BodyProps) {
  const next = page && placeText(page)
  return (
    <>
      <nav class="crumbs" aria-label="You are here">
        <a href={AUDIT}>Audit</a> / <span aria-current="page">{titleOf(name)}</span>
      </nav>
      <div class="page-head">
        <div>
          <h1>{titleOf(name)}</h1>
          <p class="muted">{definition.summary.replaceAll('`', '')}</p>
        </div>
      </div>
      {definition.filters.includes('since') && <PeriodChips path={auditPath(name)} query={typed} />}
      <AuditForm name={name} filters={definition.filters} typed={typed} items={page?.items ?? []} />
      {narrowed && <Narrowed to={withQuery(auditPath(name), { ...typed, routine: 'true' })} />}
      {missing !== undefined && (
        <div class="empty">
          <p class="empty-title">Say what to look for</p>
          <p>This question needs “{missing}”.</p>
        </div>
      )}
      {page !== undefined && <Answer definition={definition} page={page} />}
      {page !== undefined && (
        <nav class="pager" aria-label="Pages">
          {next !== undefined && (
            <a href={withQuery(auditPath(name), { ...typed, place: next })} rel="next">
              More
            </a>
          )}
          <span class="muted">
            As of{' '}
            <a href={withQuery(auditPath(name), { ...typed, asOf: page.asOf.treeSize })}>
              {plural(page.asOf.treeSize, 'event')} of the log
            </a>
            {page.total !== undefined && `; ${count(page.total)} in all`}: the link answers the same for ever.
            {page.restsOn === 'word-index' &&
              ' Found by the index of words; large and encrypted values are not searched.'}
          </span>
        </nav>
      )}
      {taken}
    </>
  )
}

interface TakenAskedProps {
  readonly view: View<AuditParams>
  readonly name: AuditQueryName
  readonly filters: AuditFilters
  readonly page: AuditPage
}

function TakenAsked({ view, name, filters: { filter, typed, extra, narrowed }, page }: TakenAskedProps) {
  const { since, until, ...others } = filter
  const { by, seed } = extra
  const { since: _, until: __, ...said } = typed
  return (
    <TakenAnswer
      view={view}
      question={`${titleOf(name)}: ${AUDIT_QUERIES[name].summary.replaceAll('`', '')}`}
      answers={[{ name, params: { ...others, since, until, by, seed } }]}
      filters={{ ...said, by, seed, ...(narrowed && { types: 'what agents and people did' }) }}
      period={{ since, until }}
      treeSize={page.asOf.treeSize}
    />
  )
}

/** Tells the reader that a default filter is active. */
function Narrowed({ to }: { readonly to: string }) {
  return (
    <p class="notice">
      Shown is what agents and people did. Left out is what the ledger writes as a matter of course: who read what,
      checkpoints, reservations, renewals. <a href={to}>Show every event</a>
    </p>
  )
}

function Answer({ definition, page }: { readonly definition: AuditQueryDefinition; readonly page: AuditPage }) {
  if (page.items.length > 0)
    return <AuditTable columns={definition.columns} items={page.items as readonly JsonObject[]} />
  return (
    <div class="empty">
      <p class="empty-title">Nothing of the kind is recorded</p>
    </div>
  )
}

// The filters of a question as a form: a plain GET, so that an answer has an address.

interface AuditFormProps {
  readonly name: string
  readonly filters: readonly string[]
  readonly typed: Readonly<Record<string, string>>
  /** Rows of the answer; their values are suggested. */
  readonly items: readonly JsonObject[]
}

const SPEND_BY = ['run', 'agent', 'model', 'day', 'month', 'tenant']

function AuditForm({ name, filters, typed, items }: AuditFormProps) {
  return (
    <form autocomplete="off" method="get" action={auditPath(name)} class="filters audit-filters" aria-label="Filters">
      {name === 'spend' && <Choice name="by" values={SPEND_BY} value={typed.by ?? 'run'} />}
      {typed.routine !== undefined && <input type="hidden" name="routine" value={typed.routine} />}
      {name === 'sample' && <Field name="seed" value={typed.seed} />}
      {shownOf(filters, typed).map((name) => {
        const choices = inputOf(name)
        return typeof choices === 'object' ? (
          <Choice name={name} values={['', ...choices]} value={typed[name] ?? ''} />
        ) : (
          <Field name={name} value={typed[name]} items={items} />
        )
      })}
      {filters.some((name) => inputOf(name) === 'time') && (
        <PeriodFields since={typed.since} until={typed.until} zone={typed.zone} />
      )}
      <Field name="asOf" value={typed.asOf} />
      <button type="submit" class="button">
        Show
      </button>
    </form>
  )
}

/** A name is matched by part; the field for an exact match is shown only if it has a value, as from a link. */
function shownOf(filters: readonly string[], typed: AuditFormProps['typed']): readonly string[] {
  const names = filters.filter((name) => inputOf(name) !== 'time')
  const shown = names.filter((name) => typed[name] !== undefined || !names.includes(`${name}${BY_PART}`))
  return [...shown.filter((name) => name === ANY_NAME), ...shown.filter((name) => name !== ANY_NAME)]
}

const BY_PART = 'Contains'
const ANY_NAME = 'contains' satisfies FilterName

/** Members of the answer's rows whose values are suggested for a field. */
const saidIn = (name: string): readonly string[] => (name === ANY_NAME ? PART_FIELDS : [filterOf(name)?.field ?? name])

const filterOf = (name: string) => AUDIT_FILTERS.find((filter) => filter.name === name)
const inputOf = (name: string) => filterOf(name)?.input
const LABELS: Readonly<Record<string, string>> = { asOf: 'As of so many events' }
const labelOf = (name: string): string =>
  filterOf(name)?.label ?? LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1)

interface FieldProps {
  readonly name: string
  readonly value: string | undefined
  readonly items?: readonly JsonObject[]
}

const SUGGESTIONS_MAX = 30

function Field({ name, value, items = [] }: FieldProps) {
  const known =
    name === 'types'
      ? typesThat(() => true)
      : items.flatMap((item) => saidIn(name).flatMap((member) => textIn(item, member) ?? []))
  const suggested = [...new Set(known)].slice(0, name === 'types' ? known.length : SUGGESTIONS_MAX)
  return (
    <div>
      <label for={`f-${name}`}>{labelOf(name)}</label>
      <input
        id={`f-${name}`}
        type="text"
        name={name}
        value={value ?? ''}
        {...(suggested.length > 0 && { list: `known-${name}` })}
        maxlength={256}
        autocomplete="off"
        spellcheck={false}
      />
      {suggested.length > 0 && (
        <datalist id={`known-${name}`}>
          {suggested.map((text) => (
            <option value={visibleText(text)} />
          ))}
        </datalist>
      )}
    </div>
  )
}

function Choice({
  name,
  values,
  value,
}: {
  readonly name: string
  readonly values: readonly string[]
  readonly value: string
}) {
  return (
    <div>
      <label for={`f-${name}`}>{labelOf(name)}</label>
      <select id={`f-${name}`} name={name}>
        {values.map((each) => (
          <option value={each} selected={each === value}>
            {each === '' ? 'Any' : each}
          </option>
        ))}
      </select>
    </div>
  )
}
