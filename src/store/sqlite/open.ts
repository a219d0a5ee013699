/** @module The only module that uses the SQLite driver: connections, their settings, and the driver's error codes. */
import Sqlite from 'better-sqlite3'
import { nodeFault } from '../../resources/node-version.ts'
import { type StoreFault, StoreOpenError } from '../event-store.ts'

export type Database = Sqlite.Database

/** Older versions have a bug in which a WAL reset can corrupt the file. */
const OLDEST_SQLITE = [3, 51, 3] as const
/** The value of `PRAGMA synchronous` for FULL: every commit is fsynced. The driver is compiled with NORMAL as the default for WAL. */
const SYNCHRONOUS_FULL = 2

/**
 * Page cache of read-only connections, in KiB. Small, because readers either scan a whole file or read little of it; repeated reads hit the page cache of
 * the operating system.
 */
const READ_CACHE_KIB = 2_048

export interface OpenOptions {
  readonly path: string
  /** Maximum size of the connection's page cache, in KiB. Default 16,000, as the driver is compiled. */
  readonly cacheKib?: number | undefined
  /** Maximum time in milliseconds that a statement waits for a lock held by another connection. */
  readonly busyTimeoutMs: number
}

/** Opens a connection that can write. Throws the driver's error if the file does not exist. */
export function openDatabase({ path, busyTimeoutMs, cacheKib }: OpenOptions): Database {
  requireNodeVersion()
  const db = new Sqlite(path, { fileMustExist: path !== ':memory:', timeout: busyTimeoutMs })
  return configured(db, () => {
    requireSqliteVersion(db)
    if (cacheKib !== undefined) db.pragma(`cache_size = -${cacheKib}`)
  })
}

/** Opens a connection that cannot write. Throws the driver's error if the file does not exist or is unreadable. */
export function openReadOnly({ path, busyTimeoutMs }: Omit<OpenOptions, 'cacheKib'>): Database {
  requireNodeVersion()
  const db = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs })
  return configured(db, () => {
    requireSqliteVersion(db)
    db.pragma('query_only = ON')
    db.pragma('trusted_schema = OFF')
    db.pragma(`cache_size = -${READ_CACHE_KIB}`)
    // The first access to the file: an unreadable file must fail here, not later.
    db.pragma('schema_version')
  })
}

/** Enables WAL and full durability, and verifies both settings. Throws `store-unsupported` if the file system does not support shared memory. */
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
  // The writer runs checkpoints explicitly: SQLite's automatic checkpoint hides a failed fsync.
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('foreign_keys = ON')
  db.pragma('trusted_schema = OFF')
  db.pragma('cell_size_check = ON')
}

/** The driver's extended error code, such as `SQLITE_IOERR_FSYNC`; undefined for an error that is not from SQLite. */
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

/** The fault of the medium that an error reports, if any. `errno` is inferred from the SQLite code, because SQLite does not expose the system's errno. */
export function diskFault(error: unknown, file: string): StoreFault | undefined {
  const found = FAULTS.find(([family]) => isSqliteCode(error, family))
  if (found === undefined) return undefined
  const [family, operation, errno] = found
  return { file, operation, errno, code: sqliteCode(error) ?? family }
}

/** Converts an error of SQLite or the file system, raised while opening the file at `path`, to a `StoreOpenError`. Other errors are returned unchanged. */
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

/** Advice by error code; the last pattern matches every code. */
const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [/^(ENOSPC|SQLITE_FULL|SQLITE_IOERR_(WRITE|SHMSIZE))$/, 'if the disk is full, make room and start again'],
  [/^(EMFILE|ENFILE)$/, 'raise the limit of open files (ulimit -n) and start again'],
  [/^(ENOENT|ENOTDIR)$/, 'name the folder that it lies in, or the file itself'],
  [/^(EACCES|EPERM)$/, 'let this user read and write it, and its folder'],
  [/./, 'look at the disk and the log of the system, then start again'],
]

/** On an older Node version the driver's binary crashes with a segmentation fault on first use. */
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
