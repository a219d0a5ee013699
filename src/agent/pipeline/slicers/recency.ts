/** @module The slicer that shows what changed last. */
import type { Slicer } from '../slice.ts'

/**
 * Latest-changed top-level keys first; keys that one step changed in code unit order. The default.
 * @example
 * ```ts
 * import { byRecency, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * await cs.run({ name: 'report' }, async (run) => {
 *   await run.step('researcher', () => ({ facts: { revenue: 2024 }, notes: 'long' }))
 *   const { shown } = await run.step('writer', () => ({ summary: 'growth' }), { slice: byRecency(), sliceTokens: 1_000 })
 *   console.log(shown.keys) // [ 'facts', 'notes' ]
 * })
 * ```
 */
export function byRecency(): Slicer {
  return (_, { recency }) => recency
}
