/** @module Opens the writing connection and checks the end of the history; settles what an unclean end left in the log. */
import { accessSync, constants, existsSync } from 'node:fs'
import { StoreOpenError } from '../event-store.ts'
import { type Database, isSqliteCode, makeDurable, openDatabase } from './open.ts'
import { checkSchema, prepareSchema } from './schema.ts'

/** A writer waits this long for a foreign lock on the store file before it answers `unavailable`. */
const BUSY_TIMEOUT_MS = 250
/** Last events looked at before the first append. */
const TAIL_EVENTS = 256

interface TailRow {
  readonly position: number
  readonly revision: number
  readonly name: string | null
  readonly header: string
  readonly indexed: number | null
  readonly before: number | null
}

/** The connection is fit for writing after `settleLog`. Throws `StoreOpenError`, or the driver's error. */
export function openWriter(path: string): Database {
  mustBeWritable(path)
  const db = openDatabase({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
  try {
    // Before anything is written: a file of another program stays as it is.
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

/** A file that this user may only read opens all the same, and SQLite refuses the first append. Throws the system's error. */
function mustBeWritable(path: string): void {
  for (const file of [path, `${path}-wal`]) if (existsSync(file)) accessSync(file, constants.W_OK)
}

/**
 * After a failed sync the log may hold frames that read well and are not on the disk. Copying them into the file writes and syncs
 * them again, and an empty log cannot bring back what was found absent: from here on the answer to "was it written?" stands.
 * False on a disk that is too full to do it: reads may go on, appends must wait. Throws where a reader stands in the way.
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

/** The last events are readable, in place in both b-trees, and each stands after the one before it. Costs the same in any store. */
function checkTail(db: Database, path: string): void {
  const rows = db.prepare<[number], TailRow>(
    `SELECT e.position, e.revision, s.name, e.header || e.data AS header,
       (SELECT i.position FROM events i WHERE i.stream_id = e.stream_id AND i.revision = e.revision) AS indexed,
       (SELECT p.position FROM events p WHERE p.stream_id = e.stream_id AND p.revision = e.revision - 1) AS before
     FROM events e LEFT JOIN streams s ON s.id = e.stream_id ORDER BY e.position DESC LIMIT ?`,
  )
  for (const row of rows.iterate(TAIL_EVENTS)) {
    const inPlace = row.indexed === row.position && row.name !== null && row.header !== ''
    const follows = row.revision === 0 ? row.before === null : row.before !== null && row.before < row.position
    if (inPlace && follows) continue
    throw new StoreOpenError('store-corrupt', `${path} is damaged at position ${row.position}: restore a copy`)
  }
}
