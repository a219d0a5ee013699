/**
 * @module One request and its answer, ended by the caller's signal or by a timeout. It avoids `AbortSignal.any`, whose listeners are retained as long as the
 * caller's signal, and `AbortSignal.timeout`, which also counts while no part of the answer is awaited.
 */
import { onAbort } from '../resources/linked-signal.ts'

/** Longest delay of a timer. */
const TIMER_MAX_MS = 2 ** 31 - 1

export interface Exchange {
  /** Signal to pass to `fetch`. */
  readonly signal: AbortSignal
  /** Waits for a part of the answer, for at most `timeoutMs`. */
  within<T>(part: () => Promise<T>): Promise<T>
  /** Removes the listener from the caller's signal. */
  end(): void
}

export function beginExchange(timeoutMs: number, callers: AbortSignal | undefined): Exchange {
  const ending = new AbortController()
  const late = (): void => ending.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'))
  if (callers?.aborted === true) ending.abort(callers.reason)
  const leave = callers === undefined || callers.aborted ? undefined : onAbort(callers, (why) => ending.abort(why))
  return {
    signal: ending.signal,
    within: async (part) => {
      const timer = setTimeout(late, Math.min(timeoutMs, TIMER_MAX_MS))
      try {
        return await untilAborted(part(), ending.signal)
      } finally {
        clearTimeout(timer)
      }
    },
    end: () => void leave?.(),
  }
}

/** Needed because some `fetch` implementations ignore an abort, or ignore it while the body is read. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
