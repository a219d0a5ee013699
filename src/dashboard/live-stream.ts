/** @module A stream of frames that ends with its reader, with the server, or with the token; nothing is made ahead of the reader. */
import type { DashboardDeps } from './deps.ts'
import { PAGE_HEADERS } from './headers.ts'

/** Longest delay of a timer; a token that lives longer ends its streams earlier, and browsers come back by themselves. */
const TIMER_MAX_MS = 2 ** 31 - 1

/** Heartbeats that may wait for a reader. */
const BEATS_AHEAD = 2

export interface LiveOptions {
  readonly deps: Pick<DashboardDeps, 'draining' | 'heartbeatMs' | 'now'>
  readonly expiresAt: number
  /** Of the session: signing out ends its streams. */
  readonly over: AbortSignal
  /** Called once, however it ends. */
  readonly ended: () => void
  /** Frames as texts; the signal aborts when they are no longer wanted. */
  readonly frames: (signal: AbortSignal) => AsyncIterable<string>
}

export function liveResponse({ deps, expiresAt, over: session, ended, frames }: LiveOptions): Response {
  const over = new AbortController()
  const end = (): void => over.abort()
  const timer = setTimeout(end, Math.min(TIMER_MAX_MS, Math.max(0, expiresAt - deps.now()))).unref()
  const signals = [deps.draining, session]
  for (const signal of signals) signal.addEventListener('abort', end)
  if (signals.some((signal) => signal.aborted)) end()
  let beat: NodeJS.Timeout | undefined
  const close = (): void => {
    clearTimeout(timer)
    clearInterval(beat)
    for (const signal of signals) signal.removeEventListener('abort', end)
    end()
    ended()
  }
  const encoder = new TextEncoder()
  const iterator = frames(over.signal)[Symbol.asyncIterator]()
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        beat = setInterval(() => {
          // One that does not read is not fed: its connection is cut by its silence.
          if ((controller.desiredSize ?? 0) > -BEATS_AHEAD) controller.enqueue(encoder.encode(':\n\n'))
        }, deps.heartbeatMs).unref()
      },
      pull: async (controller) => {
        const next = await iterator.next().catch(() => ({ done: true as const, value: undefined }))
        if (next.done !== true) return controller.enqueue(encoder.encode(next.value))
        close()
        controller.close()
      },
      cancel: async () => {
        close()
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { ...PAGE_HEADERS, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
  return new Response(body, { headers })
}
