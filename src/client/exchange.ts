/**
 * @module One request and its answer: ended by the caller's signal, or by too long a silence. Not by `AbortSignal.any` and `AbortSignal.timeout`: what
 * listens to the first is held as long as the caller's signal, and the second counts while nobody waits.
 */
import { onAbort } from '../resources/linked-signal.ts'

/** The longest that a timer can wait. */
const TIMER_MAX_MS = 2 ** 31 - 1

export interface Exchange {
  /** For `fetch`. */
  readonly signal: AbortSignal
  /** Waits for a part of the answer, at most the time of one answer. */
  within<T>(part: () => Promise<T>): Promise<T>
  /** Lets go of the caller's signal. */
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

/** Not every `fetch` learns of an abort, or not while its answer is read. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
