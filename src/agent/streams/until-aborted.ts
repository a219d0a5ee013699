/** @module A source that is left as soon as nobody wants more of it. */

/** Does not wait for a source that learns of no abort. */
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
    // Also where a chunk could not be recorded: the provider's connection is let go.
    if (!isOver || signal.aborted) leave(iterator)
  }
}

/** Not waited for: a source that learns of no abort may never end. */
function leave(iterator: AsyncIterator<unknown>): void {
  const leaving = async (): Promise<unknown> => iterator.return?.()
  leaving().catch(() => undefined)
}
