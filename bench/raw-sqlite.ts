/**
 * @module The denominators: better-sqlite3 as used by a program that stores the same rows but needs no proof of them. Same columns, same indexes, WAL,
 * `synchronous = FULL`, prepared statements, no triggers; on the calling thread, which does nothing else.
 */
import { rmSync } from 'node:fs'
import Sqlite from 'better-sqlite3'

const SYNCHRONOUS_FULL = 2
/** As in the store; SQLite's default of 1,000 is about 5 % slower. */
const LOG_FRAMES = 8_000
const STREAMS = 64
/** Divisor of the measured time that yields the warm-up time. */
const WARM_UP_SHARE = 5

/** Columns of one stored record. */
export interface RawRow {
  readonly header: string
  readonly salt: Buffer
  readonly data: string
}

export interface RawRate {
  readonly transactionsPerSecond: number
  /** Microseconds per transaction. */
  readonly transactionUs: readonly number[]
}

export interface RawWrite {
  readonly path: string
  /** Rows to write in turn. */
  readonly rows: readonly RawRow[]
  readonly rowsPerTransaction: number
  readonly milliseconds: number
}

/**
 * Writes to a new file for `milliseconds`, and removes it. The rows go to other streams and revisions, with as many rows per transaction as the ledger writes.
 */
export function writeRaw({ path, rows, rowsPerTransaction, milliseconds }: RawWrite): RawRate {
  const db = openRaw(path)
  try {
    const { begin, insert, commit } = prepare(db)
    const revisions = new Array<number>(STREAMS).fill(-1)
    let next = 0
    const transaction = (): void => {
      begin.run()
      for (let i = 0; i < rowsPerTransaction; i += 1, next += 1) {
        const row = rows[next % rows.length]
        if (row === undefined) throw new RangeError('there is no row to write')
        const stream = next % STREAMS
        const revision = (revisions[stream] ?? -1) + 1
        revisions[stream] = revision
        insert.run(stream, revision, row.header, row.salt, row.data, null)
      }
      commit.run()
    }
    repeat(transaction, milliseconds / WARM_UP_SHARE)
    const startedMs = performance.now()
    const transactionUs = repeat(transaction, milliseconds)
    const seconds = (performance.now() - startedMs) / 1000
    return { transactionsPerSecond: transactionUs.length / seconds, transactionUs }
  } finally {
    db.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  }
}

function repeat(work: () => void, milliseconds: number): number[] {
  const took: number[] = []
  const endMs = performance.now() + milliseconds
  for (let beforeMs = performance.now(); beforeMs < endMs; ) {
    work()
    const afterMs = performance.now()
    took.push((afterMs - beforeMs) * 1000)
    beforeMs = afterMs
  }
  return took
}

function openRaw(path: string): Sqlite.Database {
  const db = new Sqlite(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma(`wal_autocheckpoint = ${LOG_FRAMES}`)
  if (db.pragma('synchronous', { simple: true }) !== SYNCHRONOUS_FULL)
    throw new Error('SQLite refuses synchronous = FULL')
  db.exec(`CREATE TABLE events (
    position INTEGER PRIMARY KEY, stream_id INTEGER NOT NULL, revision INTEGER NOT NULL,
    header TEXT NOT NULL, salt BLOB NOT NULL, data TEXT NOT NULL, request TEXT, UNIQUE (stream_id, revision)) STRICT;
    CREATE UNIQUE INDEX events_request ON events (stream_id, request) WHERE request IS NOT NULL;`)
  return db
}

function prepare(db: Sqlite.Database) {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    insert: db.prepare(
      'INSERT INTO events (stream_id, revision, header, salt, data, request) VALUES (?, ?, ?, ?, ?, ?)',
    ),
  }
}

type StoredRow = [position: number, stream: string, revision: number, header: string, salt: Buffer, data: string]

const ALL_ROWS = `SELECT e.position, s.name, e.revision, e.header, e.salt, e.data, e.request
  FROM events e JOIN streams s ON s.id = e.stream_id`

/**
 * Plain reading, the denominator of verification and exports: every row of a store once, all columns and the name of the stream, in store order, on one
 * connection and one thread, as JavaScript strings and buffers, which are not processed. `stream` restricts it to one stream.
 */
export function iterateRaw(path: string, stream?: string): { readonly events: number; readonly seconds: number } {
  const db = new Sqlite(path, { readonly: true })
  try {
    const rows =
      stream === undefined
        ? db.prepare<[], StoredRow>(`${ALL_ROWS} ORDER BY e.position`).raw().iterate()
        : db.prepare<[string], StoredRow>(`${ALL_ROWS} WHERE s.name = ? ORDER BY e.revision`).raw().iterate(stream)
    const startedMs = performance.now()
    let events = 0
    for (const row of rows) if (row[3] !== '') events += 1
    return { events, seconds: (performance.now() - startedMs) / 1000 }
  } finally {
    db.close()
  }
}

const SAMPLE_ROWS = 1_024

/** The last envelopes that the ledger wrote to a stream. */
export function sampleEnvelopes(path: string, stream: string): readonly RawRow[] {
  return sampleRows(path, stream, 'EnvelopeAccepted')
}

/** The last events of one type that the ledger wrote to a stream. */
export function sampleRows(path: string, stream: string, type: string): readonly RawRow[] {
  const db = new Sqlite(path, { readonly: true })
  try {
    const rows = db.prepare<[string, number], StoredRow>(
      `${ALL_ROWS} WHERE s.name = ? ORDER BY e.revision DESC LIMIT ?`,
    )
    const envelopes = rows
      .raw()
      .all(stream, SAMPLE_ROWS)
      .reverse()
      .map(([, , , header, salt, data]) => ({ header, salt, data }))
      .filter(({ header }) => header.includes(`"type":"${type}"`))
    if (envelopes.length === 0) throw new Error(`${stream} holds no ${type} to take as a sample`)
    return envelopes
  } finally {
    db.close()
  }
}

export function sqliteVersion(): string {
  const db = new Sqlite(':memory:')
  try {
    return String(db.prepare('SELECT sqlite_version()').pluck().get())
  } finally {
    db.close()
  }
}
