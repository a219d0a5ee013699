/** @module The agent step that the current code is part of. */

export interface StepFrame {
  readonly agent: string
  readonly scope: string
  /** Number of model calls requested in the step; their usage is the step's usage. */
  modelCalls: number
  /** Releases the reservation of the whole step, because its model calls make their own. */
  release?: () => Promise<void>
}
