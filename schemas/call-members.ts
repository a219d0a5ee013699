/** @module Members that the events of calls and of their undoing have in common (RUN-1 to RUN-33). */
import { z } from 'zod'
import { Name } from './names.ts'
import { Failure, JsonValue, Uuid } from './values.ts'

export const callIdentity = {
  callId: Uuid,
  fence: z.int().min(1),
}

/** How a call is undone: by which tool, by nobody (`none`), or there is nothing to undo. Absent: the caller decides at rollback. */
export const Compensate = z.union([z.enum(['not-needed', 'none']), z.strictObject({ tool: Name })])

/** `s:<id>`: a process that has the store to itself. `p:<machine>:<pid>:<start>`: a process of a machine, as its kernel knows it. */
export const LeaseOwner = z.string().regex(/^[sp]:[\w:-]{1,120}$/)

export const succeeded = {
  v: z.literal(1),
  ...callIdentity,
  result: JsonValue.optional(),
  /** The tool ran, its result could not be recorded. */
  unrecorded: z.strictObject({ reason: z.string().max(1024) }).optional(),
}

export const failed = {
  v: z.literal(1),
  ...callIdentity,
  error: Failure,
}

export const inDoubt = {
  v: z.literal(1),
  ...callIdentity,
  /**
   * The deadline passed; the process that held the lease is provably gone; whoever resumed the run took it over; its own process left it to whoever resumes
   * the run (`left`), or saw it end without an outcome (`outcome-unknown`).
   */
  cause: z.enum(['lease-expired', 'owner-gone', 'taken-over', 'left', 'outcome-unknown']),
  reason: z.string().max(1024).optional(),
}
