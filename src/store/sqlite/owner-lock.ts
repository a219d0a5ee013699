/**
 * @module One process owns a store, and one a data folder: it holds an exclusive transaction on `<path>.lock`, a file of its own, because
 * Node has no flock. The lock goes with the process, however it ends. `<path>.owner` only tells others whom to ask.
 */

import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson } from '../../../schemas/json.ts'
import { StoreOpenError } from '../event-store.ts'
import { asOpenError, type Database, isSqliteCode, openDatabase } from './open.ts'
import { makeFile } from './store-path.ts'

export interface Owner {
  readonly pid: number
  /** Where the owner serves, once it does. */
  readonly url?: string
}

/** What is owned, as a refusal names it, and what the second process can do. */
interface Owned {
  readonly name: string
  readonly advice: string
}

/** Takes the store at `path` or throws `store-locked`, naming the file, the owner's process and its URL. */
export function takeOwnership(path: string): Disposable {
  return take(path, { name: `the store ${path}`, advice: 'stop that process, or connect to it instead' })
}

/**
 * Takes the data folder, which holds what follows a store: two processes that wrote there at once would ruin each other's log. Throws
 * `store-locked`, naming the folder, the owner's process and its URL.
 */
export function takeDataFolder(folder: string): Disposable {
  const advice =
    'give this process a folder of its own with --data (and the same keys with --keys), or stop that process, or connect to it instead'
  return take(dataFolderLock(folder), { name: `the data folder ${folder}`, advice })
}

/** The path that a data folder is locked and announced by. Symbolic links are followed, so that one folder has one lock. */
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
    // A journal in memory: this file is never written, nor does it leave another behind.
    db.pragma('journal_mode = MEMORY')
    db.exec('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db?.close()
    throw isSqliteCode(error, 'SQLITE_BUSY') ? lockedError(path, owned, error) : asOpenError(error, lockPath)
  }
}

/** Writes who owns the store or the data folder; call again with the URL when the server listens. */
export function announceOwner(path: string, url?: string): void {
  const owner: Owner = { pid: process.pid, ...(url === undefined ? {} : { url }) }
  writeFileSync(`${path}.owner`, `${JSON.stringify(owner)}\n`, { mode: 0o600 })
}

/** What the last owner wrote; undefined where that is missing or unreadable. It may be gone: only the lock tells. */
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
