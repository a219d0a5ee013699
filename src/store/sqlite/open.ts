/** @module The one file that knows the SQLite driver: connections, their settings, and the driver's error codes. */
import Sqlite from 'better-sqlite3'
import { nodeFault } from '../../resources/node-version.ts'
import { type StoreFault, StoreOpenError } from '../event-store.ts'

export type Database = Sqlite.Database

/** Before this version a WAL reset could corrupt the file. */
const OLDEST_SQLITE = [3, 51, 3] as const
/** What `PRAGMA synchronous` reads for FULL: every commit is synced. The driver is compiled with NORMAL for WAL. */
const SYNCHRONOUS_FULL = 2

/** Readers go through a file from end to end, or look at little of it: what they read again lies in the caches of the system. */
const READ_CACHE_KIB = 2_048

export interface OpenOptions {
  readonly path: string
  /** Most that the connection keeps of pages, in KiB. Default 16,000, as the driver is compiled. */
  readonly cacheKib?: number | undefined
  /** How long a statement waits for a lock that another connection holds. */
  readonly busyTimeoutMs: number
}

/** A connection that can write. Throws the driver's error where the file is missing. */
export function openDatabase({ path, busyTimeoutMs, cacheKib }: OpenOptions): Database {
  requireNodeVersion()
  const db = new Sqlite(path, { fileMustExist: path !== ':memory:', timeout: busyTimeoutMs })
  return configured(db, () => {
    requireSqliteVersion(db)
    if (cacheKib !== undefined) db.pragma(`cache_size = -${cacheKib}`)
  })
}

/** A connection that cannot write. Throws the driver's error where the file is missing or unreadable. */
export function openReadOnly({ path, busyTimeoutMs }: Omit<OpenOptions, 'cacheKib'>): Database {
  requireNodeVersion()
  const db = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs })
  return configured(db, () => {
    requireSqliteVersion(db)
    db.pragma('query_only = ON')
    db.pragma('trusted_schema = OFF')
    db.pragma(`cache_size = -${READ_CACHE_KIB}`)
    // The first look at the file: where it cannot be read, better now than later.
    db.pragma('schema_version')
  })
}

/** Turns on the log and full durability, and reads both back. Throws `store-unsupported` where the file system has no shared memory. */
export function makeDurable(db: Database): void {
  const journal = db.pragma('journal_mode = WAL', { simple: true })
  if (journal !== 'wal') {
    throw new StoreOpenError(
      'store-unsupported',
      `SQLite keeps the journal mode "${journal}" here, the store needs "wal"`,
    )
  }
  db.pragma('synchronous = FULL')
  if (db.pragma('synchronous', { simple: true }) !== SYNCHRONOUS_FULL) {
    throw new StoreOpenError('store-unsupported', 'SQLite refuses synchronous = FULL')
  }
  // The writer checkpoints by hand: SQLite's own checkpoint swallows a failed sync.
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('foreign_keys = ON')
  db.pragma('trusted_schema = OFF')
  db.pragma('cell_size_check = ON')
}

/** The driver's extended code, such as `SQLITE_IOERR_FSYNC`; undefined for an error that is not SQLite's. */
export function sqliteCode(error: unknown): string | undefined {
  return error instanceof Sqlite.SqliteError ? error.code : undefined
}

export function isSqliteCode(error: unknown, ...families: readonly string[]): boolean {
  const code = sqliteCode(error)
  return code !== undefined && families.some((family) => code === family || code.startsWith(`${family}_`))
}

const FAULTS: readonly (readonly [code: string, operation: string, errno: string])[] = [
  ['SQLITE_FULL', 'write', 'ENOSPC'],
  ['SQLITE_IOERR_FSYNC', 'fsync', 'EIO'],
  ['SQLITE_IOERR_DIR_FSYNC', 'fsync', 'EIO'],
  ['SQLITE_IOERR_WRITE', 'write', 'EIO'],
  ['SQLITE_IOERR_TRUNCATE', 'ftruncate', 'EIO'],
  ['SQLITE_IOERR_READ', 'read', 'EIO'],
  ['SQLITE_IOERR_SHORT_READ', 'read', 'EIO'],
  ['SQLITE_IOERR', 'io', 'EIO'],
  ['SQLITE_READONLY', 'write', 'EROFS'],
  ['SQLITE_CANTOPEN', 'open', 'EACCES'],
]

/** What of the medium failed, where the error says so; SQLite keeps the system's own number to itself. */
export function diskFault(error: unknown, file: string): StoreFault | undefined {
  const found = FAULTS.find(([family]) => isSqliteCode(error, family))
  if (found === undefined) return undefined
  const [family, operation, errno] = found
  return { file, operation, errno, code: sqliteCode(error) ?? family }
}

/** What an error of SQLite or the file system means to whoever wants to open the file at `path`. Others pass unchanged. */
export function asOpenError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const { code } = error
  if (sqliteCode(error) === undefined && !('syscall' in error)) return error

  const cause = { cause: error }
  if (isSqliteCode(error, 'SQLITE_NOTADB')) {
    return new StoreOpenError('store-unreadable', `${path} is not an SQLite file`, cause)
  }
  if (isSqliteCode(error, 'SQLITE_CORRUPT')) {
    return new StoreOpenError('store-corrupt', `${path} is damaged (${error.message}): restore a copy`, cause)
  }
  if (isSqliteCode(error, 'SQLITE_BUSY')) {
    return new StoreOpenError('store-locked', `another program holds a lock on ${path}`, cause)
  }
  if (isSqliteCode(error, 'SQLITE_CANTOPEN', 'SQLITE_READONLY')) {
    const hint =
      'this user may not use it, its log or its folder, or this process has too many files open (ulimit -n); from read-only media, copy it elsewhere first'
    return new StoreOpenError('store-unreadable', `${path} cannot be opened: ${hint}`, cause)
  }
  const advice = ADVICE.find(([codes]) => codes.test(String(code)))?.[1]
  return new StoreOpenError(
    'store-unreadable',
    `${path} cannot be opened: ${error.message} (${code}): ${advice}`,
    cause,
  )
}

/** By what failed; the last fits everything. */
const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [/^(ENOSPC|SQLITE_FULL|SQLITE_IOERR_(WRITE|SHMSIZE))$/, 'if the disk is full, make room and start again'],
  [/^(EMFILE|ENFILE)$/, 'raise the limit of open files (ulimit -n) and start again'],
  [/^(ENOENT|ENOTDIR)$/, 'name the folder that it lies in, or the file itself'],
  [/^(EACCES|EPERM)$/, 'let this user read and write it, and its folder'],
  [/./, 'look at the disk and the log of the system, then start again'],
]

/** The driver's binary ends an older process with a segmentation fault when it is first used. */
function requireNodeVersion(): void {
  const fault = nodeFault(process.versions.node)
  if (fault !== undefined) throw new StoreOpenError('store-unsupported', fault)
}

function requireSqliteVersion(db: Database): void {
  const version = String(db.prepare('SELECT sqlite_version()').pluck().get())
  const parts = version.split('.').map(Number)
  const differing = OLDEST_SQLITE.findIndex((part, index) => parts[index] !== part)
  if (differing < 0 || Number(parts[differing]) > Number(OLDEST_SQLITE[differing])) return
  throw new StoreOpenError(
    'store-unsupported',
    `SQLite ${version} can corrupt a store; ${OLDEST_SQLITE.join('.')} is the oldest allowed`,
  )
}

function configured(db: Database, configure: () => void): Database {
  try {
    configure()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
