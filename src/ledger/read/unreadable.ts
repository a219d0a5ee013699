/** @module Runs that a list of the tenant cannot read: each one is named in the list and does not hide the others. */
import type { Refusal } from '../../domain/refusal.ts'

/** A run that may or may not belong in a list, because its stream is damaged. */
export interface UnreadableRun {
  readonly runId: string
  readonly code: string
  readonly detail: string
}

/** The entry for a run whose stream is damaged; undefined for a refusal that makes the whole list fail. */
export function unreadableRun(runId: string, { code, detail }: Refusal): UnreadableRun | undefined {
  return code === 'stream-damaged' ? { runId, code, detail } : undefined
}

/** As a member of an answer; absent if there are none. */
export function unreadableMember(unreadable: readonly UnreadableRun[]): {
  readonly unreadable?: readonly UnreadableRun[]
} {
  return unreadable.length === 0 ? {} : { unreadable }
}
