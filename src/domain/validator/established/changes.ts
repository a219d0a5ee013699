/** @module What a comparison finds: a change of something established. Whether it is permitted is decided elsewhere. */
import type { Finding } from '../../../../schemas/finding.ts'
import type { Json } from '../../../../schemas/json.ts'
import type { Token } from '../../../../schemas/json-pointer.ts'
import type { Paced } from '../../paced.ts'
import type { PlaceRules } from './place-rules.ts'

export interface Change {
  readonly kind: 'removed' | 'changed' | 'returned' | 'reordered' | 'duplicate' | 'shadow'
  /** In the established context; in the new one for what was added there. */
  readonly place: readonly Token[]
  /** Where it is in the new context now; undefined where it is gone. */
  readonly afterPlace: readonly Token[] | undefined
  readonly before: Json
  readonly after: Json | undefined
  readonly rules: PlaceRules
  /** The established place that is at odds with it, where that is another: of a second key for the same. */
  readonly of?: readonly Token[]
  /** Below a key of prose: its texts are free. */
  readonly isProse?: boolean
  /** A critical key, gone as a whole. */
  readonly isCritical?: boolean
}

/** What else than a supersession may permit a change: a finding that says so, or undefined. */
export type Excuse = (change: Change) => Finding | undefined

/** Made of all changes when the first is to be judged. */
export type Excuses = (changes: readonly Change[]) => Paced<Excuse | undefined>

/** What is new, in the new context. */
export interface Gain {
  readonly place: readonly Token[]
  readonly value: Json
}

/** The paths that a sink receives are live ones: it copies what it keeps. */
export interface ChangeSink {
  readonly change: (change: Change) => void
  /** Differences that contradict nothing. */
  readonly modified: (place: readonly Token[]) => void
  /** A place that is declared to move, in its kind: a difference, and a leaf that does not stand any more. */
  readonly moved: (place: readonly Token[]) => void
  readonly gained: (afterPlace: readonly Token[], value: Json) => void
  readonly dropped: (place: readonly Token[]) => void
}
