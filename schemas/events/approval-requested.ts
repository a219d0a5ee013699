/** @module ApprovalRequested: a claim waits for people to say yes to exactly these arguments; nothing runs, and nothing is reserved (RUN-60). */
import { z } from 'zod'
import { ApprovalNeed } from '../approval.ts'
import { callVersion, isVersionOf, VERSION_RULE } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { JsonValue, Phase, Scope, Uuid, ValueRef } from '../values.ts'

export const ApprovalRequested = eventType({
  family: 'call',
  label: 'Approval requested',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: ['agent', 'tool', 'approval'],
  notable: true,
  large: 'args',
  announced: { as: 'approval.requested', members: ['approvalId', 'tool', 'phase', 'agent', 'argsDigest', 'expiresAt'] },
  changes: {},
  schema: z
    .strictObject({
      v: callVersion,
      redacted: Redacted.optional(),
      approvalId: Uuid,
      key: z.string().min(1).max(512),
      tool: Name,
      phase: Phase,
      args: JsonValue.optional(),
      /** In place of `args`, where those are stored beside the events. */
      argsRef: ValueRef.optional(),
      argsDigest: Digest,
      /** What the call names as its compensation, where a rule is about that one: an approval of the call is one of its undoing. */
      undoneBy: Name.optional(),
      /** Of the call that it is for: one that is made again after it was undone needs another approval. */
      generation: z.int().min(1),
      agent: Name.optional(),
      scope: Scope.optional(),
      occurrence: z.int().min(0).optional(),
      parentCall: Uuid.optional(),
      needs: z.array(ApprovalNeed).min(1),
      /** Decided and used by then, or not at all: RFC 3339. */
      expiresAt: z.string(),
      selfApproval: z.boolean(),
      onDenied: z.enum(['error', 'rollback']),
    })
    .refine((body) => isVersionOf(body, body.argsRef), VERSION_RULE)
    .refine(
      ({ args, argsRef }) => (args === undefined) === (argsRef !== undefined),
      'arguments stand here or by reference',
    ),
})
