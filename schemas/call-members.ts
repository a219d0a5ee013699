/** @module Members that events of calls and of their compensations have in common (RUN-1 to RUN-33). */
import { z } from 'zod'
import { Name } from './names.ts'
import { Redacted } from './redaction.ts'
import { Failure, JsonValue, Uuid, ValueRef } from './values.ts'

export const callIdentity = {
  callId: Uuid,
  fence: z.int().min(1),
}

/** How a call is undone: by this tool, not at all (`none`), or there is nothing to undo (`not-needed`). Absent: the caller decides at rollback. */
export const Compensate = z.union([z.enum(['not-needed', 'none']), z.strictObject({ tool: Name })])

/** Declares that a call changes nothing outside the run. Absent: the call may have effects. */
export const Effects = z.literal('none')

/** `s:<id>`: a process with exclusive use of the store. `p:<machine>:<pid>:<start>`: a process of a machine, as its kernel identifies it. */
export const LeaseOwner = z.string().regex(/^[sp]:[\w:-]{1,120}$/)

/** `answered`: the caller was notified and the run continued; otherwise the run is rolled back. */
export const Unrecorded = z.strictObject({ reason: z.string().max(1024), answered: z.literal(true).optional() })

/** A body that uses no later feature has version 1. */
export const callVersion = z.union([z.literal(1), z.literal(2)])

export function isVersionOf({ v }: { readonly v: 1 | 2 }, reference: ValueRef | undefined, answered?: true): boolean {
  return (v === 2) === (reference !== undefined || answered === true)
}

export const VERSION_RULE = 'version 2 names a value by reference or was answered without one, version 1 neither'

export const succeeded = {
  v: callVersion,
  ...callIdentity,
  redacted: Redacted.optional(),
  result: JsonValue.optional(),
  /** Replaces `result` if the value is stored separately from the event. */
  resultRef: ValueRef.optional(),
  /** The tool ran, but its result could not be recorded. */
  unrecorded: Unrecorded.optional(),
}

export const failed = {
  v: z.literal(1),
  ...callIdentity,
  redacted: Redacted.optional(),
  error: Failure,
}

export const inDoubt = {
  v: z.literal(1),
  ...callIdentity,
  redacted: Redacted.optional(),
  /**
   * The reason. `lease-expired`: the deadline passed. `owner-gone`: the process that held the lease is provably gone. `taken-over`: a
   * resume of the run took the call over. `left`: the call's own process left it to the next resume. `outcome-unknown`: its process saw it
   * end without an outcome.
   */
  cause: z.enum(['lease-expired', 'owner-gone', 'taken-over', 'left', 'outcome-unknown']),
  reason: z.string().max(1024).optional(),
}
