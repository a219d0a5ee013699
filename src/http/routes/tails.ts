/** @module Tails: of a run, and of the tenant. They end with the token, with the server, or when the reader leaves. */
import { z } from 'zod'
import { READ_PAYLOADS, READ_TENANT } from '../../access/access.ts'
import { problemResponse } from '../answers.ts'
import { judgeCursor, startCursor } from '../event-cursor.ts'
import { EVENT_STREAM, openStream } from '../open-stream.ts'
import { CursorText } from '../parameters.ts'
import { problem } from '../problems.ts'
import { type Ask, type GuardedRoute, readRoute } from '../route.ts'
import { type Tail, tailFrames, tailScope } from '../sse.ts'

const tag = 'history'
const produces = EVENT_STREAM
/** `EventSource` cannot set a header on its first connect. */
const TailQuery = z.strictObject({ after: CursorText.optional() })

export const tailRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/runs/{run}/tail',
    summary: "A run's events: history, then live",
    tag,
    access: READ_PAYLOADS,
    query: TailQuery,
    produces,
    handle: async (ask) => {
      const found = await ask.edge.ledger.run(ask.caller, ask.run)
      return found.ok ? openTail(ask) : problemResponse(found.refusal, ask.path)
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

async function openTail(ask: Ask<z.output<typeof TailQuery>>): Promise<Response> {
  const { edge, caller, run, c, query, path } = ask
  const scope = tailScope(caller.tenant)
  const text = c.req.header('last-event-id') ?? query.after
  const judged = text === undefined ? undefined : await judgeCursor(edge.ledger, caller, { scope, cursor: text })
  if (judged?.kind === 'invalid') return problemResponse(invalid, path)
  const known = judged?.kind === 'place' || judged?.kind === 'start'
  const after = judged?.kind === 'place' ? judged.place.position : undefined
  const from = { ...(run !== '' && { runId: run }), ...(after !== undefined && { after }) }
  const tail: Omit<Tail, 'events'> = {
    tenant: caller.tenant,
    places: edge.ledger.places,
    startId: known && text !== undefined ? text : startCursor(edge.ledger.places, scope),
    heartbeatMs: edge.settings.heartbeatMs,
    ...(text !== undefined && !known && { resync: run === '' ? '/v1/runs' : path.replace(/\/tail$/, '') }),
  }
  return openStream(ask, {
    kind: 'tail',
    contentType: produces,
    headers: { 'x-accel-buffering': 'no', 'cache-control': 'no-cache, no-store' },
    chunks: (signal) => tailFrames({ ...tail, events: edge.ledger.tail(caller, from, signal) }),
  })
}

const invalid = problem('invalid-cursor', 'this is no id of a tail of this tenant: leave it out to begin at the start')
