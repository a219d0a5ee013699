/** @module Waiting for work that was begun side by side. */

/** As `Promise.all`, but it rejects only when all have ended: until then each of them holds what it holds. */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
