/** @module The states of a call. */

/** `claimed` while the call runs; the last four are the states of its rollback. */
export const CALL_STATUSES = [
  'claimed',
  'succeeded',
  'failed',
  'in-doubt',
  'compensating',
  'compensated',
  'compensation-failed',
  'compensation-unknown',
] as const

export type CallStatus = (typeof CALL_STATUSES)[number]
