/** @module Runs that a list of the tenant cannot look into: each is named with the list, and hides no other one. */
import type { Refusal } from '../../domain/refusal.ts'

/** A run of which a list cannot say whether it belongs there: its stream is damaged. */
export interface UnreadableRun {
  readonly runId: string
  readonly code: string
  readonly detail: string
}

/** What a list says of a run whose stream is damaged; undefined for whatever keeps the whole list from being made. */
export function unreadableRun(runId: string, { code, detail }: Refusal): UnreadableRun | undefined {
  return code === 'stream-damaged' ? { runId, code, detail } : undefined
}

/** As a member of an answer: present where there is one. */
export function unreadableMember(unreadable: readonly UnreadableRun[]): {
  readonly unreadable?: readonly UnreadableRun[]
} {
  return unreadable.length === 0 ? {} : { unreadable }
}
