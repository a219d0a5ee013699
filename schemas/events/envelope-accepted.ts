/** @module EnvelopeAccepted: a handoff that establishes a context. */
import { z } from 'zod'
import { handoff } from '../envelope-members.ts'
import { eventType } from '../event-type.ts'
import { Finding } from '../finding.ts'
import { Digest } from '../names.ts'

export const EnvelopeAccepted = eventType({
  family: 'handoff',
  label: 'Envelope accepted',
  activity: 'create',
  says: { verdict: 'accepted', outcome: 'success', severity: 'informational' },
  facts: ['agent'],
  rules: 'findings',
  changes: { bill: true },
  schema: z.strictObject({
    v: z.literal(1),
    step: z.int().min(1),
    ...handoff,
    /** Digest of the context this envelope established. */
    context: Digest,
    confidence: z.number().optional(),
    /** Warnings; errors would have refused it. */
    findings: z.array(Finding).optional(),
  }),
})
