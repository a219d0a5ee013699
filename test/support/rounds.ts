/** @module How often a test repeats what it does: a file that asks here runs in the quick suite, and once more in the long one. */

/** `quick` in `npm test`, `long` in `npm run test:long`. */
export function rounds(quick: number, long: number): number {
  return process.env.COUNTERSIGN_TEST_ROUNDS === 'long' ? long : quick
}
