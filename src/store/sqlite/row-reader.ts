/** @module Bounded, synchronous reads of the store file. Every call is one statement, so no transaction is left open. */
import { NO_STREAM, type PositionRange, type ReadRecord } from '../event-store.ts'
import type { TenantStreams } from '../tenant-streams.ts'
import { ArchiveReader } from './archive-reader.ts'
import { type Database, openReadOnly } from './open.ts'
import { saltBytes, saltText } from './salt-text.ts'
import { type FileEnds, fileEnds } from './schema.ts'

const PAGE_RECORDS = 256
/** A page ends with the record that reaches this size, so that large payloads do not accumulate. */
const PAGE_BYTES = 1024 * 1024
/** Number of positions that one filtered read examines: events of other tenants cost time even though they are not returned. */
const FILTER_WINDOW = 4_096
const BUSY_TIMEOUT_MS = 1_000

export interface StreamRange {
  readonly from: number
  readonly to: number
  readonly direction: 'forwards' | 'backwards'
}

export interface AllRange {
  readonly after: number
  readonly until: number
  readonly tenant: TenantStreams | undefined
}

/** `upTo` is the last position that the read examined; undefined if there was nothing left to examine. */
export interface AllPage {
  readonly records: readonly ReadRecord[]
  readonly upTo: number | undefined
}

type Row = [
  position: number,
  stream: string,
  revision: number,
  header: string,
  salt: string | null,
  data: string,
  request: string | null,
]

const COLUMNS = `e.position, s.name, e.revision, e.header, ${saltText('e.salt')}, e.data, e.request`
const OF_STREAM = `SELECT ${COLUMNS} FROM streams s CROSS JOIN events e ON e.stream_id = s.id
  WHERE s.name = ? AND e.revision BETWEEN ? AND ?`
const OF_ALL = `SELECT ${COLUMNS} FROM events e CROSS JOIN streams s ON s.id = e.stream_id
  WHERE e.position > ? AND e.position <= ?`

export class RowReader implements Disposable {
  readonly #db: Database
  readonly #statements
  readonly #ends: () => FileEnds
  readonly #archives: ArchiveReader
  /** The position up to which every position has a record, and the schema version for which that was determined. */
  #dense: { readonly version: number; readonly last: number } | undefined

  /** Throws the driver's error if the file is missing or unreadable. */
  constructor(path: string) {
    this.#db = openReadOnly({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
    this.#statements = prepareStatements(this.#db)
    this.#ends = fileEnds(this.#db)
    this.#archives = new ArchiveReader(path)
  }

  get db(): Database {
    return this.#db
  }

  head(stream: string): number {
    return Number(this.#statements.head.get(stream) ?? NO_STREAM)
  }

  /** Last position, 0 in an empty store. */
  end(): number {
    return Number(this.#statements.end.get())
  }

  /** The first positions without a record, up to the recorded end of the file. */
  missingPositions(limit: number, among = Number.POSITIVE_INFINITY): readonly number[] {
    const { recorded = 0, last } = this.#ends()
    const before = Math.max(0, last - among)
    const found: number[] = []
    const take = (from: number, to: number): void => {
      for (let position = from; position < to && found.length < limit; position += 1) found.push(position)
    }
    if (before > 0 || !this.#isDenseUpTo(last))
      for (const [from, to] of this.#statements.gaps.iterate(before, before) as Iterable<[number, number]>)
        take(from, to)
    take(last + 1, recorded + 1)
    return found
  }

  /** Counted rows cannot disappear as long as the triggers exist, which are part of the schema: with an unchanged schema only newer rows are counted. */
  #isDenseUpTo(last: number): boolean {
    const { count, schemaVersion } = this.#statements
    const version = Number(schemaVersion.get())
    const before = this.#dense?.version === version && this.#dense.last <= last ? this.#dense.last : 0
    const isDense = Number(count.get(before)) === last - before
    this.#dense = isDense ? { version, last } : undefined
    return isDense
  }

  /** The positions after the last record that an append had filled. */
  missingEnd(): PositionRange | undefined {
    const { recorded = 0, last } = this.#ends()
    return recorded > last ? { first: String(last + 1), events: recorded - last } : undefined
  }

  findRequest(stream: string, requestId: string): number | undefined {
    const revision = this.#statements.findRequest.get(stream, requestId)
    return typeof revision === 'number' ? revision : undefined
  }

  streamPage(stream: string, { from, to, direction }: StreamRange): readonly ReadRecord[] {
    const { forwards, backwards } = this.#statements
    const statement = direction === 'forwards' ? forwards : backwards
    return takePage(statement.iterate(stream, from, to), this.#archives).records
  }

  allPage({ after, until, tenant }: AllRange): AllPage {
    const last = Math.min(until, this.end())
    if (after >= last) return { records: [], upTo: undefined }

    const windowEnd = tenant === undefined ? last : Math.min(last, after + FILTER_WINDOW)
    const { records, ended } = takePage(this.#rowsOf(tenant, after, windowEnd), this.#archives)
    const lastRecord = records.at(-1)
    // A page that reached its limits ends at its last record; any other page has covered its whole window.
    return { records, upTo: ended || lastRecord === undefined ? windowEnd : Number(lastRecord.position) }
  }

  #rowsOf(tenant: TenantStreams | undefined, after: number, windowEnd: number): Iterable<Row> {
    if (tenant === undefined) return this.#statements.all.iterate(after, windowEnd)
    const { ledger, run, access } = tenant
    return this.#statements.tenant.iterate(after, windowEnd, ledger, run.from, run.end, access.from, access.end)
  }

  /** Changes when another connection has committed. */
  dataVersion(): number {
    return Number(this.#statements.dataVersion.get())
  }

  [Symbol.dispose](): void {
    this.#archives[Symbol.dispose]()
    this.#db.close()
  }
}

function prepareStatements(db: Database) {
  const rows = (sql: string) => db.prepare<unknown[], Row>(sql).raw()
  return {
    forwards: rows(`${OF_STREAM} ORDER BY e.revision LIMIT ${PAGE_RECORDS}`),
    backwards: rows(`${OF_STREAM} ORDER BY e.revision DESC LIMIT ${PAGE_RECORDS}`),
    all: rows(`${OF_ALL} ORDER BY e.position LIMIT ${PAGE_RECORDS}`),
    tenant: rows(
      `${OF_ALL} AND (s.name = ? OR (s.name >= ? AND s.name < ?) OR (s.name >= ? AND s.name < ?)) ORDER BY e.position LIMIT ${PAGE_RECORDS}`,
    ),
    head: db
      .prepare('SELECT max(revision) FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)')
      .pluck(),
    count: db.prepare('SELECT count(*) FROM events WHERE position > ?').pluck(),
    schemaVersion: db.prepare('PRAGMA schema_version').pluck(),
    gaps: db
      .prepare(
        `SELECT before + 1, position FROM
           (SELECT position, lag(position, 1, ?) OVER (ORDER BY position) AS before FROM events WHERE position > ?)
          WHERE position > before + 1`,
      )
      .raw(),
    end: db.prepare('SELECT ifnull(max(position), 0) FROM events').pluck(),
    findRequest: db
      .prepare('SELECT revision FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?) AND request = ?')
      .pluck(),
    dataVersion: db.prepare('PRAGMA data_version').pluck(),
  }
}

/** `ended`: the rows ran out before the limits of the page were reached. */
function takePage(
  rows: Iterable<Row>,
  archives: ArchiveReader,
): { readonly records: readonly ReadRecord[]; readonly ended: boolean } {
  const records: ReadRecord[] = []
  let bytes = 0
  for (const row of rows) {
    const record = fromRow(row, archives)
    records.push(record)
    bytes += record.header.length + record.data.length
    if (bytes >= PAGE_BYTES) return { records, ended: false }
  }
  return { records, ended: records.length < PAGE_RECORDS }
}

function fromRow(row: Row, archives: ArchiveReader): ReadRecord {
  const [position, stream, revision, header, salt, data, request] = row
  // A value that is not a blob is read as an empty salt, which no event was sealed with.
  const bytes = saltBytes(salt ?? '')
  const place = String(position)
  if (bytes.length === 0) {
    const body = archives.bodyOf(header, bytes, data)
    return { position: place, stream, revision, header, ...body, ...(request !== null && { requestId: request }) }
  }
  if (request === null) return { position: place, stream, revision, header, salt: bytes, data }
  return { position: place, stream, revision, header, salt: bytes, data, requestId: request }
}
