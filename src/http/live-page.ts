/** @module Reads and live streams of the dashboard's pages; they end on the same conditions as every other stream. */
import type { LiveFrames, PageReader } from '../dashboard/deps.ts'
import type { Pace } from '../resources/work-queue.ts'
import { streamed } from './answers.ts'
import type { HttpContext } from './http-context.ts'
import { EVENT_STREAM } from './open-stream.ts'
import type { HttpDeps } from './route.ts'
import { runStream } from './run-stream.ts'
import { heartbeats } from './sse.ts'

/** Opens the live stream of a page, or returns the problem code if no slot is free. */
export function openLivePage(
  deps: HttpDeps,
  c: HttpContext,
  live: LiveFrames,
): Response | 'too-many-streams' | 'overloaded' {
  const { caller, token, over, headers, frames } = live
  const release = deps.slots.acquire(caller.tenant, 'tail')
  if (typeof release === 'string') return release
  const body = runStream(deps, {
    c,
    token,
    expiresAt: caller.expiresAt,
    release,
    endless: true,
    over,
    chunks: (signal) => encoded(frames(signal), deps.settings.heartbeatMs),
  })
  return streamed(body, EVENT_STREAM, { ...headers, 'x-accel-buffering': 'no' })
}

/** Starts the reads of one page; they end when the client disconnects, or its token or session ends. */
export function beginReading(
  { work, liveTokens }: HttpDeps,
  c: HttpContext,
  { caller, token, over }: PageReader,
): { readonly pace: Pace; readonly end: () => void } {
  const outgoing = c.env?.outgoing
  const { signal } = c.req.raw
  const hasLeft = (): boolean => over.aborted || signal.aborted || outgoing?.destroyed === true
  const pace = work.begin({ tenant: caller.tenant, caller: caller.subject }, hasLeft)
  return { pace, end: liveTokens.watch({ token, expiresAt: caller.expiresAt }, () => pace.leave()) }
}

async function* encoded(frames: AsyncIterable<string>, heartbeatMs: number): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder()
  for await (const frame of heartbeats(frames, heartbeatMs)) yield encoder.encode(frame === 'quiet' ? ':\n\n' : frame)
}
