/** @module Random numbers that come again with their seed (mulberry32), and the seed of this run. */

/** 1 in the short suite. The long one has another each time, and prints it: with `COUNTERSIGN_TEST_SEED` the same cases are drawn again. */
export const TEST_SEED = Number(process.env.COUNTERSIGN_TEST_SEED ?? 1)

/** `from` in the short suite; elsewhere a number that no other run of the suite is likely to use. */
export function testSeed(from: number): number {
  return (from + Math.imul(TEST_SEED - 1, 0x9e3779b1)) >>> 0
}

export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}
