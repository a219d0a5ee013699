/** @module An open suspect, parsed from the ledger's answers into the types that pages need. */
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
  /** Number of changes that it stands for: the unnamed ones of a handoff are combined into one. */
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
