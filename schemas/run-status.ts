/** @module The states of a run, and the outcomes of a rollback of the whole run. */

/** The status set by the latest end event; `open` before any. */
export const RUN_STATUSES = ['open', 'completed', 'failed', 'compensated'] as const

export type RunStatus = (typeof RUN_STATUSES)[number]

/** In order: everything was undone; some effects remain by design; undoing some call failed; the state of some call is unknown. */
export const ROLLBACK_VERDICTS = ['COMPENSATED', 'PARTLY_COMPENSATED', 'COMPENSATION_FAILED', 'IN_DOUBT'] as const

export type RollbackVerdict = (typeof ROLLBACK_VERDICTS)[number]

/** Why a run was left open: by the code that carried it, or, as `retry`, by somebody who asks that a run that is stuck be tried again at once. */
export const LEFT_BECAUSE = ['waiting', 'stuck', 'retry'] as const

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
