/** @module Cleanup for a file that no client began to read: a generator that was never started runs no `finally`. */

/** The same chunks; if they are closed before the first one was requested, `unbegun` is awaited. */
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
    // The type declarations of newer language versions require this member.
    [Symbol.asyncDispose]: async () => {
      await leave()
      await chunks.return()
    },
  }
}
