/** @module Tails (live streams of events) of a run and of the tenant. They end with the token, with the server, or when the client disconnects. */
import { z } from 'zod'
import { READ_PAYLOADS, READ_TENANT } from '../../access/access.ts'
import { problemResponse } from '../answers.ts'
import { judgeCursor, startCursor } from '../event-cursor.ts'
import { EVENT_STREAM, openStream } from '../open-stream.ts'
import { CursorText } from '../parameters.ts'
import { problem } from '../problems.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { type Tail, tailFrames, tailScope } from '../sse.ts'

const tag = 'history'
const produces = EVENT_STREAM
/** `EventSource` cannot set a header on its first connect, so the cursor can be a query parameter. */
const TailQuery = z.strictObject({ after: CursorText.optional() })

export const tailRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/runs/{run}/tail',
    summary: "A run's events: history, then live",
    tag,
    access: READ_PAYLOADS,
    query: TailQuery,
    produces,
    handle: async (context) => {
      const found = await context.deps.ledger.run(context.caller, context.run)
      return found.ok ? openTail(context) : problemResponse(found.refusal, context.path)
    },
  }),
  readRoute({
    path: '/v1/tail',
    summary: "The tenant's events: history, then live",
    tag,
    access: READ_TENANT,
    query: TailQuery,
    produces,
    handle: openTail,
  }),
]

async function openTail(context: RequestContext<z.output<typeof TailQuery>>): Promise<Response> {
  const { deps, caller, run, c, query, path } = context
  const scope = tailScope(caller.tenant)
  const text = c.req.header('last-event-id') ?? query.after
  const judged = text === undefined ? undefined : await judgeCursor(deps.ledger, caller, { scope, cursor: text })
  if (judged?.kind === 'invalid') return problemResponse(invalid, path)
  const known = judged?.kind === 'place' || judged?.kind === 'start'
  const after = judged?.kind === 'place' ? judged.place.position : undefined
  const from = { ...(run !== '' && { runId: run, kept: true as const }), ...(after !== undefined && { after }) }
  const tail: Omit<Tail, 'events'> = {
    tenant: caller.tenant,
    places: deps.ledger.places,
    startId: known && text !== undefined ? text : startCursor(deps.ledger.places, scope),
    heartbeatMs: deps.settings.heartbeatMs,
    ...(text !== undefined && !known && { resync: run === '' ? '/v1/runs' : path.replace(/\/tail$/, '') }),
  }
  return openStream(context, {
    kind: 'tail',
    contentType: produces,
    headers: { 'x-accel-buffering': 'no', 'cache-control': 'no-cache, no-store' },
    chunks: (signal) => tailFrames({ ...tail, events: deps.ledger.tail(caller, from, signal) }),
  })
}

const invalid = problem('invalid-cursor', 'this is no id of a tail of this tenant: leave it out to begin at the start')
