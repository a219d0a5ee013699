/** @module Opens the writing connection, checks the end of the history, and settles what an unclean shutdown left in the WAL. */
import { accessSync, constants, existsSync } from 'node:fs'
import { StoreOpenError } from '../event-store.ts'
import { type Database, isSqliteCode, makeDurable, openDatabase } from './open.ts'
import { checkSchema, prepareSchema } from './schema.ts'

/** How long a writer waits for another program's lock on the store file before it answers `unavailable`. */
const BUSY_TIMEOUT_MS = 250
/** Number of most recent events that are checked before the first append. */
const TAIL_EVENTS = 256

interface TailRow {
  readonly position: number
  readonly stream: number
  readonly revision: number
  readonly name: string | null
  readonly header: string
  readonly indexed: number | null
  readonly before: number | null
}

/** The connection may be used for writing only after `settleLog`. Throws `StoreOpenError`, or the driver's error. */
export function openWriter(path: string): Database {
  mustBeWritable(path)
  const db = openDatabase({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
  try {
    // Checked before anything is written, so that a file of another program stays unchanged.
    checkSchema(db, path)
    makeDurable(db)
    prepareSchema(db, path)
    checkTail(db, path)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** SQLite opens a file that this user may only read, and then refuses the first append. Throws the error of the system call. */
function mustBeWritable(path: string): void {
  for (const file of [path, `${path}-wal`]) if (existsSync(file)) accessSync(file, constants.W_OK)
}

/**
 * After a failed fsync the WAL may hold frames that are readable but not on the disk. A checkpoint writes and fsyncs them again, and an empty WAL cannot
 * restore an append that was found absent: from then on the answer to "was it written?" is final. False if the disk is too full for it: reads may
 * continue, appends must wait. Throws if a reader blocks the checkpoint.
 */
export function settleLog(db: Database): boolean {
  try {
    const [state] = db.pragma('wal_checkpoint(TRUNCATE)') as { readonly busy: number }[]
    if (state?.busy === 0) return true
  } catch (error) {
    if (isSqliteCode(error, 'SQLITE_FULL')) return false
    throw error
  }
  throw new StoreOpenError('store-locked', 'a reader keeps the log of the store from being settled')
}

/**
 * Checks that the last events are readable, are in place in both b-trees, and do not lie before the event that they follow. An event whose predecessor is
 * gone is a loss, which the logs name (STR-50). Costs the same for a whole store of any size.
 */
function checkTail(db: Database, path: string): void {
  const rows = db.prepare<[number], TailRow>(
    `SELECT e.position, e.stream_id AS stream, e.revision, s.name, e.header || e.data AS header,
       (SELECT i.position FROM events i WHERE i.stream_id = e.stream_id AND i.revision = e.revision) AS indexed,
       (SELECT p.position FROM events p WHERE p.stream_id = e.stream_id AND p.revision = e.revision - 1) AS before
     FROM events e LEFT JOIN streams s ON s.id = e.stream_id ORDER BY e.position DESC LIMIT ?`,
  )
  for (const row of rows.iterate(TAIL_EVENTS)) {
    const inPlace = row.indexed === row.position && row.name !== null && row.header !== ''
    const isGap = row.revision > 0 && row.before === null && row.header.includes(`"revision":${row.revision},`)
    const isAfter = row.before !== null && row.before < row.position
    const follows = row.revision === 0 ? row.before === null : isGap || isAfter
    if (inPlace && follows && !(isGap && isHidden(db, row))) continue
    throw new StoreOpenError('store-corrupt', `${path} is damaged at position ${row.position}: restore a copy`)
  }
}

/** Whether the event before this one in its stream is there, and only the index lacks it. Reads every row. */
function isHidden(db: Database, { stream, revision }: TailRow): boolean {
  const hidden = db.prepare<[number, number]>(
    'SELECT 1 FROM events NOT INDEXED WHERE stream_id = ? AND revision = ? LIMIT 1',
  )
  return hidden.get(stream, revision - 1) !== undefined
}
