/** @module A file that nobody began to read: a generator that was never begun runs no `finally`. */

/** The chunks as they are; where they are left before the first was requested, `unbegun` is awaited instead. */
export function orUnbegun<T>(chunks: AsyncGenerator<T, void>, unbegun: () => Promise<void>): AsyncGenerator<T, void> {
  let begun = false
  const begin = (): AsyncGenerator<T, void> => {
    begun = true
    return chunks
  }
  const leave = async (): Promise<void> => {
    if (begun) return
    begin()
    await unbegun()
  }
  return {
    next: () => begin().next(),
    return: async () => {
      await leave()
      return chunks.return()
    },
    throw: async (error) => {
      await leave()
      return chunks.throw(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
    // The declarations of a newer language than this build's name it too.
    [Symbol.asyncDispose]: async () => {
      await leave()
      await chunks.return()
    },
  }
}
