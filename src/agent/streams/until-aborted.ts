/** @module Reads a source until a signal is aborted. */

/** Does not wait for a source that ignores the abort. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const iterator = source[Symbol.asyncIterator]()
  let isOver = false
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  try {
    for (;;) {
      const next = await Promise.race([stopped, iterator.next()])
      isOver = next?.done === true
      if (next === undefined || next.done === true) return
      yield next.value
    }
  } catch (error) {
    isOver = true
    if (!signal.aborted) throw error
  } finally {
    // Also after an error in the consumer, so that the connection to the provider is released.
    if (!isOver || signal.aborted) leave(iterator)
  }
}

/** Not awaited, because a source that ignores the abort may never end. */
function leave(iterator: AsyncIterator<unknown>): void {
  const leaving = async (): Promise<unknown> => iterator.return?.()
  leaving().catch(() => undefined)
}
