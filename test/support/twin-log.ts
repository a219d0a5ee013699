/** @module Where two logs part. */
import * as assert from 'uvu/assert'

/** Says where two logs part: a whole list of them says nothing to anybody. */
export function mustBeSame(came: readonly string[], expected: readonly string[], what: string): void {
  const at = Array.from({ length: Math.max(came.length, expected.length) }, (_, i) => i).find(
    (i) => came[i] !== expected[i],
  )
  if (at !== undefined) assert.unreachable(`${what}, at ${at}:\n  came     ${came[at]}\n  expected ${expected[at]}`)
}
