/** @module Opens files that follow the store for reading concurrently with their writer: as one snapshot, or with a new snapshot for each read. */
import { BUSY_TIMEOUT_MS, type DisposableKind, type OverFile, readSchema, schemaText } from './disposable-file.ts'
import { type Database, openReadOnly } from './open.ts'

const ALL_PAGES = 2 ** 31 - 1

/** A snapshot of a file that another process writes, taken when the file was opened. */
export interface ReadFile<T> extends Disposable {
  readonly over: T
  /**
   * Copies the snapshot to `path`, once it was found authentic. Yields to other work after every `pagesAtOnce` pages; by default the copy runs in one go.
   * Throws the driver's error if the copy cannot be written.
   */
  copyTo(path: string, pagesAtOnce?: number): Promise<void>
}

/** Opens a file read-only, concurrently with its writer. Undefined if it is missing, damaged, of another version, or cannot be opened. */
export function openForReading<T extends OverFile>(path: string, kind: DisposableKind<T>): ReadFile<T> | undefined {
  const opened = openedForReading(path, kind)
  return opened && readFile(opened.db, opened.over)
}

/** Holds one snapshot from the opening on, whatever the owner writes meanwhile. */
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

/** A connection that takes a snapshot of the file for each read, and holds none in between. */
export interface SnapshotFile<T> extends Disposable {
  /** Undefined, without calling `work`, if `isStill` returns false once the snapshot exists. One read at a time. */
  read<R>(isStill: () => boolean, work: (over: T) => Promise<R>): Promise<{ readonly value: R } | undefined>
}

/** Undefined if the file is missing, damaged, of another version, or cannot be opened. */
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
        // A snapshot begins with the first read.
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
