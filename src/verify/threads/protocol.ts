/** @module What passes between the thread that judges a store and those that look at its rows ahead of it. */

import type { CheckDepth } from '../../signing/check.ts'
import type { KeyRing } from '../../signing/key-ring.ts'
import type { PlacedRecord, SourceFault } from '../source-item.ts'

export interface VerifyWorkerData {
  /** Of the store's file. */
  readonly path: string
  readonly ring: Pick<KeyRing, 'keys'>
  readonly depth: CheckDepth
}

/** Positions behind `after`, up to `to`. */
export interface RowRange {
  readonly after: number
  readonly to: number
}

/** What a thread that looks at rows can be asked. */
export interface LookerCalls {
  readonly look: (range: RowRange) => LookedRows | undefined
  readonly checkTables: () => readonly string[]
}

/**
 * Rows from one behind `after` on, without a gap between their positions. What is said of sound rows lies in columns of bytes, which pass between
 * threads without a copy; the links that they make, in lists of numbers and of texts, which pass in a tenth of the time that objects take.
 */
export interface LookedRows {
  readonly after: number
  /** Position of the last one. */
  readonly through: number
  /** Of each row: what it counts towards the length of a page. */
  readonly sizes: Float64Array
  /** Ids of the streams that the rows name, as the store's own table has them. */
  readonly used: readonly number[]
  /** Rows that are not sound as they were read, by their place among all. */
  readonly others: readonly { readonly at: number; readonly item: PlacedRecord | SourceFault }[]
  /** Pieces of sound rows side by side: of each its first row's place among all, rows, and links. */
  readonly pieces: readonly number[]
  /** Of each link of the pieces in turn: place of its stream in `streams`, events, clocks that were behind, revision, both ring indexes, and place of its last row among all sound ones. */
  readonly linkNumbers: readonly number[]
  /** Of each: what it continues (empty: nothing), and the times of its first and last event. */
  readonly linkTexts: readonly string[]
  /** Names, and the tenants in them. */
  readonly streams: readonly string[]
  readonly tenants: readonly string[]
  /** Of each sound row: place of its link in its piece; digest; id. */
  readonly places: Uint32Array<ArrayBuffer>
  readonly digests: Uint8Array<ArrayBuffer>
  readonly ids: Uint8Array<ArrayBuffer>
}

export const PIECE_NUMBERS = 3
export const LINK_NUMBERS = 7
export const LINK_TEXTS = 3
