/** @module The zod schema of losses in documents. */
import { z } from 'zod'
import { LOSS_SCOPES, LOSSES_MAX } from './loss.ts'

const Loss = z.strictObject({
  scope: z.enum(LOSS_SCOPES),
  code: z.string().max(64),
  stream: z.string().optional(),
  revision: z.int().min(0).optional(),
})

/** At least one: a document without losses omits the member. */
export const Losses = z.array(Loss).min(1).max(LOSSES_MAX)
