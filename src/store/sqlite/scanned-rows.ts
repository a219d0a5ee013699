/** @module The results of a scan of a store's rows: rows, faults, and their division into pages. */

import type { RecordBytes } from '../../../schemas/header.ts'

export interface ScannedRecord {
  readonly position: string
  readonly stream: string
  readonly revision: number
  readonly header: string
  readonly salt: Uint8Array
  readonly data: string
  /** The record as bytes, if it was read in that form; `salt` and `data` are then derived from it on access. */
  readonly bytes?: RecordBytes
  readonly requestId: string | undefined
  readonly hasColumns: true
}

export type ScanFaultCode =
  | 'row-type'
  | 'position-order'
  | 'end-missing'
  | 'not-utf8'
  | 'stream-row-missing'
  | 'stream-without-events'
  | 'schema-altered'
  | 'structure'
  | 'wal-damaged'
  | 'unreadable'

export interface ScanFault {
  readonly fault: {
    readonly code: ScanFaultCode
    readonly message: string
    readonly position?: string
    readonly stream?: string
    readonly revision?: number
  }
}

export type ScanItem = ScannedRecord | ScanFault

export interface RowScan extends Disposable {
  /** Approximate number of events, for a progress bar. */
  readonly expected: number
  /** All rows by position, then faults found in the tables beyond the rows. Ends where the rows end. */
  readonly pages: () => Generator<readonly ScanItem[]>
  /**
   * `pages` in two parts: what it yields before the first row (`opening`), and what it yields from a given row on (`rest`). `used`: ids of the streams that
   * the earlier rows named.
   */
  readonly opening: () => Generator<readonly ScanItem[]>
  readonly rest: (from: PageStart, used: Iterable<number>) => Generator<readonly ScanItem[]>
  /** Rows at positions after `after`, up to `to`, one at a time. Throws the driver's error if they cannot be read. */
  readonly range: (range: { readonly after: number; readonly to: number }) => Iterable<RangeRow>
  /** The row at a position that was read before. Throws if it is gone. */
  readonly at: (position: string) => ScanItem
  /** Ids of the streams that rows have named since the last call. */
  readonly takeUsed: () => readonly number[]
  /** Faults that SQLite finds in tables and indexes, in its words. `thorough` compares every entry, otherwise only counts are compared. Never throws. */
  readonly tableFaults: (thorough: boolean) => readonly string[]
  /** Faults of the WAL, the tables and the indexes. `found`: table faults that another scan of the same file has found already. */
  readonly structure: (thorough: boolean, found?: readonly string[]) => readonly ScanFault[]
}

export const PAGE_ROWS = 512
export const PAGE_BYTES = 1024 * 1024

/** A place within a page: the page begins after `after`, and `rows` of its rows were read. */
export interface PageStart {
  readonly after: number
  readonly rows: number
}

export interface RangeRow {
  readonly item: ScanItem
  readonly position: number
  /** Size that counts towards the limit of a page. */
  readonly size: number
}

/** Computes how rows of the given sizes, one at each position from 1 on, are divided into pages. */
export class PageCuts {
  after = 0
  rows = 0
  #bytes = 0

  take(size: number): void {
    this.rows += 1
    this.#bytes += size
    if (this.rows < PAGE_ROWS && this.#bytes < PAGE_BYTES) return
    this.after += this.rows
    this.rows = 0
    this.#bytes = 0
  }
}
