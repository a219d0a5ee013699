/** @module The slicer that shows a fixed list of keys. */
import type { Slicer } from '../slice.ts'

/**
 * Shows these top-level keys, most important first. A key that is absent, or that the agent may not read, throws `missing-key`.
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
