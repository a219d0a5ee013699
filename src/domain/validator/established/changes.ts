/** @module A change of an established value, as found by a comparison; whether it is permitted is decided in another module. */
import type { Finding } from '../../../../schemas/finding.ts'
import type { Json } from '../../../../schemas/json.ts'
import type { Token } from '../../../../schemas/json-pointer.ts'
import type { Yielding } from '../../yielding.ts'
import type { PlaceRules } from './place-rules.ts'

export interface Change {
  readonly kind: 'removed' | 'changed' | 'returned' | 'reordered' | 'duplicate' | 'shadow'
  /** Place in the established context, or in the new one for a value that was added there. */
  readonly place: readonly Token[]
  /** Place in the new context; undefined if the value is gone. */
  readonly afterPlace: readonly Token[] | undefined
  readonly before: Json
  readonly after: Json | undefined
  readonly rules: PlaceRules
  /** The established place that conflicts with the change, if it is another place: that of the original key, for a second key with the same meaning. */
  readonly of?: readonly Token[]
  /** The change is below a key of prose, whose texts may change freely. */
  readonly isProse?: boolean
  /** The change is the removal of a whole critical key. */
  readonly isCritical?: boolean
}

/** Returns a finding if something other than a supersession permits the change, otherwise undefined. */
export type Excuse = (change: Change) => Finding | undefined

/** Prepares the excuse from all changes, before the first one is judged. */
export type Excuses = (changes: readonly Change[]) => Yielding<Excuse | undefined>

/** A value that was added, at its place in the new context. */
export interface Gain {
  readonly place: readonly Token[]
  readonly value: Json
}

/** Receiver of the results of a comparison. The paths passed to it are mutable, so it must copy those it keeps. */
export interface ChangeSink {
  readonly change: (change: Change) => void
  /** Reports a difference that contradicts nothing. */
  readonly modified: (place: readonly Token[]) => void
  /** Reports a change that fits the declared kind of its place: a difference, and an established leaf that no longer has its value. */
  readonly moved: (place: readonly Token[]) => void
  readonly gained: (afterPlace: readonly Token[], value: Json) => void
  readonly dropped: (place: readonly Token[]) => void
}
