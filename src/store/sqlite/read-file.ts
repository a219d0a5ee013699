/** @module The files that follow the store, read beside the one who writes them: as one snapshot, or as a new one for each reading. */
import { BUSY_TIMEOUT_MS, type DisposableKind, type OverFile, readSchema, schemaText } from './disposable-file.ts'
import { type Database, openReadOnly } from './open.ts'

const ALL_PAGES = 2 ** 31 - 1

/** A file that is another's to write, as it was when it was opened. */
export interface ReadFile<T> extends Disposable {
  readonly over: T
  /**
   * Once it was found authentic: as it was then. Others have their turn after each so many pages; by default it is done in one go. Throws
   * the driver's error where the copy cannot be written.
   */
  copyTo(path: string, pagesAtOnce?: number): Promise<void>
}

/** For reading alone, beside whoever writes it. Undefined where it is missing, damaged, of another version, or cannot be opened. */
export function openForReading<T extends OverFile>(path: string, kind: DisposableKind<T>): ReadFile<T> | undefined {
  const opened = openedForReading(path, kind)
  return opened && readFile(opened.db, opened.over)
}

/** One snapshot from the opening on, whatever its owner writes meanwhile. */
function openedForReading<T extends OverFile>(
  path: string,
  { schema, over }: DisposableKind<T>,
): { readonly db: Database; readonly over: T } | undefined {
  let db: Database | undefined
  try {
    db = openReadOnly({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
    db.exec('BEGIN')
    if (readSchema(db) === schemaText(schema)) return { db, over: over(db) }
    db.close()
  } catch {
    db?.close()
  }
  return undefined
}

/** A connection that sees a snapshot of another's file for each reading, and holds none in between. */
export interface SnapshotFile<T> extends Disposable {
  /** Undefined, and nothing read, where `isStill` says no once the snapshot is there. One at a time. */
  read<R>(isStill: () => boolean, work: (over: T) => Promise<R>): Promise<{ readonly value: R } | undefined>
}

/** Undefined where the file is missing, damaged, of another version, or cannot be opened. */
export function openForSnapshots<T extends OverFile>(
  path: string,
  kind: DisposableKind<T>,
): SnapshotFile<T> | undefined {
  const opened = openedForReading(path, kind)
  if (opened === undefined) return undefined
  const { db, over } = opened
  db.exec('COMMIT')
  return {
    read: async (isStill, work) => {
      db.exec('BEGIN')
      try {
        // A snapshot begins with the first look.
        db.pragma('schema_version')
        return isStill() ? { value: await work(over) } : undefined
      } finally {
        db.exec('COMMIT')
      }
    },
    [Symbol.dispose]: () => db.close(),
  }
}

function readFile<T extends OverFile>(db: Database, over: T): ReadFile<T> {
  return {
    over,
    copyTo: async (path, pagesAtOnce = ALL_PAGES) => {
      await db.backup(path, { progress: () => pagesAtOnce })
      over.seal?.noteCopy(path)
    },
    [Symbol.dispose]: () => db.close(),
  }
}
