/** @module The states of a run, and the outcomes of a rollback of the whole run. */

/** The status set by the latest end event; `open` before any. */
export const RUN_STATUSES = ['open', 'completed', 'failed', 'compensated'] as const

export type RunStatus = (typeof RUN_STATUSES)[number]

/** In order: everything was undone; some effects remain by design; undoing some call failed; the state of some call is unknown. */
export const ROLLBACK_VERDICTS = ['COMPENSATED', 'PARTLY_COMPENSATED', 'COMPENSATION_FAILED', 'IN_DOUBT'] as const

export type RollbackVerdict = (typeof ROLLBACK_VERDICTS)[number]

/** Why the code that carried a run left it open. */
export const LEFT_BECAUSE = ['waiting', 'stuck'] as const

/** A run that its worker's code cannot carry on. Times are RFC 3339. */
export interface StuckState {
  readonly code: string
  readonly message: string
  /** How often in a row. */
  readonly attempts: number
  readonly since: string
  /** No worker takes the run before this time. */
  readonly until: string
}
