/** @module Requests that place and release a legal hold (LIFE-20, LIFE-22). */
import { z } from 'zod'
import { RunId } from './names.ts'

/** Recorded permanently, so it must not name a person. */
export const HoldReason = z.string().min(1).max(1_024)

export const HOLD_SCOPES = ['run', 'subject', 'tenant'] as const

export const PlaceHold = z
  .strictObject({
    run: RunId.optional().describe('The run to hold. One of `run`, `subject` and `tenant` is required.'),
    subject: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('The subject to hold, as the rules of redaction name it. The record names its keys, not the subject.'),
    tenant: z.literal(true).optional().describe('Hold everything of the tenant.'),
    reason: HoldReason.describe('Why. It is recorded permanently and must name no person.'),
  })
  .refine(
    ({ run, subject, tenant }) => [run, subject, tenant].filter((each) => each !== undefined).length === 1,
    'one of run, subject and tenant is required',
  )

export const ReleaseHold = z.strictObject({
  reason: HoldReason.describe('Why it is released. It is recorded permanently and must name no person.'),
})

export type PlaceHold = z.infer<typeof PlaceHold>
export type ReleaseHold = z.infer<typeof ReleaseHold>
