/** @module What an event says about what it records: the words that auditors filter by. Most events say none of them. */
import { z } from 'zod'

export const VERDICTS = [
  'accepted',
  'rejected',
  'rewound',
  'refused',
  'claimed',
  'succeeded',
  'failed',
  'in-doubt',
  'executed',
  'not-executed',
  'compensated',
  'compensation-failed',
  'overshoot',
  'expired',
  'completed',
  'run-failed',
  'run-compensated',
  'granted',
  'denied',
] as const

export const Verdict = z.enum(VERDICTS)
export type Verdict = z.infer<typeof Verdict>
