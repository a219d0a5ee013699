/** @module How far the scrub has got and what its last whole pass found, as the views hold it between starts. */

import { z } from 'zod'
import { parseJson } from '../../../schemas/json.ts'

const Leaves = z.record(z.string(), z.int().min(0))

const Pass = z.strictObject({
  startedAt: z.string(),
  /** The end of the store as the pass began: it goes no further. */
  until: z.string(),
  /** The last event that was checked. */
  after: z.string().optional(),
  events: z.int().min(0),
  broken: z.int().min(0),
  /** Leaves of each tenant's log that were met: the index of the next one. */
  leaves: Leaves,
})

const LastPass = z.strictObject({
  startedAt: z.string(),
  endedAt: z.string(),
  events: z.int().min(0),
  broken: z.int().min(0),
  leaves: Leaves,
})

const ScrubState = z.strictObject({ v: z.literal(1), pass: Pass.optional(), last: LastPass.optional() })

/** A pass that is under way. */
export type ScrubPass = z.infer<typeof Pass>
/** A pass that read the whole store. */
export type WholePass = z.infer<typeof LastPass>
export type ScrubState = z.infer<typeof ScrubState>

/**
 * When a whole pass that began after a fault was last met ended without meeting any: the store was put right. Undefined where there is none;
 * a pass that met one broken event says of no other that it is whole again.
 */
export function pastSince(metAt: string, last: WholePass | undefined): string | undefined {
  return last !== undefined && last.broken === 0 && last.startedAt > metAt ? last.endedAt : undefined
}

/** What cannot be read counts as nothing: a pass begins. */
export function scrubState(text: string | undefined): ScrubState {
  if (text === undefined) return { v: 1 }
  try {
    const read = ScrubState.safeParse(parseJson(text))
    return read.success ? read.data : { v: 1 }
  } catch {
    return { v: 1 }
  }
}
