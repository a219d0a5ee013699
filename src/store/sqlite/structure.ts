/** @module Structural faults that SQLite itself finds in a store file: an index that hides a row, rows out of order, pages shared by two trees. */
import type { Database } from './open.ts'

const FAULTS_MAX = 20

/** Reads all rows once, for both indexes. */
const COUNTS = `SELECT rows, (SELECT count(*) FROM events INDEXED BY sqlite_autoindex_events_1),
    requests, (SELECT count(*) FROM events INDEXED BY events_request WHERE request IS NOT NULL)
  FROM (SELECT count(*) AS rows, count(request) AS requests FROM events NOT INDEXED)`

/** `thorough` compares every entry of every index with its row, otherwise only their counts. Never throws: an unreadable page is reported as a fault. */
export function structureFaults(db: Database, thorough: boolean): readonly string[] {
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
