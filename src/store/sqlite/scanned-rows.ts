/** @module What a scan of a store's rows gives: rows, what is wrong with them, and how they are cut into pages. */

import type { RecordBytes } from '../../../schemas/header.ts'

export interface ScannedRecord {
  readonly position: string
  readonly stream: string
  readonly revision: number
  readonly header: string
  readonly salt: Uint8Array
  readonly data: string
  /** The same as bytes, where it was read so: then `salt` and `data` are made of them when they are wanted. */
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
  /** About as many events as there are, for a bar of progress. */
  readonly expected: number
  /** All rows by position, then what the file's tables say beyond them. Ends where the rows do. */
  readonly pages: () => Generator<readonly ScanItem[]>
  /** The same in parts: what `pages` says before the first row, and what it says after so many rows. `used`: ids of streams that those rows named. */
  readonly opening: () => Generator<readonly ScanItem[]>
  readonly rest: (from: PageStart, used: Iterable<number>) => Generator<readonly ScanItem[]>
  /** Rows at positions behind `after`, up to `to`, as they come. Throws the driver's error where they cannot be read. */
  readonly range: (range: { readonly after: number; readonly to: number }) => Iterable<RangeRow>
  /** The row at a position that was read before. Throws where it is gone. */
  readonly at: (position: string) => ScanItem
  /** Ids of streams that rows have named since the last time. */
  readonly takeUsed: () => readonly number[]
  /** What SQLite finds wrong with tables and indexes, in its words; `thorough` compares every entry, else their numbers. Never throws. */
  readonly tableFaults: (thorough: boolean) => readonly string[]
  /** What is wrong with the log, and with tables and indexes: what another scan of the same file has found, where it has looked. */
  readonly structure: (thorough: boolean, found?: readonly string[]) => readonly ScanFault[]
}

export const PAGE_ROWS = 512
export const PAGE_BYTES = 1024 * 1024

/** A place amid a page: the page begins behind `after`, and so many of its rows were read. */
export interface PageStart {
  readonly after: number
  readonly rows: number
}

export interface RangeRow {
  readonly item: ScanItem
  readonly position: number
  /** What it counts towards the length of a page. */
  readonly size: number
}

/** Where rows of these sizes, one at each position from 1 on, are cut into pages. */
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
