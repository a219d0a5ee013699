/**
 * @module One process owns a store: it holds an exclusive transaction on `<store>.lock`, a file of its own, because Node has no flock.
 * The lock goes with the process, however it ends. `<store>.owner` only tells others whom to ask.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { StoreOpenError } from '../event-store.ts'
import { asOpenError, type Database, isSqliteCode, openDatabase } from './open.ts'
import { makeFile } from './store-path.ts'

export interface Owner {
  readonly pid: number
  /** Where the owner serves, once it does. */
  readonly url?: string
}

/** Takes the store at `path` or throws `store-locked`, naming the file, the owner's process and its URL. */
export function takeOwnership(path: string): Disposable {
  const db = lock(path)
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

function lock(path: string): Database {
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
    throw isSqliteCode(error, 'SQLITE_BUSY') ? lockedError(path, error) : asOpenError(error, lockPath)
  }
}

/** Writes who owns the store; call again with the URL when the server listens. */
export function announceOwner(path: string, url?: string): void {
  const owner: Owner = { pid: process.pid, ...(url === undefined ? {} : { url }) }
  writeFileSync(`${path}.owner`, `${JSON.stringify(owner)}\n`, { mode: 0o600 })
}

/** What the last owner wrote; undefined where that is missing or unreadable. It may be gone: only the lock tells. */
export function describeOwner(path: string): Owner | undefined {
  try {
    const owner: unknown = JSON.parse(readFileSync(`${path}.owner`, 'utf8'))
    if (typeof owner !== 'object' || owner === null) return undefined
    if (!('pid' in owner) || typeof owner.pid !== 'number') return undefined
    return 'url' in owner && typeof owner.url === 'string' ? { pid: owner.pid, url: owner.url } : { pid: owner.pid }
  } catch {
    return undefined
  }
}

function lockedError(path: string, cause: unknown): StoreOpenError {
  const owner = describeOwner(path)
  const who = owner === undefined ? 'another process' : `process ${owner.pid}`
  const where = owner?.url === undefined ? '' : ` (${owner.url})`
  const message = `the store ${path} is in use by ${who}${where}: stop that process, or ask it instead`
  return new StoreOpenError('store-locked', message, { cause })
}
