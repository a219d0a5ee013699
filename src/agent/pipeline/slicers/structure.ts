/** @module The slicer that shows the keys it is configured with. */
import type { Slicer } from '../slice.ts'

/**
 * These top-level keys, most wanted first. One that is not there, or that the agent may not read, is the error `missing-key`.
 * @example
 * ```ts
 * import { byStructure, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * await cs.run({ name: 'report' }, async (run) => {
 *   await run.step('researcher', () => ({ facts: { revenue: 2024 }, notes: 'long' }))
 *   const { shown } = await run.step('writer', () => ({ summary: 'growth' }), { slice: byStructure(['facts']) })
 *   console.log(shown.keys, shown.omitted) // [ 'facts' ] [ 'notes' ]
 * })
 * ```
 */
export function byStructure(keys: readonly string[]): Slicer {
  return () => keys
}
