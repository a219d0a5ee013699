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

export type ToLooker =
  | ({ readonly kind: 'look'; readonly id: number } & RowRange)
  | { readonly kind: 'check-tables'; readonly id: number }
  | { readonly kind: 'end' }

export type FromLooker =
  | { readonly kind: 'looked'; readonly id: number; readonly answer: LookedRows | undefined }
  | { readonly kind: 'tables-checked'; readonly id: number; readonly answer: readonly string[] }
  | { readonly kind: 'open-failed'; readonly message: string }

/**
 * Rows from one behind `after` on, without a gap between their positions. Of a row that is sound there are the facts, one column each: strings
 * and numbers pass between threads in a tenth of the time that objects take.
 */
export interface LookedRows {
  /** Position of the last one. */
  readonly through: number
  /** What each row counts towards the length of a page. */
  readonly sizes: Float64Array
  /** Ids of the streams that the rows name, as the store's own table has them. */
  readonly used: readonly number[]
  /** Names, and the tenants in them. */
  readonly streams: readonly string[]
  readonly tenants: readonly string[]
  /** Of each sound row: position, place of its stream in `streams`, revision, ring index, and 1 where its clock was behind. */
  readonly numbers: Float64Array
  readonly ids: readonly string[]
  readonly times: readonly string[]
  /** Empty where there is none. */
  readonly prevs: readonly string[]
  readonly digests: readonly string[]
  /** Rows that are not sound as they were read, by their place among all. */
  readonly others: readonly { readonly at: number; readonly item: PlacedRecord | SourceFault }[]
}

export const NUMBERS = 5
