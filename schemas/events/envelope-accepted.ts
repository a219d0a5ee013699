/** @module EnvelopeAccepted: a handoff that establishes a context, and is the snapshot that the run goes back to where a later one is refused. */
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
      /** Of version 1, before it, are the handoffs of 0.1.0: a SnapshotTaken behind some of them holds their document. */
      v: z.union([z.literal(1), z.literal(2)]),
      step: z.int().min(1),
      ...handoff,
      /** Digest of the context this envelope established. */
      context: Digest,
      rules,
      confidence: z.number().optional(),
      /** Which of `moves`, counted from 0, are not in force: why is in the findings. */
      movesRefused: z.array(z.int().min(0)).optional(),
      /** Warnings; errors would have refused it. */
      findings: z.array(Finding).optional(),
      /** How many changes nothing explains, where more are suspect than `findings` lists. */
      suspectsTotal: z.int().min(1).optional(),
      /** Suspects of earlier handoffs that this one explains: by a supersession, a declaration, or what a tool has answered since. */
      suspectsClosed: z
        .array(z.strictObject({ id: SuspectId, by: z.enum(['supersession', 'declaration', 'tool']) }))
        .optional(),
      /** The run as this event leaves it. Always there since version 2. */
      snapshot: HandoffSnapshot.optional(),
    })
    .refine(({ v, snapshot }) => (v === 1) === (snapshot === undefined), 'version 2 has a snapshot, version 1 none')
    .refine(
      ({ step, context, snapshot = { step, context } }) => snapshot.step === step && snapshot.context === context,
      { message: 'the snapshot is of another step or context', path: ['snapshot'] },
    ),
})
