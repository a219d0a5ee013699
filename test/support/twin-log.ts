/** @module What the twin tests have in common: the seed of their programs, and where two logs part. */
import * as assert from 'uvu/assert'
import { rounds } from './rounds.ts'

const SEEDS = 2 ** 31

/** Another one each time in the long suite, and printed there: `COUNTERSIGN_TEST_SEED` draws the same programs again. */
export const SEED = Number(process.env.COUNTERSIGN_TEST_SEED ?? rounds(1, Math.floor(Math.random() * SEEDS)))

/** Says where two logs part: a whole list of them says nothing to anybody. */
export function mustBeSame(came: readonly string[], expected: readonly string[], what: string): void {
  const at = Array.from({ length: Math.max(came.length, expected.length) }, (_, i) => i).find(
    (i) => came[i] !== expected[i],
  )
  if (at !== undefined) assert.unreachable(`${what}, at ${at}:\n  came     ${came[at]}\n  expected ${expected[at]}`)
}
