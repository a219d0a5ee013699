/** @module `subjects.db`: the keys of subjects, in a file next to the store. Not disposable: data under a lost key can never be read again. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { SubjectKeyRow, SubjectStore } from '../subject-store.ts'
import { BUSY_TIMEOUT_MS } from './disposable-file.ts'
import { asOpenError, type Database, makeDurable, openDatabase, openReadOnly } from './open.ts'
import { makeFile } from './store-path.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS subject_keys (
  id TEXT PRIMARY KEY NOT NULL, tenant TEXT NOT NULL, subject TEXT, state TEXT NOT NULL,
  kid TEXT NOT NULL, wrapped TEXT, request TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS subject_keys_by_subject ON subject_keys (tenant, subject);
CREATE INDEX IF NOT EXISTS subject_keys_by_state ON subject_keys (state);
CREATE TABLE IF NOT EXISTS subject_runs (id TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (id, run)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS erasures_read (tenant TEXT PRIMARY KEY NOT NULL, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS erased_keys (id TEXT PRIMARY KEY NOT NULL, proof TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS subject_file (id TEXT NOT NULL) STRICT;`

/** The file is created at the first write. Throws `StoreOpenError` if an existing file cannot be used. */
export function openSqliteSubjects(path: string): SubjectStore {
  const subjects = new SqliteSubjects(path)
  if (path !== ':memory:' && existsSync(path)) subjects.open()
  return subjects
}

function opened(path: string): Database {
  try {
    if (path !== ':memory:') makeFile(path)
    const db = openDatabase({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
    try {
      if (path !== ':memory:') makeDurable(db)
      db.pragma('secure_delete = ON')
      db.exec(SCHEMA)
      db.prepare('INSERT INTO subject_file SELECT ? WHERE NOT EXISTS (SELECT 1 FROM subject_file)').run(randomUUID())
      return db
    } catch (error) {
      db.close()
      throw error
    }
  } catch (error) {
    throw asOpenError(error, path)
  }
}

/** What a process that owns no key may ask of the file. */
export interface SubjectFileReader extends Disposable {
  /** Whether a key exists. */
  exists(id: string): boolean
  /** The runs in which a key is used. */
  runsOf(id: string): readonly string[]
}

/** Reads the current file, beside a running ledger too. Throws `StoreOpenError`. */
export function readSqliteSubjects(path: string): SubjectFileReader {
  try {
    const db = openReadOnly({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
    const one = db.prepare<[string], number>('SELECT wrapped IS NOT NULL FROM subject_keys WHERE id = ?').pluck()
    const runs = db.prepare<[string], string>('SELECT run FROM subject_runs WHERE id = ?').pluck()
    return {
      exists: (id) => one.get(id) === 1,
      runsOf: (id) => runs.all(id),
      [Symbol.dispose]: () => db.close(),
    }
  } catch (error) {
    throw asOpenError(error, path)
  }
}

const COLUMNS = 'id, tenant, subject, state, kid, wrapped, request'

class SqliteSubjects implements SubjectStore {
  readonly #path: string
  #opened: { readonly db: Database; readonly statements: ReturnType<typeof prepareStatements> } | undefined

  constructor(path: string) {
    this.#path = path
  }

  open(): { readonly db: Database; readonly statements: ReturnType<typeof prepareStatements> } {
    if (this.#opened === undefined) {
      const db = opened(this.#path)
      this.#opened = { db, statements: prepareStatements(db) }
    }
    return this.#opened
  }

  get #statements(): ReturnType<typeof prepareStatements> {
    return this.open().statements
  }

  #each<T>(rows: readonly T[], change: (row: T) => void): void {
    this.open()
      .db.transaction(() => rows.forEach(change))
      .immediate()
  }

  inUse(tenant: string, subject: string): SubjectKeyRow | undefined {
    return this.#statements.inUse.get(tenant, subject)
  }

  usedIn(tenant: string, subject: string, run: string): SubjectKeyRow | undefined {
    return this.#statements.usedIn.get(tenant, subject, run)
  }

  key(id: string): SubjectKeyRow | undefined {
    return this.#opened?.statements.key.get(id)
  }

  keysOf(tenant: string, subject: string): readonly SubjectKeyRow[] {
    return this.#opened?.statements.keysOf.all(tenant, subject) ?? []
  }

  inState(...states: readonly string[]): readonly SubjectKeyRow[] {
    return states.flatMap((state) => this.#opened?.statements.inState.all(state) ?? [])
  }

  add(row: Parameters<SubjectStore['add']>[0]): void {
    this.#statements.add.run(row)
  }

  noteRun(id: string, run: string): void {
    this.#statements.noteRun.run(id, run)
  }

  runsOf(id: string): readonly string[] {
    return this.#opened?.statements.runsOf.all(id) ?? []
  }

  rewrap(rows: Parameters<SubjectStore['rewrap']>[0]): void {
    this.#each(rows, (row) => this.#statements.rewrap.run(row))
    this.#overwrite()
  }

  close(ids: readonly string[]): void {
    this.#each(ids, (id) => this.#statements.close.run(id))
  }

  noteRequest(ids: readonly string[], request: string): void {
    this.#each(ids, (id) => this.#statements.noteRequest.run(request, id))
  }

  destroy(ids: readonly string[]): void {
    this.#each(ids, (id) => this.#statements.destroy.run(id))
    this.#overwrite()
  }

  noteDone(rows: Parameters<SubjectStore['noteDone']>[0]): void {
    this.#each(rows, (row) => {
      this.#statements.noteDone.run(row.id)
      this.#statements.noteProof.run(row)
    })
  }

  proofOf(id: string): string | undefined {
    return this.#opened?.statements.proofOf.get(id)
  }

  identity(): { readonly id: string; readonly keys: number } | undefined {
    return this.#opened?.statements.identity.get()
  }

  seen(tenant: string): number {
    return this.#opened?.statements.seen.get(tenant) ?? -1
  }

  noteSeen(tenant: string, revision: number): void {
    this.#statements.noteSeen.run(tenant, revision)
  }

  /** The WAL still holds the old pages: it is checkpointed into the file and truncated. */
  #overwrite(): void {
    this.open().db.pragma('wal_checkpoint(TRUNCATE)')
  }

  [Symbol.dispose](): void {
    this.#opened?.db.close()
    this.#opened = undefined
  }
}

function prepareStatements(db: Database) {
  const rows = (where: string) => db.prepare<unknown[], SubjectKeyRow>(`SELECT ${COLUMNS} FROM subject_keys ${where}`)
  return {
    inUse: rows("WHERE tenant = ? AND subject = ? AND state = 'open'"),
    usedIn: rows('NATURAL JOIN subject_runs WHERE tenant = ? AND subject = ? AND run = ?'),
    key: rows('WHERE id = ?'),
    keysOf: rows('WHERE tenant = ? AND subject = ?'),
    inState: rows('WHERE state = ?'),
    add: db.prepare(
      "INSERT INTO subject_keys (id, tenant, subject, state, kid, wrapped) VALUES (:id, :tenant, :subject, 'open', :kid, :wrapped)",
    ),
    noteRun: db.prepare('INSERT OR IGNORE INTO subject_runs (id, run) VALUES (?, ?)'),
    runsOf: db.prepare<[string], string>('SELECT run FROM subject_runs WHERE id = ? ORDER BY run').pluck(),
    rewrap: db.prepare('UPDATE subject_keys SET kid = :kid, wrapped = :wrapped WHERE id = :id AND wrapped IS NOT NULL'),
    close: db.prepare("UPDATE subject_keys SET state = 'closing' WHERE id = ? AND state = 'open'"),
    noteRequest: db.prepare('UPDATE subject_keys SET request = ? WHERE id = ?'),
    destroy: db.prepare(
      "UPDATE subject_keys SET wrapped = NULL, subject = NULL, state = 'erased' WHERE id = ? AND wrapped IS NOT NULL",
    ),
    seen: db.prepare<[string], number>('SELECT revision FROM erasures_read WHERE tenant = ?').pluck(),
    noteSeen: db.prepare('INSERT OR REPLACE INTO erasures_read (tenant, revision) VALUES (?, ?)'),
    noteProof: db.prepare('INSERT OR REPLACE INTO erased_keys (id, proof) VALUES (:id, :proof)'),
    proofOf: db.prepare<[string], string>('SELECT proof FROM erased_keys WHERE id = ?').pluck(),
    identity: db.prepare<[], { id: string; keys: number }>(
      'SELECT id, (SELECT count(*) FROM subject_keys) AS keys FROM subject_file',
    ),
    noteDone: db.prepare("UPDATE subject_keys SET state = 'done' WHERE id = ? AND state = 'erased'"),
  }
}
