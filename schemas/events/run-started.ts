/** @module RunStarted: a run begins, at revision 0 of its stream. */
import { z } from 'zod'
import { callVersion, isVersionOf, VERSION_RULE } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Digest, Name, RunId } from '../names.ts'
import { ResolvedPolicy } from '../policy.ts'
import { Redacted } from '../redaction.ts'
import { BudgetLimits, JsonRecord, JsonValue, Uuid, ValueRef } from '../values.ts'

/** Origin of a branch run. */
export const BranchOrigin = z.strictObject({
  run: RunId,
  atStep: z.int().min(0),
  /** Revision and digest of the parent's event that established the step. */
  revision: z.int().min(0),
  digest: Digest,
  /** Digest of the context established there. */
  contextDigest: Digest,
})

/** The call that a child run executes. */
export const ParentCall = z.strictObject({
  run: RunId,
  callId: Uuid,
  /** Nesting depth of this run: 1 if its parent is not itself a child run. */
  depth: z.int().min(1),
})

export const RunStarted = eventType({
  family: 'run',
  label: 'Run started',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  large: 'input',
  changes: { run: 'open', bill: true },
  schema: z
    .strictObject({
      v: callVersion,
      name: Name,
      input: JsonValue.optional(),
      /** Replaces `input` if the value is stored separately from the event. */
      inputRef: ValueRef.optional(),
      redacted: Redacted.optional(),
      tags: z.array(Name),
      /** The run was recorded without a process that executes it; a worker may take it from this time on; RFC 3339. */
      after: z.string().optional(),
      budget: BudgetLimits.optional(),
      policy: ResolvedPolicy,
      /** Digest of the operator's policy for the tenant, if there is one; `policy` is the merge of that policy and the run's own. */
      tenantPolicy: Digest.optional(),
      /** Digest of the request's own members; a repeated request for the id with the same digest is the same run. */
      requestDigest: Digest,
      branchOf: BranchOrigin.optional(),
      childOf: ParentCall.optional(),
      /** The context that a branch starts with, so that a fold need not read another stream. */
      restored: JsonRecord.optional(),
    })
    .refine(({ input, inputRef }) => input === undefined || inputRef === undefined, 'the input is here or by reference')
    .refine((body) => isVersionOf(body, body.inputRef), VERSION_RULE),
})
