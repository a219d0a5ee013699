/** @module EnvelopeAccepted: a handoff that establishes a context, and the snapshot to which the run returns if a later handoff is refused. */
import { z } from 'zod'
import { handoff, rules } from '../envelope-members.ts'
import { eventType } from '../event-type.ts'
import { Finding } from '../finding.ts'
import { Digest } from '../names.ts'
import { HandoffSnapshot } from '../snapshot.ts'
import { SuspectId } from '../values.ts'

export const EnvelopeAccepted = eventType({
  family: 'handoff',
  label: 'Envelope accepted',
  activity: 'create',
  rating: { verdict: 'accepted', outcome: 'success', severity: 'informational' },
  facts: ['agent'],
  rules: 'findings',
  changes: { bill: true },
  schema: z
    .strictObject({
      /** Version 1 is used by handoffs of 0.1.0, some of which have their snapshot in a SnapshotTaken after them. */
      v: z.union([z.literal(1), z.literal(2)]),
      step: z.int().min(1),
      ...handoff,
      /** Digest of the context this envelope established. */
      context: Digest,
      rules,
      confidence: z.number().optional(),
      /** Indexes, from 0, of the entries of `moves` that are not in force; the findings state why. */
      movesRefused: z.array(z.int().min(0)).optional(),
      /** Warnings only; an error would have refused the envelope. */
      findings: z.array(Finding).optional(),
      /** Number of unexplained changes, if there are more than `findings` lists. */
      suspectsTotal: z.int().min(1).optional(),
      /** Suspects of earlier handoffs that are now explained: by a supersession, a declaration, or a tool's answer since. */
      suspectsClosed: z
        .array(z.strictObject({ id: SuspectId, by: z.enum(['supersession', 'declaration', 'tool']) }))
        .optional(),
      /** The state of the run after this event. Always present since version 2. */
      snapshot: HandoffSnapshot.optional(),
    })
    .refine(({ v, snapshot }) => (v === 1) === (snapshot === undefined), 'version 2 has a snapshot, version 1 none')
    .refine(
      ({ step, context, snapshot = { step, context } }) => snapshot.step === step && snapshot.context === context,
      { message: 'the snapshot is of another step or context', path: ['snapshot'] },
    ),
})
