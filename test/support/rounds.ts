/** @module How often a test repeats what it does: a file that asks here runs in the quick suite, and once more in the long one. */

/** `quick` in `npm test`, `long` in `npm run test:long`, and `soak` in `npm run test:soak`, which has hours. */
export function rounds(quick: number, long: number, soak: number = long): number {
  switch (process.env.COUNTERSIGN_TEST_ROUNDS) {
    case 'soak':
      return soak
    case 'long':
      return long
    default:
      return quick
  }
}
