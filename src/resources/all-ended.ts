/** @module Waiting for concurrent work. */

/** Like `Promise.all`, but rejects only after all promises have settled: until then each of them may hold resources. */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
