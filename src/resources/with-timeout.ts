/** @module Waiting with a timeout, without cancelling the work. */

/** The result of `work`. Rejects with `late()` if it has not settled within `waitMs`; waits forever if that is not finite. */
export async function withTimeout<T>(work: Promise<T>, waitMs: number, late: () => Error): Promise<T> {
  if (!Number.isFinite(waitMs)) return await work
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), waitMs)
  })
  const first = await Promise.race([work.then((value) => ({ value })), over]).finally(() => clearTimeout(timer))
  if (first !== 'late') return first.value
  // No caller waits for this work any more: the cause of a failure will affect the next caller.
  work.catch(() => undefined)
  throw late()
}
