/** @module The streams that keep the dashboard's pages up to date: frames of the dashboard's making, ended as every stream is. */
import type { LiveFrames } from '../dashboard/deps.ts'
import { streamed } from './answers.ts'
import type { EdgeContext } from './edge-context.ts'
import { EVENT_STREAM } from './open-stream.ts'
import type { Edge } from './route.ts'
import { runStream } from './run-stream.ts'
import { heartbeats } from './sse.ts'

/** Else the code of the problem why there is no slot. */
export function openLivePage(
  edge: Edge,
  c: EdgeContext,
  live: LiveFrames,
): Response | 'too-many-streams' | 'overloaded' {
  const { caller, token, over, headers, frames } = live
  const release = edge.slots.acquire(caller.tenant, 'tail')
  if (typeof release === 'string') return release
  const body = runStream(edge, {
    c,
    token,
    expiresAt: caller.expiresAt,
    release,
    endless: true,
    over,
    chunks: (signal) => encoded(frames(signal), edge.settings.heartbeatMs),
  })
  return streamed(body, EVENT_STREAM, { ...headers, 'x-accel-buffering': 'no' })
}

async function* encoded(frames: AsyncIterable<string>, heartbeatMs: number): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder()
  for await (const frame of heartbeats(frames, heartbeatMs)) yield encoder.encode(frame === 'quiet' ? ':\n\n' : frame)
}
