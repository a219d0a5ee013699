/** @module An open suspect, read out of the ledger's answers with the types that pages need. */
import { z } from 'zod'
import { Finding } from '../../schemas/finding.ts'
import type { JsonObject } from '../../schemas/json.ts'

const SuspectSchema = z.object({
  id: z.string(),
  runId: z.string(),
  runName: z.string(),
  step: z.number(),
  revision: z.number(),
  agent: z.string(),
  rule: Finding.shape.rule.optional(),
  path: z.string(),
  /** How many it counts for: those of a handoff that are not named come as one. */
  count: z.number().optional(),
  message: z.string().optional(),
  before: Finding.shape.before,
  after: Finding.shape.after,
  supersede: Finding.shape.supersede,
  declare: Finding.shape.declare,
})

export type Suspect = z.output<typeof SuspectSchema>

export function suspectOf(item: JsonObject): Suspect {
  return SuspectSchema.parse(item)
}
