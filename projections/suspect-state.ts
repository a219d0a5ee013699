/** @module What a run's state knows of a suspect: a change that was accepted, and that nothing explains. */
import type { Json } from '../schemas/json.ts'
import type { Person } from './approval-state.ts'

/** Suspects that are named one by one; of a handoff that raises more, the others are one entry with their count. */
export const SUSPECTS_LISTED_MAX = 256
/** Of a path that is named, and of the text of a value that is held. */
export const SUSPECT_PATH_MAX_CHARS = 512
export const SUSPECT_VALUE_MAX_CHARS = 128

export interface SuspectState {
  /** `3.1`: the first one of step 3. Steps are never used again. */
  readonly id: string
  readonly step: number
  readonly revision: number
  readonly eventId: string
  readonly agent: string
  /** Who handed it over. */
  readonly by: Person
  /** How many it stands for: 1, or those of the handoff that are not named. */
  readonly count: number
  /** A pointer into the context before the handoff; into the one after it for what was added. The empty one: places that are not named. */
  readonly path: string
  /** The place, with the members of lists by what they are known by: other members may stand at the same index later. */
  readonly place: string
  readonly rule?: string
  /** The values, where they are short. */
  readonly before?: Json
  readonly after?: Json
  closed?: SuspectClosed
}

export interface SuspectClosed {
  readonly by: 'supersession' | 'declaration' | 'tool' | 'person'
  /** Of the event that closed it. */
  readonly revision: number
  /** The step of the handoff that closed it: where that is rolled back, it is open again. */
  readonly step?: number
}

/** Those that are still to be explained or reviewed, oldest first. */
export function openSuspects({ suspects }: { readonly suspects: readonly SuspectState[] }): readonly SuspectState[] {
  return suspects.filter(({ closed }) => closed === undefined)
}

export function countSuspects(suspects: readonly SuspectState[]): number {
  return suspects.reduce((sum, { count }) => sum + count, 0)
}
