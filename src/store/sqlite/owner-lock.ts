/**
 * @module Ensures that a store and a data folder are each owned by one process: the owner holds an exclusive transaction on a separate file `<path>.lock`,
 * because Node has no flock. The lock is released when the process ends, in any way. `<path>.owner` only tells other processes who the owner is.
 */

import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson } from '../../../schemas/json.ts'
import { StoreOpenError } from '../event-store.ts'
import { asOpenError, type Database, isSqliteCode, openDatabase } from './open.ts'
import { makeFile } from './store-path.ts'

export interface Owner {
  readonly pid: number
  /** URL at which the owner serves, once it does. */
  readonly url?: string
}

/** The owned resource as named in a refusal, and advice for the second process. */
interface Owned {
  readonly name: string
  readonly advice: string
}

/** Takes ownership of the store at `path`, or throws `store-locked`, naming the file, the owner's process and its URL. */
export function takeOwnership(path: string): Disposable {
  return take(path, { name: `the store ${path}`, advice: 'stop that process, or connect to it instead' })
}

/**
 * Takes ownership of the data folder, which holds the files that follow a store: two processes that write there at once would corrupt each other's log.
 * Throws `store-locked`, naming the folder, the owner's process and its URL.
 */
export function takeDataFolder(folder: string): Disposable {
  const advice =
    'give this process a folder of its own with --data (and the same keys with --keys), or stop that process, or connect to it instead'
  return take(dataFolderLock(folder), { name: `the data folder ${folder}`, advice })
}

/** The path used for the lock and owner files of a data folder. Symbolic links are resolved, so that one folder has one lock. */
export function dataFolderLock(folder: string): string {
  return join(realpathSync(folder), 'data')
}

function take(path: string, owned: Owned): Disposable {
  const db = lock(path, owned)
  try {
    announceOwner(path)
  } catch (error) {
    db.close()
    throw asOpenError(error, path)
  }
  return {
    [Symbol.dispose]() {
      rmSync(`${path}.owner`, { force: true })
      db.close()
    },
  }
}

function lock(path: string, owned: Owned): Database {
  const lockPath = `${path}.lock`
  let db: Database | undefined
  try {
    makeFile(lockPath)
    db = openDatabase({ path: lockPath, busyTimeoutMs: 0 })
    // The journal is in memory: this file is never written, and no journal file is left behind.
    db.pragma('journal_mode = MEMORY')
    db.exec('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db?.close()
    throw isSqliteCode(error, 'SQLITE_BUSY') ? lockedError(path, owned, error) : asOpenError(error, lockPath)
  }
}

/** Writes who owns the store or the data folder; call it again with the URL when the server listens. */
export function announceOwner(path: string, url?: string): void {
  const owner: Owner = { pid: process.pid, ...(url === undefined ? {} : { url }) }
  writeFileSync(`${path}.owner`, `${JSON.stringify(owner)}\n`, { mode: 0o600 })
}

/** The owner as last written; undefined if the file is missing or unreadable. The process may have ended: only the lock is authoritative. */
export function describeOwner(path: string): Owner | undefined {
  try {
    const owner: unknown = parseJson(readFileSync(`${path}.owner`, 'utf8'))
    if (typeof owner !== 'object' || owner === null) return undefined
    if (!('pid' in owner) || typeof owner.pid !== 'number') return undefined
    return 'url' in owner && typeof owner.url === 'string' ? { pid: owner.pid, url: owner.url } : { pid: owner.pid }
  } catch {
    return undefined
  }
}

function lockedError(path: string, { name, advice }: Owned, cause: unknown): StoreOpenError {
  const owner = describeOwner(path)
  const holder = owner === undefined ? 'another process' : `process ${owner.pid}`
  const where = owner?.url === undefined ? '' : ` (${owner.url})`
  const message = `${name} is in use by ${holder}${where}: ${advice}`
  return new StoreOpenError('store-locked', message, { cause })
}
