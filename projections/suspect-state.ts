/** @module The state of suspects in a run: changes that were accepted but not explained. */
import type { Json } from '../schemas/json.ts'
import type { Person } from './approval-state.ts'

/** Maximum number of suspects listed individually; further ones of a handoff share one entry with their count. */
export const SUSPECTS_LISTED_MAX = 256
/** Maximum length of a suspect's path, and of the text of a stored value. */
export const SUSPECT_PATH_MAX_CHARS = 512
export const SUSPECT_VALUE_MAX_CHARS = 128

export interface SuspectState {
  /** `3.1` is the first suspect of step 3. Steps are never reused. */
  readonly id: string
  readonly step: number
  readonly revision: number
  readonly eventId: string
  readonly agent: string
  /** The person or service that handed it over. */
  readonly by: Person
  /** Number of suspects in this entry: 1, or those of the handoff that are not listed individually. */
  readonly count: number
  /** Pointer into the context before the handoff, or after it for an added value. Empty for the entry of unlisted suspects. */
  readonly path: string
  /** The place by the identities of list members, because the same index may later refer to another member. */
  readonly place: string
  readonly rule?: string
  /** The values, if short. */
  readonly before?: Json
  readonly after?: Json
  closed?: SuspectClosed
}

export interface SuspectClosed {
  readonly by: 'supersession' | 'declaration' | 'tool' | 'person'
  /** Revision of the event that closed it. */
  readonly revision: number
  /** Step of the handoff that closed the suspect; a rollback of that handoff reopens it. */
  readonly step?: number
}

/** Suspects that have not been explained or reviewed, oldest first. */
export function openSuspects({ suspects }: { readonly suspects: readonly SuspectState[] }): readonly SuspectState[] {
  return suspects.filter(({ closed }) => closed === undefined)
}

export function countSuspects(suspects: readonly SuspectState[]): number {
  return suspects.reduce((sum, { count }) => sum + count, 0)
}
