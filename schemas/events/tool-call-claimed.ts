/** @module ToolCallClaimed: a call may run until its lease ends. */
import { z } from 'zod'
import {
  Compensate,
  callIdentity,
  callVersion,
  Effects,
  isVersionOf,
  LeaseOwner,
  VERSION_RULE,
} from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { JsonValue, OnUnknown, Phase, Scope, Uuid, ValueRef } from '../values.ts'

export const ToolCallClaimed = eventType({
  family: 'call',
  label: 'Tool call claimed',
  activity: 'create',
  rating: { verdict: 'claimed', outcome: 'success', severity: 'informational' },
  facts: ['agent', 'tool', 'call', 'approval', 'reservation', 'compensates'],
  large: 'args',
  changes: { call: 'claimed', bill: true },
  schema: z
    .strictObject({
      v: callVersion,
      ...callIdentity,
      redacted: Redacted.optional(),
      key: z.string().min(1).max(512),
      tool: Name,
      phase: Phase,
      args: JsonValue.optional(),
      /** Replaces `args` if the value is stored separately from the event. */
      argsRef: ValueRef.optional(),
      argsDigest: Digest,
      agent: Name.optional(),
      scope: Scope.optional(),
      occurrence: z.int().min(0).optional(),
      group: Name.optional(),
      attempt: z.int().min(1),
      generation: z.int().min(1),
      leaseMs: z.int().min(1),
      leaseUntil: z.string(),
      /** The process that holds the lease, if it identified itself so that its death can be proved. */
      owner: LeaseOwner.optional(),
      onUnknown: OnUnknown,
      compensate: Compensate.optional(),
      effects: Effects.optional(),
      compensateUnknown: z.boolean().optional(),
      compensateFailed: z.boolean().optional(),
      parentCall: Uuid.optional(),
      /** The forward call that this one undoes; only if `phase` is `compensation`. */
      compensates: Uuid.optional(),
      reservationId: Uuid.optional(),
      /** The approval that this claim consumes. */
      approvalId: Uuid.optional(),
      /**
       * The call began to run before this claim: the number of the run's events up to the last outcome that its code had been given when it
       * asked for the call. Absent: the claim came first.
       */
      after: z.int().min(0).optional(),
    })
    .refine((body) => isVersionOf(body, body.argsRef), VERSION_RULE)
    .refine(
      ({ args, argsRef }) => (args === undefined) === (argsRef !== undefined),
      'arguments are given here or by reference',
    ),
})
