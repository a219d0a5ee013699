/** @module The auditors' questions as pages: one a named query, made from the table of the queries. */
import { z } from 'zod'
import { AUDIT_FILTERS } from '../../../schemas/audit-fields.ts'
import { EventQueryParams } from '../../../schemas/event-query.ts'
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
import { pageRoute, Refused, type View } from '../page.ts'
import { AuditForm } from '../parts/audit-form.tsx'
import { AuditTable, titleOf } from '../parts/audit-table.tsx'
import { AUDIT, auditPath, withQuery } from '../paths.ts'
import { askAudit, placeOf, placeText } from './audit-ask.ts'

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
        <p class="muted">Each question is answered as of one size of the log, and asking is itself put on record.</p>
        <ul class="questions">
          {Object.entries(AUDIT_QUERIES).map(([name, { summary }]) => (
            <li class="card">
              <h2>
                <a href={auditPath(name)}>{titleOf(name)}</a>
              </h2>
              <p class="muted">{summary.replaceAll('`', '')}</p>
            </li>
          ))}
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
    const { filter, given, extra } = filtersOf(definition, view.query)
    const missing = missingOf(name, definition, { ...given, ...extra })
    const page = missing === undefined ? await answered(view, name as AuditQueryName, { filter, extra }) : undefined
    const nav = name === 'rejections' ? 'refused' : 'audit'
    const body = (
      <AuditBody name={name} definition={definition} given={{ ...given, ...extra }} page={page} missing={missing} />
    )
    return { title: titleOf(name), nav, body }
  },
})

interface Filters {
  readonly filter: z.output<typeof EventQueryParams>
  /** As they were typed. */
  readonly given: Readonly<Record<string, string>>
  readonly extra: { readonly by?: string; readonly seed?: string }
}

/** Only what the query takes; a filter that cannot be read is refused, not passed over. */
function filtersOf(definition: AuditQueryDefinition, query: AuditParams): Filters {
  const entries = definition.filters.flatMap((name) => {
    const value = query[name]
    return typeof value === 'string' ? [[name, isTime(name) ? zoned(value) : value] as const] : []
  })
  const params = Object.fromEntries(entries)
  const checked = EventQueryParams.safeParse(params)
  if (!checked.success) {
    const [issue] = checked.error.issues
    throw new Refused({ code: 'invalid-query', detail: `${issue?.path.join('.')}: ${issue?.message}` })
  }
  const texts = (['by', 'seed'] as const).flatMap((name) =>
    typeof query[name] === 'string' ? [[name, query[name]]] : [],
  )
  return { filter: checked.data, given: params, extra: Object.fromEntries(texts) }
}

const isTime = (name: string): boolean => AUDIT_FILTERS.find((filter) => filter.name === name)?.input === 'time'

/** What a browser's field says, without a zone, is UTC. */
function zoned(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}${text.length === 16 ? ':00' : ''}Z` : text
}

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
  { filter, extra }: Pick<Filters, 'filter' | 'extra'>,
): Promise<AuditPage> {
  const place = placeOf(view.query.place)
  if (place === undefined) throw new Refused({ code: 'invalid-cursor', detail: 'This is no place in this list.' })
  const { shape } = AUDIT_QUERIES[name]
  return askAudit(view, { name, filter, ...extra }, { ...place, limit: PAGE_ROWS, newestFirst: isOrdered(shape) })
}

interface BodyProps {
  readonly name: string
  readonly definition: AuditQueryDefinition
  readonly given: Readonly<Record<string, string>>
  readonly page: AuditPage | undefined
  readonly missing: string | undefined
}

function AuditBody({ name, definition, given, page, missing }: BodyProps) {
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
      <AuditForm name={name} filters={definition.filters} given={given} />
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
            <a href={withQuery(auditPath(name), { ...given, place: next })} rel="next">
              More
            </a>
          )}
          <span class="muted">
            As of {plural(page.asOf.treeSize, 'event')} of the log
            {page.total !== undefined && `; ${count(page.total)} in all`}.
          </span>
        </nav>
      )}
    </>
  )
}

function Answer({ definition, page }: { readonly definition: AuditQueryDefinition; readonly page: AuditPage }) {
  if (page.items.length > 0)
    return <AuditTable columns={definition.columns} items={page.items as readonly JsonObject[]} />
  return (
    <div class="empty">
      <p class="empty-title">Nothing of the kind is on record</p>
    </div>
  )
}
