/** @module Waiting for so long and no longer, while what is waited for goes on. */

/** What `work` comes to. Rejects with `late()` where it has not come to anything within `waitMs`; without a limit it waits. */
export async function withTimeout<T>(work: Promise<T>, waitMs: number, late: () => Error): Promise<T> {
  if (!Number.isFinite(waitMs)) return await work
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), waitMs)
  })
  const first = await Promise.race([work.then((value) => ({ value })), over]).finally(() => clearTimeout(timer))
  if (first !== 'late') return first.value
  // Nobody waits for it any more: what ends it badly is met by the next one who asks.
  work.catch(() => undefined)
  throw late()
}
