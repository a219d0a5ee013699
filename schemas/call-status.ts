/** @module Where a call stands. */

/** `claimed` while it runs; the last four tell how far its rollback is. */
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
