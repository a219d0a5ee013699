/** @module Settings of the logs. */
import type { Witness } from './ask-witness.ts'
import type { CheckpointFile } from './checkpoint-file.ts'
import type { StampSettings } from './checkpoint-stamps.ts'

/** Default of the maximum time from an append to its checkpoint, in milliseconds. */
export const CHECKPOINT_DELAY_MS = 300_000

export interface LogSettings {
  /** Default: five minutes. 0 leaves publishing to callers of `publish`. */
  readonly maxDelayMs?: number
  /** Absent if nothing outlives the process. */
  readonly kept?: CheckpointFile
  /** Witnesses that are asked to cosign each checkpoint; none by default. */
  readonly witnesses?: readonly Witness[]
  /** The authority that time-stamps checkpoints; none by default. */
  readonly stamps?: StampSettings
  /**
   * True for a command that only lists and acknowledges losses: it opens a store that lacks events which a checkpoint covers, as long as the file of the
   * logs knows them (LOG-73). Their logs are stopped, so nothing is signed.
   */
  readonly acknowledges?: boolean | undefined
}
