/** @module The views' file: tables that are made anew from the event store whenever they are lost, damaged or of another version. */
import type { DerivedFile, DerivedFileOptions } from '../derived-file.ts'
import type { FoldRow, RunFilter, RunRow, ViewCheckpoint, ViewProgress, ViewStore } from '../view-store.ts'
import { openDisposable } from './disposable-file.ts'
import type { Database } from './open.ts'
import { fromRunRow, type RunColumns, runQuery, toRunColumns } from './run-rows.ts'
import { VIEW_SCHEMA } from './view-schema.ts'

/** A file that cannot be read is deleted and made anew; what it held comes back from the event store. */
export function openSqliteViews(options: DerivedFileOptions): ViewStore {
  return openDisposable(options, { schema: VIEW_SCHEMA, over: (db) => new SqliteViews(db) })
}

class SqliteViews implements Omit<ViewStore, keyof DerivedFile> {
  readonly #db: Database
  readonly #statements
  readonly #saveRuns

  constructor(db: Database) {
    this.#db = db
    this.#statements = prepareStatements(db)
    this.#saveRuns = db.transaction((rows: readonly RunRow[], to: ViewProgress) => {
      const { projection, version, from, position, digest } = to
      if (this.checkpoint(projection, version)?.position !== from) return false
      for (const row of rows) this.#statements.saveRun.run(toRunColumns(row))
      this.#statements.saveCheckpoint.run(projection, version, position, digest)
      return true
    })
  }

  checkpoint(projection: string, version: number): ViewCheckpoint | undefined {
    return this.#statements.checkpoint.get(projection, version)
  }

  runRow(tenant: string, runId: string): RunRow | undefined {
    const found = this.#statements.runRow.get(tenant, runId)
    return found === undefined ? undefined : fromRunRow(found)
  }

  saveRuns(rows: readonly RunRow[], to: ViewProgress): boolean {
    return this.#saveRuns.immediate(rows, to)
  }

  listRuns(filter: RunFilter): readonly RunRow[] {
    const { sql, values } = runQuery(filter)
    return this.#db
      .prepare<unknown[], RunColumns>(sql)
      .all(...values)
      .map(fromRunRow)
  }

  loadFold(stream: string, projection: string): FoldRow | undefined {
    return this.#statements.loadFold.get(stream, projection)
  }

  saveFold({ stream, revision, projection, text, mac }: FoldRow): void {
    this.#statements.saveFold.run({ stream, revision, projection, text, mac })
  }
}

function prepareStatements(db: Database) {
  return {
    checkpoint: db.prepare<unknown[], ViewCheckpoint>(
      'SELECT position, digest FROM checkpoints WHERE projection = ? AND version = ?',
    ),
    saveCheckpoint: db.prepare(
      'INSERT OR REPLACE INTO checkpoints (projection, version, position, digest) VALUES (?, ?, ?, ?)',
    ),
    runRow: db.prepare<unknown[], RunColumns>('SELECT * FROM runs WHERE tenant = ? AND run_id = ?'),
    saveRun: db.prepare(`INSERT OR REPLACE INTO runs
      (tenant, run_id, name, status, tags, agents, actor, started_at, updated_at, revision, step, rejections, calls, tokens, cost, currency, fold)
      VALUES (@tenant, @run_id, @name, @status, @tags, @agents, @actor, @started_at, @updated_at, @revision, @step, @rejections, @calls,
        @tokens, @cost, @currency, @fold)`),
    loadFold: db.prepare<unknown[], FoldRow>(
      'SELECT stream, revision, projection, text, mac FROM folds WHERE stream = ? AND projection = ?',
    ),
    saveFold: db.prepare(`INSERT OR REPLACE INTO folds (stream, projection, revision, text, mac)
      VALUES (@stream, @projection, @revision, @text, @mac)`),
  }
}
