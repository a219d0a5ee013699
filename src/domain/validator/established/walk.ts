/** @module The walk through an established and a new context: its position, the properties of the current place, and the receiver of its results. */
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { Token } from '../../../../schemas/json-pointer.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import type { PlaceKind } from '../meaning/place-kind.ts'
import type { Signatures } from '../meaning/signature.ts'
import type { ChangeSink } from './changes.ts'
import type { PlaceRules } from './place-rules.ts'

export interface Walk {
  /** Compares two values as `compareValues` does, for members of lists. Returns the remaining work if it may take long. */
  readonly compare: (walk: Walk, before: Json, after: Json, here: Here) => Yielding<void> | undefined
  /** The whole established context and the whole new one. */
  readonly documents: readonly [before: JsonObject, after: JsonObject]
  readonly pauses: Pauses
  readonly sink: ChangeSink
  readonly known: Signatures
  /** Whether the run has left a state word at a place of the established context. */
  readonly wasLeft: (place: readonly Token[], word: string) => boolean
  /** The current place in the established context, and in the new one. */
  readonly place: Token[]
  readonly afterPlace: Token[]
}

/** The properties of the current place. */
export interface Here {
  readonly key: string
  readonly kind: PlaceKind
  readonly rules: PlaceRules
}

/** Reports a value that has changed, returned to a state that was left, or come into another order. */
export function found(
  kind: 'changed' | 'returned' | 'reordered',
  { sink, place, afterPlace }: Walk,
  [before, after]: readonly [Json, Json],
  { rules }: Here,
): void {
  sink.change({ kind, place, afterPlace, before, after, rules })
}

export function removed({ sink, place }: Walk, before: Json, { rules }: Here): void {
  sink.change({ kind: 'removed', place, afterPlace: undefined, before, after: undefined, rules })
}
