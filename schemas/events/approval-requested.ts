/** @module ApprovalRequested: a claim waits for people to approve exactly these arguments; nothing runs, and nothing is reserved (RUN-60). */
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
      /** Replaces `args` if the value is stored separately from the event. */
      argsRef: ValueRef.optional(),
      argsDigest: Digest,
      /** The compensation that the call names, if a rule applies to it: approving the call also approves that compensation. */
      undoneBy: Name.optional(),
      /** Generation of the call: a call that is made again after it was undone needs another approval. */
      generation: z.int().min(1),
      agent: Name.optional(),
      scope: Scope.optional(),
      occurrence: z.int().min(0).optional(),
      parentCall: Uuid.optional(),
      needs: z.array(ApprovalNeed).min(1),
      /** The approval must be decided and used by this time; RFC 3339. */
      expiresAt: z.string(),
      selfApproval: z.boolean(),
      onDenied: z.enum(['error', 'rollback']),
    })
    .refine((body) => isVersionOf(body, body.argsRef), VERSION_RULE)
    .refine(
      ({ args, argsRef }) => (args === undefined) === (argsRef !== undefined),
      'arguments are given here or by reference',
    ),
})
