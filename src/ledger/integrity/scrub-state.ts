/** @module The progress of the scrub and the result of its last complete pass, as the views keep it between starts. */

import { z } from 'zod'
import { parseJson } from '../../../schemas/json.ts'

const Leaves = z.record(z.string(), z.int().min(0))

const Pass = z.strictObject({
  startedAt: z.string(),
  /** The end of the store when the pass began, where the pass ends. */
  until: z.string(),
  /** The last event that was checked. */
  after: z.string().optional(),
  events: z.int().min(0),
  broken: z.int().min(0),
  /** Progress in the log of each tenant: the index of the next leaf. */
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

/** A pass in progress. */
export type ScrubPass = z.infer<typeof Pass>
/** A pass that read the whole store. */
export type WholePass = z.infer<typeof LastPass>
export type ScrubState = z.infer<typeof ScrubState>

/**
 * When a complete pass that began after a fault was last met ended without meeting any fault: the store was repaired. Undefined if there is none; a
 * pass that met one broken event does not show that any other is repaired.
 */
export function pastSince(metAt: string, last: WholePass | undefined): string | undefined {
  return last !== undefined && last.broken === 0 && last.startedAt > metAt ? last.endedAt : undefined
}

/** A state that cannot be parsed is treated as empty, so that a new pass begins. */
export function scrubState(text: string | undefined): ScrubState {
  if (text === undefined) return { v: 1 }
  try {
    const read = ScrubState.safeParse(parseJson(text))
    return read.success ? read.data : { v: 1 }
  } catch {
    return { v: 1 }
  }
}
