/** @module Reads the rows of sealed tables as texts, over which a seal is computed. */
import type { Database } from './open.ts'

const ROWS_AT_ONCE = 2_000

export interface SealedTable {
  readonly name: string
  readonly columns: readonly string[]
}

export interface TextRow {
  readonly number: number
  readonly text: string
}

type Statement = { readonly all: (...values: readonly unknown[]) => readonly TextRow[] }

const prepared = (db: Database, sql: string): Statement => db.prepare<unknown[], TextRow>(sql)

export interface Statements {
  readonly first: Statement
  readonly after: Statement
  readonly at: Statement
  readonly between: Statement
}

export function statementsOf(db: Database, { name, columns }: SealedTable): Statements {
  const text = `json_array(rowid, ${columns.map((column) => `CASE typeof(${column}) WHEN 'blob' THEN hex(${column}) ELSE ${column} END`).join(', ')})`
  const rows = `SELECT rowid AS number, ${text} AS text FROM ${name} NOT INDEXED`
  return {
    first: prepared(db, `${rows} ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`),
    after: prepared(db, `${rows} WHERE rowid > ? ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`),
    at: prepared(db, `${rows} WHERE rowid = ?`),
    between: prepared(db, `${rows} WHERE rowid BETWEEN ? AND ?`),
  }
}
