/** @module The slicer that shows the keys it is told. */
import type { Slicer } from '../slice.ts'

/** These top-level keys, most wanted first. One that is not there, or that the agent may not read, is the error `missing-key`. */
export function byStructure(keys: readonly string[]): Slicer {
  return () => keys
}
