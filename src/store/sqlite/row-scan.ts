/**
 * @module Scans every row of a store file as stored, for verification: by position, never through an index that could hide a row, and continuing after
 * unreadable rows. Read-only; works with or without a running owner.
 */
import { isUtf8 } from 'node:buffer'
import { realpathSync } from 'node:fs'
import { StoreOpenError } from '../event-store.ts'
import { ArchiveReader, movedBytes } from './archive-reader.ts'
import { asOpenError, type Database, isSqliteCode, openReadOnly, sqliteCode } from './open.ts'
import { BLOCK_ROWS, blockReader, type ReadBlock } from './row-blocks.ts'
import { saltBytes, saltText } from './salt-text.ts'
import {
  PAGE_BYTES,
  PAGE_ROWS,
  type PageStart,
  type RangeRow,
  type RowScan,
  type ScanFault,
  type ScanFaultCode,
  type ScanItem,
} from './scanned-rows.ts'
import { checkSchema, fileEnds } from './schema.ts'
import { walLossAtRest } from './wal-loss.ts'

const BUSY_TIMEOUT_MS = 5_000
/** Number of unreadable positions that are tried one by one before the step grows. */
const SMALL_STEPS = 64
const LARGEST_STEP = 2 ** 30
const MAX_INTEGER = Number.MAX_SAFE_INTEGER

/**
 * Opens a scan. Throws `StoreOpenError` if the file is missing, is not a store, is newer than this build, or if its WAL is damaged and the file is
 * unreadable without it.
 */
export function openRowScan({ path }: { readonly path: string }): RowScan {
  let db: Database | undefined
  try {
    const file = realpathSync(path)
    db = openReadOnly({ path: file, busyTimeoutMs: BUSY_TIMEOUT_MS })
    const altered = schemaFault(db, path)
    return new Scan(db, altered, file)
  } catch (error) {
    db?.close()
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new StoreOpenError('store-unreadable', `there is no store at ${path}`, { cause: error })
    }
    throw damagedLogError(error, path) ?? asOpenError(error, path)
  }
}

/** A file that was truncated during a checkpoint is malformed without its WAL: the damage to the WAL is what has to be reported. */
function damagedLogError(cause: unknown, path: string): StoreOpenError | undefined {
  if (!isSqliteCode(cause, 'SQLITE_CORRUPT', 'SQLITE_NOTADB')) return undefined
  const loss = walLossAtRest(realpathSync(path))
  if (loss === undefined) return undefined
  return new StoreOpenError('wal-damaged', `${loss}, and ${path} cannot be read without them: restore a copy of both`, {
    cause,
  })
}

type Row = readonly [
  position: string,
  streamId: unknown,
  revision: unknown,
  header: unknown,
  salt: unknown,
  data: unknown,
  request: unknown,
]

/** Integers beyond the range of a double would make the driver throw: they are read as null. */
const WHOLE = (column: string) => `CASE WHEN ${column} BETWEEN 0 AND ${MAX_INTEGER} THEN ${column} END`
const COLUMNS = `SELECT CAST(position AS TEXT), ${WHOLE('stream_id')}, ${WHOLE('revision')}, header, ${saltText('salt')}, data, request
  FROM events NOT INDEXED`
const ROWS = `${COLUMNS} WHERE position > ? ORDER BY position LIMIT ${PAGE_ROWS}`
const RANGE = `${COLUMNS} WHERE position > ? AND position <= ? ORDER BY position`
const ROW = `${COLUMNS} WHERE position = ?`

class Scan implements RowScan {
  readonly expected: number
  readonly #db: Database
  readonly #altered: ScanFault | undefined
  readonly #path: string
  readonly #archives: ArchiveReader
  readonly #names = new Map<number, string>()
  /** Names of streams whose ids no event can have. */
  #outside: readonly string[] = []
  #used = new Set<number>()
  #readBlock: ReadBlock | undefined

  constructor(db: Database, altered: ScanFault | undefined, path: string) {
    this.#db = db
    this.#path = path
    this.#archives = new ArchiveReader(path)
    this.#altered = altered
    this.expected = this.#guarded(() => Number(db.prepare('SELECT max(position) FROM events').pluck().get())) ?? 0
  }

  *pages(): Generator<readonly ScanItem[]> {
    yield* this.opening()
    yield* this.rest({ after: 0, rows: 0 }, [])
  }

  *opening(): Generator<readonly ScanItem[]> {
    if (this.#altered !== undefined) yield [this.#altered]
    const names = this.#loadNames()
    if (names !== undefined) yield [names]
  }

  *rest(from: PageStart, used: Iterable<number>): Generator<readonly ScanItem[]> {
    for (const id of used) this.#use(id)
    let skipped = from.rows
    for (let after = BigInt(from.after); ; ) {
      const { items, last, error } = this.#page(after)
      const seen = skipped
      skipped = 0
      if (items.length > seen) yield seen === 0 ? items : items.slice(seen)
      // Rows after `after` with smaller positions: the tree is damaged, and continuing would never end.
      const stuck = items.length > 0 && last === after
      after = last
      if (error !== undefined || stuck) {
        const next = stuck ? undefined : this.#nextReadable(last)
        yield [unreadable(last, next, error ?? 'its rows are out of order')]
        if (next === undefined) break
        after = next
      } else if (items.length === 0) break
    }
    yield [...rowsBeforeFirst(this.#db), ...this.#emptyStreams()]
  }

  *range({ after, to }: { readonly after: number; readonly to: number }): Generator<RangeRow> {
    for (let from = after; from < to; from += BLOCK_ROWS) {
      const end = Math.min(from + BLOCK_ROWS, to)
      this.#readBlock ??= blockReader(this.#db, (streamId) => this.#nameOf(streamId))
      yield* this.#readBlock(from, end) ?? this.#byRow(from, end)
    }
  }

  *#byRow(after: number, to: number): Generator<RangeRow> {
    const rows = this.#db.prepare<[bigint, bigint], Row>(RANGE).raw().iterate(BigInt(after), BigInt(to))
    for (const row of rows) yield { item: this.#item(row), position: Number(row[0]), size: sizeOf(row) }
  }

  at(position: string): ScanItem {
    const row = this.#db.prepare<[bigint], Row>(ROW).raw().get(BigInt(position))
    if (row === undefined) throw new Error(`the row at position ${position} went away while it was verified`)
    return this.#item(row)
  }

  takeUsed(): readonly number[] {
    const used = [...this.#used]
    this.#used = new Set()
    return used
  }

  tableFaults(thorough: boolean): readonly string[] {
    return structureFaults(this.#db, thorough)
  }

  structure(thorough: boolean, found = this.tableFaults(thorough)): readonly ScanFault[] {
    const damaged = found.map((message) => faultAt('structure', `the store file is damaged: ${message}`, {}))
    const faults = [...damaged, ...this.#missingEnd()]
    const loss = walLossAtRest(this.#path)
    return loss === undefined ? faults : [faultAt('wal-damaged', loss, {}), ...faults]
  }

  /** Both ends are read atomically, since an owner may be writing. */
  #missingEnd(): readonly ScanFault[] {
    const { recorded = 0, last } = this.#guarded(fileEnds(this.#db)) ?? { last: 0 }
    if (recorded <= last) return []
    const message = `events are gone from the end of the store, or the row that says where it ends: that should be position ${recorded}, and the last event is at ${last}`
    return [faultAt('end-missing', message, {})]
  }

  [Symbol.dispose](): void {
    this.#archives[Symbol.dispose]()
    this.#db.close()
  }

  #page(after: bigint): { readonly items: ScanItem[]; readonly last: bigint; readonly error?: unknown } {
    const items: ScanItem[] = []
    let last = after
    let bytes = 0
    try {
      for (const row of this.#db.prepare<[bigint], Row>(ROWS).raw().iterate(after)) {
        items.push(this.#item(row))
        // In a damaged tree positions may decrease; continuing from a smaller one would never end.
        const position = BigInt(row[0])
        if (position > last) last = position
        bytes += sizeOf(row)
        if (bytes >= PAGE_BYTES) break
      }
      return { items, last }
    } catch (error) {
      return { items, last, error }
    }
  }

  #item(row: Row): ScanItem {
    const [position, streamId, revision, header, salt, data, request] = row
    const stream = this.#nameOf(streamId)
    // Computed only for faults, because most rows are sound.
    const placed = () => ({
      position,
      ...(stream !== undefined && { stream }),
      ...(typeof revision === 'number' && { revision }),
    })
    if (typeof header !== 'string' || typeof data !== 'string' || typeof salt !== 'string') {
      return faultAt('row-type', 'its columns do not hold text and bytes', placed())
    }
    if (typeof revision !== 'number' || (request !== null && typeof request !== 'string')) {
      return faultAt('row-type', 'its columns do not hold a revision and a request id', placed())
    }
    if (stream === undefined) {
      return faultAt(
        'stream-row-missing',
        `belongs to a stream that has no name in the store (${String(streamId)})`,
        placed(),
      )
    }
    if (mayHideBytes(header, data) && !this.#isUtf8(position)) {
      return faultAt('not-utf8', 'its text is not UTF-8', placed())
    }
    const requestId = request ?? undefined
    const body = this.#archives.bodyOf(header, saltBytes(salt), data)
    return { position, stream, revision, header, ...body, requestId, hasColumns: true }
  }

  /** The driver replaces every invalid sequence by U+FFFD, so a text that contains one is checked as bytes. */
  #isUtf8(position: string): boolean {
    const bytes = this.#db
      .prepare<[bigint], [Buffer, Buffer]>(
        'SELECT CAST(header AS BLOB), CAST(data AS BLOB) FROM events NOT INDEXED WHERE position = ?',
      )
      .raw()
      .get(BigInt(position))
    return bytes?.every((each) => isUtf8(each)) ?? false
  }

  #nameOf(streamId: unknown): string | undefined {
    if (typeof streamId !== 'number') return undefined
    this.#use(streamId)
    return this.#names.get(streamId)
  }

  #use(streamId: number): void {
    // A concurrent owner may have created the stream since the names were read.
    if (!this.#names.has(streamId)) this.#loadNames()
    this.#used.add(streamId)
  }

  #loadNames(): ScanFault | undefined {
    try {
      const rows = this.#db
        .prepare<[], [unknown, unknown]>(`SELECT ${WHOLE('id')}, name FROM streams NOT INDEXED`)
        .raw()
      const outside: string[] = []
      for (const [id, name] of rows.iterate()) {
        if (typeof id !== 'number') outside.push(String(name))
        else if (typeof name === 'string') this.#names.set(id, name)
      }
      this.#outside = outside
      return undefined
    } catch (error) {
      return faultAt('structure', `the names of the streams cannot all be read: ${reasonOf(error)}`, {})
    }
  }

  #emptyStreams(): readonly ScanFault[] {
    const empty = [...this.#names].filter(([id]) => !this.#used.has(id))
    return [...empty.map(([, name]) => name), ...this.#outside].map((stream) =>
      faultAt('stream-without-events', 'the store names it and holds no event of it', { stream }),
    )
  }

  /** The last position after which a row can be read again; undefined if there are no more rows. */
  #nextReadable(after: bigint): bigint | undefined {
    let step = 1n
    let at = after
    for (let tries = 0; step <= LARGEST_STEP; tries += 1) {
      at += step
      const { items, error } = this.#page(at)
      if (items.length > 0) return at
      if (error === undefined) return undefined
      if (tries >= SMALL_STEPS) step *= 2n
    }
    return undefined
  }

  #guarded<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch {
      return undefined
    }
  }
}

function sizeOf([, , , header, , data]: Row): number {
  const moved = movedBytes(data)
  if (moved !== undefined) return moved
  return (typeof header === 'string' ? header.length : 0) + (typeof data === 'string' ? data.length : 0)
}

function mayHideBytes(header: string, data: string): boolean {
  return header.includes('\ufffd') || data.includes('\ufffd')
}

// Structural faults that SQLite itself finds in a store file: an index that hides a row, rows out of order, pages shared by two trees.

const FAULTS_MAX = 20

/** Reads all rows once, for both indexes. */
const COUNTS = `SELECT rows, (SELECT count(*) FROM events INDEXED BY sqlite_autoindex_events_1),
    requests, (SELECT count(*) FROM events INDEXED BY events_request WHERE request IS NOT NULL)
  FROM (SELECT count(*) AS rows, count(request) AS requests FROM events NOT INDEXED)`

/** `thorough` compares every entry of every index with its row, otherwise only their counts. Never throws: an unreadable page is reported as a fault. */
function structureFaults(db: Database, thorough: boolean): readonly string[] {
  try {
    return thorough ? integrity(db) : counts(db)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function integrity(db: Database): readonly string[] {
  const rows = db.prepare<[], string>(`PRAGMA integrity_check(${FAULTS_MAX})`).pluck().all()
  return rows.filter((row) => row !== 'ok')
}

function counts(db: Database): readonly string[] {
  const [rows, entries, requests, marked] = db.prepare<[], [number, number, number, number]>(COUNTS).raw().get() ?? []
  const differing = [rows !== entries, requests !== marked].filter((differs) => differs)
  return differing.map(() => 'an index does not list every event, or lists too many')
}

/** The faults that a scan of rows reports for rows that are unreadable or invalid. */
function unreadable(last: bigint, next: bigint | undefined, error: unknown): ScanFault {
  const where = next === undefined ? `after position ${last}` : `between positions ${last} and ${next + 1n}`
  return faultAt('unreadable', `the store file cannot be read ${where}: ${reasonOf(error)}`, {})
}

/** Altered triggers are reported as a fault; the events can still be read. Throws `StoreOpenError` for a file that is not a store. */
function schemaFault(db: Database, path: string): ScanFault | undefined {
  try {
    if (checkSchema(db, path)) throw new StoreOpenError('store-unreadable', `${path} is empty: it is no store yet`)
    return undefined
  } catch (error) {
    if (!(error instanceof StoreOpenError) || error.code !== 'store-corrupt') throw error
    return faultAt('schema-altered', 'the tables or triggers that keep the store append-only were altered', {})
  }
}

const BEFORE_FIRST = 'SELECT count(*), CAST(min(position) AS TEXT) FROM events NOT INDEXED WHERE position < 1'

/** Positions begin at 1, and reads of all events start there: an earlier row would only be seen by a read of its stream. */
function rowsBeforeFirst(db: Database): readonly ScanFault[] {
  try {
    const [count = 0, first] = db.prepare<[], [number, string]>(BEFORE_FIRST).raw().get() ?? []
    const message = `positions begin at 1, and ${count} more are before it, the first at ${first}`
    return count === 0 ? [] : [faultAt('position-order', message, {})]
  } catch (error) {
    return [faultAt('unreadable', `the store file cannot be read before position 1: ${reasonOf(error)}`, {})]
  }
}

function faultAt(code: ScanFaultCode, message: string, place: Omit<ScanFault['fault'], 'code' | 'message'>): ScanFault {
  return { fault: { code, message, ...place } }
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return `${message}${sqliteCode(error) === undefined ? '' : ` (${sqliteCode(error)})`}`
}
