/** @module Messages between the thread that judges a store and the threads that check its rows ahead of it. */

import type { CheckDepth } from '../../signing/check.ts'
import type { KeyRing } from '../../signing/key-ring.ts'
import type { PlacedRecord, SourceFault } from '../source-item.ts'

export interface VerifyWorkerData {
  /** Path of the store's file. */
  readonly path: string
  readonly ring: Pick<KeyRing, 'keys'>
  readonly depth: CheckDepth
}

/** Positions after `after`, up to and including `to`. */
export interface RowRange {
  readonly after: number
  readonly to: number
}

/** Calls to a thread that checks rows. */
export interface LookerCalls {
  readonly look: (range: RowRange) => LookedRows | undefined
  readonly checkTables: () => readonly string[]
}

/**
 * Rows from the one after `after` on, without a gap between their positions. Facts about sound rows are in byte columns, which are transferred between threads
 * without a copy; their links are in lists of numbers and texts, which take a tenth of the time of objects.
 */
export interface LookedRows {
  readonly after: number
  /** Position of the last row. */
  readonly through: number
  /** For each row, its contribution to the size of a page. */
  readonly sizes: Float64Array
  /** Ids of the streams that the rows name, as in the store's own table. */
  readonly used: readonly number[]
  /** Rows that are not sound, as read, with their index among all rows. */
  readonly others: readonly { readonly at: number; readonly item: PlacedRecord | SourceFault }[]
  /** Pieces of adjacent sound rows: for each, the index of its first row among all rows, the number of rows, and the number of links. */
  readonly pieces: readonly number[]
  /**
   * For each link of the pieces in turn: index of its stream in `streams`, events, events whose clock was behind, revision, first and last ring index, and
   * index of its last row among all sound rows.
   */
  readonly linkNumbers: readonly number[]
  /** For each link: the digest that it continues (empty for none), and the times of its first and last event. */
  readonly linkTexts: readonly string[]
  /** Stream names, and their tenants. */
  readonly streams: readonly string[]
  readonly tenants: readonly string[]
  /** For each sound row: index of its link in its piece; digest; id. */
  readonly places: Uint32Array<ArrayBuffer>
  readonly digests: Uint8Array<ArrayBuffer>
  readonly ids: Uint8Array<ArrayBuffer>
}

export const PIECE_NUMBERS = 3
export const LINK_NUMBERS = 7
export const LINK_TEXTS = 3
