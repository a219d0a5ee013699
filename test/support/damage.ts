/** @module Pages of an SQLite file, overwritten as a torn write leaves them: the file opens, and is found damaged by whoever reads that table. */
import { closeSync, openSync, writeSync } from 'node:fs'
import Sqlite from 'better-sqlite3'

/** Overwrites the root page of a table or index. The file must be closed, its log empty. */
export function tearTable(path: string, name: string): void {
  const db = new Sqlite(path)
  const root = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name)
  const pageBytes = Number(db.pragma('page_size', { simple: true }))
  db.close()
  if (typeof root !== 'number') throw new Error(`${path} has no ${name}`)
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (root - 1) * pageBytes)
  closeSync(file)
}
