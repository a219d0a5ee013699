/** @module BudgetExceeded: a limit refused a reservation, a claim or a handoff (RUN-43 to RUN-49). */
import { z } from 'zod'
import { place } from '../envelope-members.ts'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { Phase } from '../values.ts'

export const BudgetExceeded = eventType({
  family: 'budget',
  label: 'Budget exceeded',
  activity: 'update',
  rating: { verdict: 'refused', outcome: 'failure', severity: 'medium' },
  facts: ['agent'],
  rules: ['budget-exceeded'],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    agent: Name,
    scope: z.enum(['run', 'agent']),
    dimension: z.enum(['tokens', 'cost']),
    limit: z.string(),
    spent: z.string(),
    reserved: z.string(),
    requested: z.string(),
    fingerprint: Digest,
    /** The refused claim, if it was one; a resume receives the same refusal. */
    claim: z.strictObject({ tool: Name, phase: Phase, key: z.string().min(1).max(512) }).optional(),
    /** The refused handoff, if it was one: `content` is the digest of its mode, payload, additions, supersedes and manifest hash. */
    handoff: z.strictObject({ content: Digest, ...place }).optional(),
  }),
})
