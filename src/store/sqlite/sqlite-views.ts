/**
 * @module The views' file: tables that are made anew from the event store whenever they are lost, damaged or of another version.
 * Nothing here is evidence, so nothing is synced.
 */
import type { Position } from '../event-store.ts'
import type { FoldRow, RunFilter, RunRow, ViewStore } from '../view-store.ts'
import { openDisposable } from './disposable-file.ts'
import type { Database } from './open.ts'
import { fromRunRow, type RunColumns, runQuery, toRunColumns } from './run-rows.ts'
import { prepareViewSchema, VIEW_TABLES } from './view-schema.ts'

/** `path` may be `:memory:`. A file that cannot be read is deleted and made anew; what it held comes back from the event store. */
export function openSqliteViews({ path }: { readonly path: string }): ViewStore {
  return new SqliteViews(openDisposable(path, prepareViewSchema))
}

class SqliteViews implements ViewStore {
  readonly #db: Database
  readonly #statements
  readonly #saveRuns

  constructor(db: Database) {
    this.#db = db
    this.#statements = prepareStatements(db)
    this.#saveRuns = db.transaction((rows: readonly RunRow[], checkpoint: readonly [string, number, Position]) => {
      for (const row of rows) this.#statements.saveRun.run(toRunColumns(row))
      this.#statements.saveCheckpoint.run(...checkpoint)
    })
  }

  checkpoint(projection: string, version: number): Position | undefined {
    const position = this.#statements.checkpoint.get(projection, version)
    return typeof position === 'string' ? position : undefined
  }

  runRow(tenant: string, runId: string): RunRow | undefined {
    const found = this.#statements.runRow.get(tenant, runId)
    return found === undefined ? undefined : fromRunRow(found)
  }

  saveRuns(rows: readonly RunRow[], projection: string, version: number, checkpoint: Position): void {
    this.#saveRuns.immediate(rows, [projection, version, checkpoint])
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

  clear(): void {
    this.#db.transaction(() => {
      for (const table of VIEW_TABLES) this.#db.exec(`DELETE FROM ${table}`)
    })()
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}

function prepareStatements(db: Database) {
  return {
    checkpoint: db.prepare('SELECT position FROM checkpoints WHERE projection = ? AND version = ?').pluck(),
    saveCheckpoint: db.prepare('INSERT OR REPLACE INTO checkpoints (projection, version, position) VALUES (?, ?, ?)'),
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
