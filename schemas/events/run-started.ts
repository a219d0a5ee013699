/** @module RunStarted: a run begins: revision 0 of its stream. */
import { z } from 'zod'
import { callVersion, isVersionOf, VERSION_RULE } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Digest, Name, RunId } from '../names.ts'
import { ResolvedPolicy } from '../policy.ts'
import { Redacted } from '../redaction.ts'
import { BudgetLimits, JsonRecord, JsonValue, Uuid, ValueRef } from '../values.ts'

/** Where a branch run came from. */
export const BranchOrigin = z.strictObject({
  run: RunId,
  atStep: z.int().min(0),
  /** Revision and digest of the parent's event that established the step. */
  revision: z.int().min(0),
  digest: Digest,
  /** Digest of the context that was established there. */
  contextDigest: Digest,
})

/** The call that a child run is the work of. */
export const ParentCall = z.strictObject({
  run: RunId,
  callId: Uuid,
  /** How many runs this one lies below: 1 where its parent is nobody's child. */
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
      /** In place of `input`, where that is stored beside the events. */
      inputRef: ValueRef.optional(),
      redacted: Redacted.optional(),
      tags: z.array(Name),
      budget: BudgetLimits.optional(),
      policy: ResolvedPolicy,
      /** Digest of what the operator declared for the tenant, where that is: `policy` holds it merged with what the run declared. */
      tenantPolicy: Digest.optional(),
      /** Digest of the request's own members: what "the same run" means when the id is requested again. */
      requestDigest: Digest,
      branchOf: BranchOrigin.optional(),
      childOf: ParentCall.optional(),
      /** The context that a branch starts with: a fold need not look into another stream. */
      restored: JsonRecord.optional(),
    })
    .refine(({ input, inputRef }) => input === undefined || inputRef === undefined, 'the input is here or by reference')
    .refine((body) => isVersionOf(body, body.inputRef), VERSION_RULE),
})
