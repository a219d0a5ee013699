/** @module What somebody with the store's file and the sqlite3 program can do: take the triggers away, change rows, put them back. */
import Sqlite from 'better-sqlite3'

export interface StoreRow {
  readonly position: number
  readonly stream: string
  readonly stream_id: number
  readonly revision: number
  readonly header: string
  readonly salt: Buffer
  readonly data: string
  readonly request: string | null
}

const ROWS = `SELECT e.position, s.name AS stream, e.stream_id, e.revision, e.header, e.salt, e.data, e.request
  FROM events e NOT INDEXED LEFT JOIN streams s ON s.id = e.stream_id ORDER BY e.position`

/** As a server reads a run: along the index, one stream after the other. */
const SERVED = `SELECT s.name, e.position, e.revision, e.header, hex(e.salt), e.data
  FROM streams s CROSS JOIN events e INDEXED BY sqlite_autoindex_events_1 ON e.stream_id = s.id ORDER BY s.id, e.revision`

export function rowsOf(path: string): readonly StoreRow[] {
  return reading(path, (db) => db.prepare<[], StoreRow>(ROWS).all())
}

export function servedRowsOf(path: string): readonly unknown[] {
  return reading(path, (db) => db.prepare(SERVED).raw().all())
}

function reading<T>(path: string, read: (db: Sqlite.Database) => T): T {
  const db = new Sqlite(path, { readonly: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}

export function tamper(path: string, change: (db: Sqlite.Database) => void): void {
  const db = new Sqlite(path)
  try {
    db.pragma('journal_mode = DELETE')
    db.pragma('synchronous = OFF')
    db.pragma('foreign_keys = OFF')
    const triggers = db
      .prepare<[], { name: string; sql: string }>(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`)
      .all()
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
    change(db)
    for (const { sql } of triggers) db.exec(sql)
  } finally {
    db.close()
  }
}

export function setColumn(path: string, position: number, column: string, value: unknown): void {
  tamper(path, (db) => db.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(value, position))
}
