/** @module A local file that may be lost at any time: not synced, and made anew where it cannot be read. */
import { rmSync } from 'node:fs'
import { type Database, isSqliteCode, openDatabase } from './open.ts'
import { makeFile } from './store-path.ts'

const BUSY_TIMEOUT_MS = 2_000

/** `path` may be `:memory:`. `prepare` makes the tables. Throws the driver's error where the file cannot be made. */
export function openDisposable(path: string, prepare: (db: Database) => void): Database {
  try {
    return open(path, prepare)
  } catch (error) {
    if (!isSqliteCode(error, 'SQLITE_CORRUPT', 'SQLITE_NOTADB')) throw error
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true })
    return open(path, prepare)
  }
}

function open(path: string, prepare: (db: Database) => void): Database {
  if (path !== ':memory:') makeFile(path)
  const db = openDatabase({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
  try {
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = OFF')
    prepare(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
