/** @module Members that the events of calls and of their undoing have in common (RUN-1 to RUN-33). */
import { z } from 'zod'
import { Name } from './names.ts'
import { Redacted } from './redaction.ts'
import { Failure, JsonValue, Uuid, ValueRef } from './values.ts'

export const callIdentity = {
  callId: Uuid,
  fence: z.int().min(1),
}

/** How a call is undone: by which tool, by nobody (`none`), or there is nothing to undo. Absent: the caller decides at rollback. */
export const Compensate = z.union([z.enum(['not-needed', 'none']), z.strictObject({ tool: Name })])

/** Whether a call changes anything outside of the run. Absent: it may. */
export const Effects = z.literal('none')

/** `s:<id>`: a process that has the store to itself. `p:<machine>:<pid>:<start>`: a process of a machine, as its kernel knows it. */
export const LeaseOwner = z.string().regex(/^[sp]:[\w:-]{1,120}$/)

/** `answered`: the caller was told, and the run went on; else it is rolled back. */
export const Unrecorded = z.strictObject({ reason: z.string().max(1024), answered: z.literal(true).optional() })

/** Of version 1 is whatever needs nothing that came later. */
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
  /** In place of `result`, where that is stored beside the events. */
  resultRef: ValueRef.optional(),
  /** The tool ran, its result could not be recorded. */
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
   * The deadline passed; the process that held the lease is provably gone; whoever resumed the run took it over; its own process left it to whoever resumes
   * the run (`left`), or saw it end without an outcome (`outcome-unknown`).
   */
  cause: z.enum(['lease-expired', 'owner-gone', 'taken-over', 'left', 'outcome-unknown']),
  reason: z.string().max(1024).optional(),
}
