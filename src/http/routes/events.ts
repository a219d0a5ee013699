/** @module The history of a run and of the tenant, page by page. All pages of one listing are one snapshot. */
import { z } from 'zod'
import { EventsAnswer } from '../../../schemas/answers/history.ts'
import { runStream } from '../../../schemas/names.ts'
import { READ_PAYLOADS, READ_TENANT } from '../../access/access.ts'
import type { EventFilter, SealedPlaces } from '../../ledger/ledger.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import type { Position } from '../../store/event-store.ts'
import { jsonText, problemResponse } from '../answers.ts'
import type { CursorScope } from '../cursor.ts'
import { type EventPlace, eventCursor, judgeCursor } from '../event-cursor.ts'
import { eventText } from '../event-text.ts'
import { CursorText, Limit, PAGE_DEFAULT, type Parsed, Text, Whole } from '../parameters.ts'
import { problem } from '../problems.ts'
import { type AccessNote, type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { tailScope } from '../sse.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'history'

const Filter = { type: Text.optional(), actor: Text.optional(), cursor: CursorText.optional(), limit: Limit.optional() }
const TenantQuery = z.strictObject({ ...Filter, after: CursorText.optional() })
const RunQuery = z.strictObject({ ...Filter, from: Whole.optional(), to: Whole.optional() })

type Query = z.output<typeof TenantQuery> & z.output<typeof RunQuery>

export const eventRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/runs/{run}/events',
    summary: "A run's events by revision: the sealed records",
    tag,
    answer: EventsAnswer,
    access: READ_PAYLOADS,
    query: RunQuery,
    handle: (context) => withSlot(context, () => runEvents(context), 'events'),
  }),
  readRoute({
    path: '/v1/events',
    summary: "The tenant's events in store order",
    tag,
    answer: EventsAnswer,
    access: READ_TENANT,
    query: TenantQuery,
    handle: (context) => withSlot(context, () => tenantEvents(context), 'events'),
  }),
]

/** The start and the end of a listing. */
interface Listing {
  readonly scope: CursorScope
  readonly after: LedgerEvent | undefined
  readonly until: Position | undefined
}

async function runEvents(context: RequestContext<z.output<typeof RunQuery>>): Promise<Response> {
  const { deps, caller, run, path, query } = context
  const listing = await resumed(context)
  if (!listing.ok) return problemResponse(listing.problem, path)
  const { after } = listing.value
  if (after !== undefined && after.header.stream !== runStream(caller.tenant, run)) return problemResponse(gone, path)

  const from = after === undefined ? (query.from ?? 0) : after.header.revision + 1
  const found = await deps.ledger.runEvents(caller, run, {
    from,
    kept: true,
    ...(query.to !== undefined && { to: query.to }),
  })
  if (!found.ok) return problemResponse(found.refusal, path)
  return listed(context, listing.value, found.value)
}

async function tenantEvents(context: RequestContext<z.output<typeof TenantQuery>>): Promise<Response> {
  const { deps, caller, path } = context
  const listing = await resumed(context)
  if (!listing.ok) return problemResponse(listing.problem, path)
  const { after, until } = listing.value
  const range = { ...(after && { after: after.position }), ...(until !== undefined && { until }) }
  return listed(context, listing.value, deps.ledger.tenantEvents(caller, range))
}

async function listed(
  context: RequestContext<Query>,
  listing: Listing,
  source: AsyncIterable<readonly LedgerEvent[]>,
): Promise<Response> {
  const { deps, query, caller } = context
  const { until } = listing
  const page = await takePage(source, {
    limit: query.limit ?? PAGE_DEFAULT,
    filter: filterOf(query),
    // If the store was empty at the first page, events appended later are beyond the end, too.
    isBeyond: (position) => until === undefined || deps.ledger.comparePositions(position, until) > 0,
  })
  const asOf = await deps.ledger.lastEventId(caller, until)
  if (context.access !== undefined) note(context.access, page.events.length, asOf)
  return jsonText(200, pageText(page, { ...listing, asOf, places: deps.ledger.places, tail: tailScope(caller.tenant) }))
}

function note(access: AccessNote, count: number, asOf: string | null): void {
  access.count = count
  if (asOf !== null) access.eventId = asOf
}

function filterOf({ type, actor }: Query): EventFilter {
  return { ...(type !== undefined && { types: [type] }), ...(actor !== undefined && { actor }) }
}

interface Shown extends Listing {
  readonly asOf: string | null
  readonly places: SealedPlaces
  readonly tail: CursorScope
}

function pageText({ events, resume }: EventPage, { scope, until, asOf, places, tail }: Shown): string {
  const next = resume && eventCursor(places, scope, { ...placeOf(resume), ...(until !== undefined && { until }) })
  const last = events.at(-1)
  const tailCursor = last && eventCursor(places, tail, placeOf(last))
  const rest = { nextCursor: next ?? null, tailCursor: tailCursor ?? null, asOf }
  return `{"items":[${events.map(eventText).join(',')}],${JSON.stringify(rest).slice(1)}`
}

const placeOf = ({ position, header }: LedgerEvent): EventPlace => ({ position, id: header.id })

/** The first page pins the end, and the cursor carries it to later pages. `after` (an id of a tail) starts a new listing. */
async function resumed({ deps, caller, path, query }: RequestContext<Query>): Promise<Parsed<Listing>> {
  const { cursor, limit: _, ...request } = query
  const scope = ['events', caller.tenant, path, request]
  const text = cursor ?? query.after
  if (text === undefined) return { ok: true, value: { scope, after: undefined, until: await deps.ledger.end() } }

  const judged = await judgeCursor(deps.ledger, caller, {
    scope: cursor === undefined ? tailScope(caller.tenant) : scope,
    cursor: text,
  })
  if (judged.kind === 'invalid') return { ok: false, problem: invalid }
  if (judged.kind === 'gone') return { ok: false, problem: gone }
  const until =
    judged.kind === 'place' && judged.place.until !== undefined ? judged.place.until : await deps.ledger.end()
  return { ok: true, value: { scope, after: judged.kind === 'place' ? judged.event : undefined, until } }
}

const invalid = problem('invalid-cursor', 'this is no cursor of this listing with these filters')
const gone = problem('cursor-gone', 'the event at this place is another one now')

// Takes one page of events from a stream of pages: filtered, and bounded in items, bytes and events examined.

/** Maximum size of a page, in characters: 500 events may hold half a megabyte each. */
const PAGE_MAX_CHARS = 2 * 1024 * 1024
/** Maximum number of events that one request examines for a rare filter; the cursor continues from there. */
const LOOK_MAX = 10_000

interface PageLimits {
  readonly limit: number
  readonly filter: EventFilter
  /** Whether a position lies beyond the pinned end of the listing. */
  readonly isBeyond: (position: Position) => boolean
}

interface EventPage {
  readonly events: readonly LedgerEvent[]
  /** The last event examined, if there may be more after it. */
  readonly resume: LedgerEvent | undefined
}

async function takePage(pages: AsyncIterable<readonly LedgerEvent[]>, limits: PageLimits): Promise<EventPage> {
  const events: LedgerEvent[] = []
  let chars = 0
  let looked = 0
  let last: LedgerEvent | undefined
  for await (const page of pages) {
    for (const event of page) {
      if (limits.isBeyond(event.position)) return { events, resume: undefined }
      if (events.length === limits.limit || chars > PAGE_MAX_CHARS || looked === LOOK_MAX)
        return { events, resume: last }
      looked += 1
      last = event
      if (!passes(event, limits.filter)) continue
      events.push(event)
      chars += event.texts.header.length + event.texts.data.length
    }
  }
  return { events, resume: undefined }
}

function passes({ header }: LedgerEvent, { types, actor }: EventFilter): boolean {
  return (types === undefined || types.includes(header.type)) && (actor === undefined || header.actor === actor)
}
