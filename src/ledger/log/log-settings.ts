/** @module How the logs are kept. */
import type { Witness } from './ask-witness.ts'
import type { CheckpointFile } from './checkpoint-file.ts'
import type { StampSettings } from './checkpoint-stamps.ts'

/** Longest time from an append to its checkpoint, unless the settings say otherwise. */
export const CHECKPOINT_DELAY_MS = 300_000

export interface LogSettings {
  /** Default five minutes; 0 leaves publishing to whoever calls `publish`. */
  readonly maxDelayMs?: number
  /** Absent where nothing outlives the process. */
  readonly kept?: CheckpointFile
  /** Who is asked to cosign each checkpoint; none by default. */
  readonly witnesses?: readonly Witness[]
  /** Who time-stamps checkpoints; nobody by default. */
  readonly stamps?: StampSettings
}
