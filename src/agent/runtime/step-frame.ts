/** @module The step of an agent that code runs in. */

export interface StepFrame {
  readonly agent: string
  readonly scope: string
  /** Model calls that were requested in it: they tell what it used. */
  modelCalls: number
  /** Gives back what was held for the whole step: its model calls reserve for themselves. */
  release?: () => Promise<void>
}
