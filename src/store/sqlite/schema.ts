/**
 * @module The tables of the event store, and the triggers that keep them append-only. The file carries an application id and a version; its schema must be
 * exactly as written here, so that a dropped trigger is detected at the next start.
 */
import { StoreOpenError } from '../event-store.ts'
import type { Database } from './open.ts'

/** "CSGN": identifies the file for `file(1)` and for this program. */
const APPLICATION_ID = 0x4353474e
/** Version 1 has no table `head`. */
const SCHEMA_VERSION = 2

/** Dropped and made again, within one transaction, where bodies are moved to an archive. */
export const EVENTS_UPDATE = `CREATE TRIGGER events_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'append-only: no update'); END`

/**
 * Columns that repeat a header field: `streams.name`, `revision`, `request` (the header's `request.id`). A verifier compares each. INSERT OR REPLACE
 * deletes rows without firing delete triggers, depending on a setting of the connection; hence the checks before each insert: positions only grow, and
 * each revision follows the one before it.
 */
const EVENT_STATEMENTS = [
  `CREATE TABLE streams (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT`,
  `CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  stream_id INTEGER NOT NULL REFERENCES streams (id),
  revision INTEGER NOT NULL CHECK (revision >= 0),
  header TEXT NOT NULL,
  salt BLOB NOT NULL,
  data TEXT NOT NULL,
  request TEXT,
  UNIQUE (stream_id, revision)
) STRICT`,
  `CREATE UNIQUE INDEX events_request ON events (stream_id, request) WHERE request IS NOT NULL`,
  `CREATE TRIGGER streams_insert BEFORE INSERT ON streams
WHEN EXISTS (SELECT 1 FROM streams WHERE id = NEW.id OR name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'append-only: the stream exists'); END`,
  `CREATE TRIGGER streams_update BEFORE UPDATE ON streams
BEGIN SELECT RAISE(ABORT, 'append-only: no update'); END`,
  `CREATE TRIGGER streams_delete BEFORE DELETE ON streams
BEGIN SELECT RAISE(ABORT, 'append-only: no delete'); END`,
  `CREATE TRIGGER events_insert BEFORE INSERT ON events
WHEN NEW.position <= (SELECT max(position) FROM events)
  OR NEW.revision <> (SELECT ifnull(max(revision), -1) + 1 FROM events WHERE stream_id = NEW.stream_id)
  OR NEW.request IS NOT NULL AND EXISTS (SELECT 1 FROM events WHERE stream_id = NEW.stream_id AND request = NEW.request)
BEGIN SELECT RAISE(ABORT, 'append-only: the position, the revision or the request is taken'); END`,
  EVENTS_UPDATE,
  `CREATE TRIGGER events_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'append-only: no delete'); END`,
]

/** Position at which the last append ended, written in the same transaction: events missing from the end of the file are detected by it. */
const HEAD_STATEMENTS = [
  `CREATE TABLE head (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  position INTEGER NOT NULL
) STRICT`,
  `CREATE TRIGGER head_insert BEFORE INSERT ON head
WHEN EXISTS (SELECT 1 FROM head)
BEGIN SELECT RAISE(ABORT, 'append-only: the head exists'); END`,
  `CREATE TRIGGER head_update BEFORE UPDATE ON head
WHEN NEW.position <= OLD.position
BEGIN SELECT RAISE(ABORT, 'append-only: the head only grows'); END`,
  `CREATE TRIGGER head_delete BEFORE DELETE ON head
BEGIN SELECT RAISE(ABORT, 'append-only: no delete'); END`,
]

const STATEMENTS: Readonly<Record<number, readonly string[]>> = {
  1: EVENT_STATEMENTS,
  [SCHEMA_VERSION]: [...EVENT_STATEMENTS, ...HEAD_STATEMENTS],
}

/** True for an empty file. Throws `StoreOpenError` for a file of another program, a newer version, or an altered schema. */
export function checkSchema(db: Database, path: string): boolean {
  const applicationId = db.pragma('application_id', { simple: true })
  const version = Number(db.pragma('user_version', { simple: true }))
  const found = db.prepare(
    `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
  )
  const texts = new Set(found.pluck().all())
  if (applicationId === 0 && version === 0 && texts.size === 0) return true

  if (applicationId !== APPLICATION_ID) {
    throw new StoreOpenError('store-unreadable', `${path} is an SQLite file of another program`)
  }
  if (version > SCHEMA_VERSION) {
    throw new StoreOpenError(
      'store-newer',
      `${path} has schema version ${version}, this build reads up to ${SCHEMA_VERSION}: update it`,
    )
  }
  const statements = STATEMENTS[version] ?? []
  if (texts.size !== statements.length || !statements.every((statement) => texts.has(statement))) {
    throw new StoreOpenError('store-corrupt', `the tables or triggers of ${path} were altered: restore a copy`)
  }
  return false
}

/** Creates the schema in an empty file, or migrates that of an earlier version, in one transaction; checks it in all other files. */
export function prepareSchema(db: Database, path: string): void {
  const prepare = db.transaction(() => {
    const isEmpty = checkSchema(db, path)
    if (!isEmpty && db.pragma('user_version', { simple: true }) === SCHEMA_VERSION) return
    for (const statement of isEmpty ? [...EVENT_STATEMENTS, ...HEAD_STATEMENTS] : HEAD_STATEMENTS) db.exec(statement)
    db.exec('INSERT INTO head (one, position) SELECT 1, ifnull(max(position), 0) FROM events')
    db.pragma(`application_id = ${APPLICATION_ID}`)
    db.pragma(`user_version = ${SCHEMA_VERSION}`)
  })
  prepare.immediate()
}

/** The recorded end of the file, and its actual last position. `recorded` is undefined in a store of an earlier version. */
export interface FileEnds {
  readonly recorded: number | undefined
  readonly last: number
}

/** Returns a function that reads both ends atomically. A missing head row is reported as an end that no event reaches. */
export function fileEnds(db: Database): () => FileEnds {
  const last = '(SELECT ifnull(max(position), 0) FROM events)'
  const exists = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'head'`).get() !== undefined
  const ends = exists ? `(SELECT position FROM head), ${last}` : `NULL, ${last}`
  const statement = db.prepare<[], [number | null, number]>(`SELECT ${ends}`).raw()
  return () => {
    const [position = null, end = 0] = statement.get() ?? []
    return { recorded: exists ? (position ?? end + 1) : undefined, last: end }
  }
}
