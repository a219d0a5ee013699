/** @module A limit on waiting: a test that hangs says what it waited for. */

/** The promise's own end, or an error that names `what` after `ms`. */
export async function within<T>(ms: number, promise: Promise<T>, what = 'a promise'): Promise<T> {
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

/** Asks again and again until the answer is not undefined. */
export async function eventually<T>(
  ms: number,
  ask: () => T | undefined | Promise<T | undefined>,
  what: string,
): Promise<T> {
  const endMs = Date.now() + ms
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (Date.now() > endMs) throw new Error(`${what}: not within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
