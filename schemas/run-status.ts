/** @module Where a run stands, and how a rollback of the whole run ended. */

/** What its last end says; `open` before one. */
export const RUN_STATUSES = ['open', 'completed', 'failed', 'compensated'] as const

export type RunStatus = (typeof RUN_STATUSES)[number]

/** Everything was undone; not everything could be, by design; undoing something failed; nobody knows of something. */
export const ROLLBACK_VERDICTS = ['COMPENSATED', 'PARTLY_COMPENSATED', 'COMPENSATION_FAILED', 'IN_DOUBT'] as const

export type RollbackVerdict = (typeof ROLLBACK_VERDICTS)[number]
