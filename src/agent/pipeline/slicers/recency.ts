/** @module The slicer that prefers the latest changes. */
import type { Slicer } from '../slice.ts'

/**
 * Top-level keys, latest changed first; the keys of one step are in code unit order. This is the default slicer.
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
