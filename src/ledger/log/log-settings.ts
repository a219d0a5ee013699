/** @module How the logs are kept. */
import type { KeptCheckpoints } from './kept-checkpoints.ts'

/** Longest time from an append to its checkpoint, unless the settings say otherwise. */
export const CHECKPOINT_DELAY_MS = 300_000

export interface LogSettings {
  /** Default five minutes; 0 leaves publishing to whoever calls `publish`. */
  readonly maxDelayMs?: number
  /** Absent where nothing outlives the process. */
  readonly kept?: KeptCheckpoints
}
