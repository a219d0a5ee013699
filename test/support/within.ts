/** @module A limit on waiting: a test that hangs says what it waited for. */

/** Far beyond what anything takes on a machine that is busy, and below what the runner allows a file, which knows how much that is. */
export const PATIENCE_MS = Number(process.env.COUNTERSIGN_TEST_PATIENCE_MS ?? 60_000)
const LOOK_EVERY_MS = 10

/** The promise's own end, or an error that names `what`. A shorter wait belongs only where the wait is the claim. */
export async function within<T>(promise: Promise<T>, what = 'a promise', ms = PATIENCE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing after ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Looks again and again until the answer is not undefined. */
export async function eventually<T>(
  look: () => T | undefined | Promise<T | undefined>,
  what: string,
  ms = PATIENCE_MS,
): Promise<T> {
  const endMs = Date.now() + ms
  for (;;) {
    const seen = await look()
    if (seen !== undefined) return seen
    if (Date.now() > endMs) throw new Error(`${what}: not within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}
