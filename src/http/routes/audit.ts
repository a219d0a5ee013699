/** @module Routes for auditors: one per named query, generated from the table of queries, and an event by its id. */

import { z } from 'zod'
import { NOT_SEARCHED } from '../../../schemas/answer-trailer.ts'
import { AUDIT_ANSWERS, SERVICE_ANSWERS } from '../../../schemas/answers/audit.ts'
import { EventAnswer } from '../../../schemas/answers/history.ts'
import type { FilterName } from '../../../schemas/audit-fields.ts'
import { EventQueryParams } from '../../../schemas/event-query.ts'
import { UUID_PATTERN } from '../../../schemas/header.ts'
import type { Json } from '../../../schemas/json.ts'
import { READ_TENANT, READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import {
  AUDIT_QUERIES,
  type AuditQueryDefinition,
  type AuditQueryName,
  isOrdered,
} from '../../ledger/audit/audit-queries.ts'
import type { AuditPageRequest, AuditQuestion, AuditReads } from '../../ledger/audit/audit-reads.ts'
import { SERVICE_QUERIES, type ServiceFilter, type ServiceQueryName } from '../../ledger/audit/service-queries.ts'
import type { ServicePage, ServicePlace } from '../../ledger/service.ts'
import { json, jsonText, problemResponse } from '../answers.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { eventCursor } from '../event-cursor.ts'
import { eventText } from '../event-text.ts'
import { CursorText, Limit, NoQuery, PAGE_DEFAULT, Text, Whole } from '../parameters.ts'
import { type Problem, problem } from '../problems.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { tailScope } from '../sse.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'audit'

export const auditRoutes: readonly GuardedRoute[] = [
  ...Object.keys(AUDIT_QUERIES).map((name) => queryRoute(name as AuditQueryName)),
  serviceRoute('service', SERVICE_QUERIES.service, ({ deps }, place) => deps.ledger.service.history(place)),
  serviceRoute('tokens', SERVICE_QUERIES.tokens, ({ deps, caller }, place) =>
    deps.ledger.service.tokens(caller.tenant, place),
  ),
  readRoute({
    path: '/v1/audit/events/{event}',
    summary: 'One event of the tenant by its id: the sealed record',
    tag,
    answer: EventAnswer,
    access: READ_TENANT_RECORDED_BEHIND,
    query: NoQuery,
    handle: (context) => withAudit(context, (audit) => oneEvent(context, audit)),
  }),
]

function queryRoute(name: AuditQueryName): GuardedRoute {
  const definition: AuditQueryDefinition = AUDIT_QUERIES[name]
  return readRoute({
    path: `/v1/audit/${name}`,
    summary: definition.summary,
    tag,
    answer: AUDIT_ANSWERS[definition.shape],
    access: READ_TENANT_RECORDED_BEHIND,
    query: paramsOf(name, definition),
    handle: (context) => withAudit(context, (audit) => answer(context as RequestContext<Params>, audit, name)),
  })
}

interface ServiceParams extends ServiceFilter {
  readonly cursor?: string
  readonly limit?: number
}

type ServiceAsk = RequestContext<ServiceParams>

/** Reads from the ledger's own record, newest first: the store answers, not the tenant's index. */
function serviceRoute(
  name: ServiceQueryName,
  { summary, filters }: { readonly summary: string; readonly filters: readonly (keyof ServiceFilter)[] },
  read: (context: ServiceAsk, place: ServicePlace) => Promise<ServicePage>,
): GuardedRoute {
  const answered = async (context: ServiceAsk): Promise<Response> => {
    const { deps, caller, query, path } = context
    const { places } = deps.ledger
    const { cursor, limit = PAGE_DEFAULT, ...filter } = query
    const scope = ['audit', caller.tenant, name, filter]
    const [from] = cursor === undefined ? [] : (decodeCursor(places, scope, cursor) ?? [null])
    if (from === null) return problemResponse(notACursor, path)
    const place = { limit, filter, from: from as number | undefined }
    const { items, next } = await read(context, place)
    const nextCursor = next === undefined ? null : encodeCursor(places, scope, [next])
    return json(200, { query: name, items, nextCursor })
  }
  return readRoute({
    path: `/v1/audit/${name}`,
    summary,
    tag,
    answer: SERVICE_ANSWERS[name],
    access: READ_TENANT,
    query: z.strictObject({ ...picked(filters), cursor: CursorText.optional(), limit: Limit.optional() }),
    handle: (context) => withSlot(context, () => answered(context as ServiceAsk)),
  })
}

/** Parameter names come from the definition alone: filters that the query does not know are refused. */
function paramsOf(name: AuditQueryName, { filters, shape }: AuditQueryDefinition): z.ZodObject {
  return z.strictObject({
    ...picked(filters),
    ...(name === 'spend' && { by: Text.optional() }),
    ...(name === 'sample' && { seed: Text }),
    ...(isOrdered(shape) && { order: z.enum(['asc', 'desc'], 'takes asc or desc').optional() }),
    /** Size of the log, in events. */
    asOf: Whole.optional(),
    cursor: CursorText.optional(),
    limit: Limit.optional(),
  })
}

function picked(filters: readonly FilterName[]) {
  return Object.fromEntries(filters.map((filter) => [filter, EventQueryParams.shape[filter]]))
}

interface Params extends Record<string, unknown> {
  readonly by?: string
  readonly seed?: string
  readonly order?: 'asc' | 'desc'
  readonly asOf?: number
  readonly cursor?: string
  readonly limit?: number
}

function withAudit(
  context: RequestContext,
  answered: (audit: AuditReads) => Promise<Response>,
): Response | Promise<Response> {
  const { audit } = context.deps.ledger
  if (audit !== undefined) return answered(audit)
  return problemResponse(problem('not-found', 'this ledger keeps no index for auditors'), context.path)
}

async function answer(context: RequestContext<Params>, audit: AuditReads, name: AuditQueryName): Promise<Response> {
  const { deps, caller, path, query } = context
  const { by, seed, order, asOf, cursor, limit = PAGE_DEFAULT, ...filter } = query
  const scope = ['audit', caller.tenant, name, { by, seed, order, asOf, filter }]
  const { places } = deps.ledger
  const place = cursor === undefined ? undefined : placeOf(decodeCursor(places, scope, cursor))
  if (cursor !== undefined && place === undefined) return problemResponse(notACursor, path)

  const question: AuditQuestion = { name, filter, ...(by !== undefined && { by }), ...(seed !== undefined && { seed }) }
  const found = await withSlot(context, () =>
    audit.ask(caller, question, {
      ...(asOf !== undefined && { treeSize: asOf }),
      ...place,
      limit,
      newestFirst: order === 'desc',
    }),
  )
  if (found instanceof Response) return found
  if (!found.ok) return problemResponse(problemOf(found), path)
  const { next, asOf: pin, restsOn, total } = found
  const nextCursor = next === undefined ? null : encodeCursor(places, scope, [pin.treeSize, pin.eventId, ...next])
  const { position, ...outward } = pin
  const { eventId } = outward
  // A tail with this cursor continues after this answer.
  const last = position === null || eventId === null ? undefined : { position, id: eventId }
  const tailCursor = last === undefined ? null : eventCursor(places, tailScope(caller.tenant), last)
  const notSearched = restsOn === 'word-index' && { notSearched: NOT_SEARCHED }
  const more = {
    ...{ nextCursor, tailCursor, asOf: outward, restsOn, ...notSearched },
    ...(total !== undefined && { total }),
  }
  // Rows that a reader thread has serialized are passed on unchanged.
  return jsonText(200, `{"query":${JSON.stringify(name)},"items":${found.itemsText()},${JSON.stringify(more).slice(1)}`)
}

/** A cursor contains the size of the log, the id of its last event, and the place where the page ended. */
function placeOf(
  place: readonly Json[] | undefined,
): Pick<AuditPageRequest, 'after' | 'treeSize' | 'eventId'> | undefined {
  const [treeSize, eventId, ...after] = place ?? []
  if (typeof treeSize !== 'number' || typeof eventId !== 'string') return undefined
  return { treeSize, eventId, after }
}

const notACursor = problem('invalid-cursor', 'this is no cursor of this query with these filters')
const noSuchEvent = problem('not-found', 'there is no such event')

function problemOf({
  code,
  detail,
}: {
  readonly code: 'invalid-query' | 'cursor-gone' | 'run-mismatch' | 'agent-mismatch'
  readonly detail: string
}): Problem {
  return problem(code, detail)
}

async function oneEvent({ caller, item, path }: RequestContext, audit: AuditReads): Promise<Response> {
  const event = UUID_PATTERN.test(item) ? await audit.event(caller, item) : undefined
  return event === undefined ? problemResponse(noSuchEvent, path) : jsonText(200, eventText(event))
}
