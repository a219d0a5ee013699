/** @module The slicer that shows what changed last. */
import type { Slicer } from '../slice.ts'

/** Latest-changed top-level keys first; keys that one step changed in code unit order. The default. */
export function byRecency(): Slicer {
  return (_, { recency }) => recency
}
