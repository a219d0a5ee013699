/** @module ForkStarted: branches run over one frozen context (RUN-38 to RUN-42). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { ForkBranch, JoinStrategy, OnDiscard } from '../fork.ts'
import { Digest, Name } from '../names.ts'
import { BRANCHES_MAX } from '../value-forms.ts'
import { Uuid } from '../values.ts'

export const ForkStarted = eventType({
  family: 'fork',
  label: 'Fork started',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: ['agent'],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    forkId: Uuid,
    /** The agent in whose name a union is handed over. */
    agent: Name,
    /** Step and digest of the context that every branch sees, and digest of the event that established it. */
    step: z.int().min(0),
    context: Digest,
    parent: Digest,
    branches: z.array(ForkBranch).min(1).max(BRANCHES_MAX),
    join: JoinStrategy,
    onDiscard: OnDiscard,
    /** Digest of the request's own members; a repeated request with the same digest is the same fork. */
    requestDigest: Digest,
  }),
})
