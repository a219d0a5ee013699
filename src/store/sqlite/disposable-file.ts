/**
 * @module A local file that may be lost at any time. It is fsynced at checkpoints only: a power failure may lose its last transactions, but does not
 * corrupt it. If damage is found nevertheless, at open or later, the file is deleted and rebuilt, and this is logged; it is never repaired.
 */
import { rmSync } from 'node:fs'
import { type DerivedFile, type DerivedFileOptions, DerivedFileRenewedError } from '../derived-file.ts'
import { StoreOpenError, StoreUnavailableError } from '../event-store.ts'
import { asOpenError, type Database, diskFault, isSqliteCode, openDatabase } from './open.ts'
import { REST_SUFFIX } from './rest-file.ts'
import type { RowSeal } from './row-seal.ts'
import { makeFile } from './store-path.ts'

export const BUSY_TIMEOUT_MS = 2_000
/**
 * Size to which the WAL is truncated after a checkpoint, if it grew during word merges or while a reader held an old snapshot: the note next to the file
 * requires reading the whole WAL.
 */
const LOG_LIMIT_BYTES = 8 * 1024 * 1024
/** An unreadable disk sector counts as damage too: the rebuilt file is written to other sectors. */
const DAMAGE = [
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_IOERR_SHORT_READ',
  'SQLITE_IOERR_READ',
  'SQLITE_IOERR_CORRUPTFS',
]
/** A connection that was opened when the limit of open files was reached may have the file or its WAL read-only for as long as it is open. */
const HALF_OPEN = ['SQLITE_READONLY', 'SQLITE_CANTOPEN']
/** Retry delay for a caller if the medium refuses access, in milliseconds. */
export const AGAIN_MS = 1_000
/** Page cache for a file that is read row by row: more pages of a large file would only use memory, and the operating system caches them too. */
export const ROW_CACHE_KIB = 2_048
const OTHER_TABLES = 'its tables are of another version'
/** The main file comes first: SQLite deletes a WAL next to an empty file, but would replay it into an older one. */
const SUFFIXES = ['', '-wal', '-shm', '-journal', REST_SUFFIX]

/** The object that provides the operations on such a file. `seal` authenticates its rows if there are keys for it. */
export interface OverFile {
  readonly seal: RowSeal | undefined
}

export interface DisposableKind<T extends OverFile> {
  /** Statements that create the tables of an empty file. A file with a different schema is rebuilt. */
  readonly schema: string
  /** Creates the object that reads and writes through one connection, for as long as it is open. */
  readonly over: (db: Database) => T
  /** See `OpenOptions`. */
  readonly cacheKib?: number
}

/**
 * Returns the object made by `over`, with every call guarded: if the file turns out to be damaged it is rebuilt and the call throws
 * `DerivedFileRenewedError`. Throws `StoreOpenError` if the file cannot be created.
 */
export function openDisposable<T extends OverFile>(
  options: DerivedFileOptions,
  kind: DisposableKind<T>,
): T & DerivedFile {
  const file = new DisposableFile(options, kind)
  return new Proxy({} as T & DerivedFile, { get: (_, name) => file.member(name) })
}

class DisposableFile<T extends OverFile> implements DerivedFile {
  readonly #options: DerivedFileOptions
  readonly #kind: DisposableKind<T>
  readonly #listeners = new Set<() => void>()
  #db: Database
  #over: T
  /** Reason of the current rebuild, from the removal of the old file until the new one exists. */
  #underRenewal: string | undefined
  #isDisposed = false

  constructor(options: DerivedFileOptions, kind: DisposableKind<T>) {
    this.#options = options
    this.#kind = kind
    const { db, over, renewed } = this.#open()
    this.#db = db
    this.#over = over
    if (renewed !== undefined) this.#tell(renewed)
  }

  /** A member of the object over the file, or of the file itself. */
  member(name: string | symbol): unknown {
    if (name === 'renew') return this.renew.bind(this)
    if (name === 'onRenewed') return this.onRenewed.bind(this)
    if (name === Symbol.dispose) return this[Symbol.dispose].bind(this)
    const value: unknown = Reflect.get(this.#over, name)
    return typeof value === 'function' ? (...args: unknown[]) => this.#guarded(name, args) : value
  }

  /** Throws `StoreOpenError` if the file cannot be created: the next call tries again. */
  renew(reason: string): void {
    this.#db.close()
    this.#underRenewal = reason
    this.#remove()
    this.#reopen()
  }

  onRenewed(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    const left = this.#db.open ? this.#over.seal?.leave() : undefined
    this.#db.close()
    left?.()
  }

  /** Opens the closed file, or creates it if it is missing; returns the reason in that case. Throws `StoreOpenError`. */
  #reopen(): string | undefined {
    const { db, over, renewed = this.#underRenewal } = this.#open()
    this.#db = db
    this.#over = over
    this.#underRenewal = undefined
    if (renewed === undefined) return undefined
    this.#tell(renewed)
    for (const listener of [...this.#listeners]) listener()
    return renewed
  }

  #guarded(name: string | symbol, args: readonly unknown[]): unknown {
    try {
      // The file was closed because the connection was unusable, and could not be reopened since.
      const reason = this.#db.open || this.#isDisposed ? undefined : this.#reopen()
      if (reason !== undefined) throw new DerivedFileRenewedError({ file: this.#options.path, reason })
      // Resolved at call time: the file may have been rebuilt since the member was read.
      const done: unknown = Reflect.apply(Reflect.get(this.#over, name) as () => unknown, this.#over, args)
      return done instanceof Promise ? done.catch((error: unknown) => this.#renewIfDamaged(error)) : done
    } catch (error) {
      return this.#renewIfDamaged(error)
    }
  }

  #renewIfDamaged(error: unknown): never {
    const { path } = this.#options
    if (isHalfOpen(error) && path !== ':memory:') this.#db.close()
    if (!isDamage(error)) throw asUnavailable(error, path)
    const reason = String(error)
    try {
      this.renew(reason)
    } catch (failure) {
      throw asUnavailable(failure, path)
    }
    throw new DerivedFileRenewedError({ file: path, reason })
  }

  #open(): { readonly db: Database; readonly over: T; readonly renewed?: string } {
    try {
      return this.#openOrRemake()
    } catch (error) {
      const cause = asOpenError(error, this.#options.path)
      if (!(cause instanceof StoreOpenError)) throw cause
      // The file holds nothing unique: an operator who cannot fix the cause may delete it.
      const message = `${cause.message} (the file may be deleted: it is rebuilt from the store)`
      throw new StoreOpenError(cause.code, message, { cause: error })
    }
  }

  #openOrRemake(): { readonly db: Database; readonly over: T; readonly renewed?: string } {
    const { path } = this.#options
    let renewed = OTHER_TABLES
    try {
      const opened = openWith(path, this.#kind)
      if (opened !== undefined) return opened
    } catch (error) {
      if (!isDamage(error)) throw error
      renewed = String(error)
    }
    this.#remove()
    const opened = openWith(path, this.#kind)
    if (opened === undefined) throw new Error(`${path} cannot be rebuilt: another program writes to it`)
    return { ...opened, renewed }
  }

  #remove(): void {
    const { path } = this.#options
    if (path !== ':memory:') for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true })
  }

  #tell(reason: string): void {
    this.#options.onRenewed?.({ file: this.#options.path, reason })
  }
}

/** Undefined if the file has other tables than these. */
function openWith<T extends OverFile>(
  path: string,
  { schema, over, cacheKib }: DisposableKind<T>,
): { db: Database; over: T } | undefined {
  if (path !== ':memory:') makeFile(path)
  const db = openDatabase({ path, busyTimeoutMs: BUSY_TIMEOUT_MS, cacheKib })
  try {
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = NORMAL')
    db.pragma(`journal_size_limit = ${LOG_LIMIT_BYTES}`)
    db.pragma('trusted_schema = OFF')
    db.pragma('cell_size_check = ON')
    const expected = schemaText(schema)
    const prepare = db.transaction(() => {
      if (readSchema(db) === EMPTY_SCHEMA) db.exec(schema)
      return readSchema(db) === expected
    })
    if (prepare.immediate()) return { db, over: over(db) }
    db.close()
    return undefined
  } catch (error) {
    db.close()
    throw error
  }
}

const EMPTY_SCHEMA = '[]'
const schemaTexts = new Map<string, string>()

/** The schema as SQLite reports it: an additional trigger or view makes it a different schema. */
export function schemaText(schema: string): string {
  const known = schemaTexts.get(schema)
  if (known !== undefined) return known
  const db = openDatabase({ path: ':memory:', busyTimeoutMs: 0 })
  try {
    db.exec(schema)
    const text = readSchema(db)
    schemaTexts.set(schema, text)
    return text
  } finally {
    db.close()
  }
}

export function readSchema(db: Database): string {
  return JSON.stringify(db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all())
}

export function isDamage(error: unknown): boolean {
  return isSqliteCode(error, ...DAMAGE)
}

/** The connection can no longer be used, but a new one may work. */
export function isHalfOpen(error: unknown): boolean {
  return isSqliteCode(error, ...HALF_OPEN)
}

/** A refusal of the medium may be temporary, so it becomes `StoreUnavailableError`; other errors pass unchanged. */
export function asUnavailable(error: unknown, path: string): unknown {
  if (error instanceof StoreOpenError) return new StoreUnavailableError(error.message, AGAIN_MS)
  const fault = diskFault(error, path)
  if (fault === undefined) return error
  const { operation, errno, code } = fault
  return new StoreUnavailableError(`${path}: ${operation} failed (${errno}, ${code}): look at the disk`, AGAIN_MS)
}
