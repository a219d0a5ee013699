/** @module The verdicts of events, by which auditors filter. Most event types have none. */
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
