/** @module The views' file: tables that are rebuilt from the event store if they are lost, damaged or of another version. */
import type { DerivedFile, DerivedFileOptions, FileGuard } from '../derived-file.ts'
import type {
  Carried,
  CarriedFilter,
  DueFilter,
  DuePlace,
  FaultRow,
  FoldRow,
  RunFilter,
  RunPlace,
  RunRow,
  RunWindow,
  UnsettledCalls,
  UnsettledFilter,
  ViewCheckpoint,
  ViewProgress,
  ViewStore,
} from '../view-store.ts'
import { openDisposable, ROW_CACHE_KIB } from './disposable-file.ts'
import type { Database } from './open.ts'
import { openForReading, type ReadFile } from './read-file.ts'
import { type BesideOwner, type BesideOwnerOptions, openReadOnlyCopy } from './read-only-copy.ts'
import { RowSeal } from './row-seal.ts'
import { fromRunRow, type RunColumns, runQuery, toRunColumns } from './run-rows.ts'
import { VIEW_SCHEMA, VIEWS_SEALED } from './view-schema.ts'

/** Opens the file. An unreadable file is deleted and rebuilt from the event store. */
export function openSqliteViews(options: DerivedFileOptions): ViewStore {
  return openDisposable(options, kindUnder(options.guard))
}

/** Opens a snapshot of the file, which another process may be writing. Undefined if it is missing, damaged or of another version. */
export function readSqliteViews({
  path,
  guard,
}: Required<Pick<DerivedFileOptions, 'path' | 'guard'>>): ReadFile<Omit<ViewStore, keyof DerivedFile>> | undefined {
  return openForReading(path, kindUnder(guard))
}

/** Opens the file for reading while another thread of this process writes it. */
export function viewsBesideOwner(options: BesideOwnerOptions): BesideOwner<Omit<ViewStore, keyof DerivedFile>> {
  return openReadOnlyCopy(options, kindUnder(undefined))
}

const kindUnder = (guard: FileGuard | undefined) => ({
  schema: VIEW_SCHEMA,
  cacheKib: ROW_CACHE_KIB,
  over: (db: Database) => new SqliteViews(db, guard),
})

class SqliteViews implements Omit<ViewStore, keyof DerivedFile> {
  readonly #db: Database
  readonly seal: RowSeal | undefined
  readonly #statements
  readonly #saveRuns
  readonly #saveNote

  constructor(db: Database, guard: FileGuard | undefined) {
    this.#db = db
    this.seal = guard && new RowSeal(db, guard, VIEWS_SEALED)
    this.#statements = prepareStatements(db)
    this.#saveRuns = db.transaction((rows: readonly RunRow[], to: ViewProgress, faults: readonly FaultRow[]) => {
      const { projection, version, from, position, digest } = to
      if (this.checkpoint(projection, version)?.position !== from) return false
      for (const row of rows) {
        const places = [row.tenant, row.runId]
        this.#replaced('runs', this.#statements.runAt, places, () => this.#statements.saveRun.run(toRunColumns(row)))
      }
      for (const { tenant, stream, revision, code, foundAt } of faults) {
        const places = [tenant, stream, revision]
        const row = { tenant, stream, revision, code, found_at: foundAt }
        this.#replaced('faults', this.#statements.faultAt, places, () => this.#statements.saveFault.run(row))
      }
      this.#replaced('checkpoints', this.#statements.checkpointAt, [projection], () =>
        this.#statements.saveCheckpoint.run(projection, version, position, digest),
      )
      this.seal?.close(SEALED_AS)
      return true
    })
    this.#saveNote = db.transaction((name: string, text: string) => {
      this.#replaced('notes', this.#statements.noteAt, [name], () => this.#statements.saveNote.run(name, text))
      this.seal?.close(this.#reached())
    })
  }

  checkpoint(projection: string, version: number): ViewCheckpoint | undefined {
    return this.#statements.checkpoint.get(projection, version)
  }

  runRow(tenant: string, runId: string): RunRow | undefined {
    const found = this.#statements.runRow.get(tenant, runId)
    return found === undefined ? undefined : fromRunRow(found)
  }

  isAuthentic(): Promise<boolean> {
    return this.seal?.isAuthentic(this.#reached()) ?? Promise.resolve(true)
  }

  noteFile(): void {
    this.seal?.note()
  }

  #reached(): string | undefined {
    return this.#statements.anyCheckpoint.get() === undefined ? undefined : SEALED_AS
  }

  saveRuns(rows: readonly RunRow[], to: ViewProgress, faults: readonly FaultRow[] = []): boolean {
    return this.#writing(() => this.#saveRuns.immediate(rows, to, faults))
  }

  faults({ tenant, stream, limit }: Parameters<ViewStore['faults']>[0]): readonly FaultRow[] {
    return this.#statements.faults.all({ tenant: tenant ?? null, stream: stream ?? null, limit })
  }

  unsettled({ tenant, ...of }: UnsettledFilter): UnsettledCalls {
    const { unsettled, unsettledOf } = this.#statements
    const found = tenant === undefined ? unsettled.get(of) : unsettledOf.get({ tenant, ...of })
    return found ?? { inDoubt: 0, overdue: 0, runs: 0 }
  }

  dueRuns({ names, ...filter }: DueFilter): readonly RunRow[] {
    // Places first, from the index alone: of the rows, which may be large, only those of the answer are read.
    const places = names.flatMap((name) => this.#statements.dueRuns.all(dueParameters(filter, name)))
    const first = places.sort(byDueTime).slice(0, filter.limit)
    return first.flatMap(({ runId }) => this.runRow(filter.tenant, runId) ?? [])
  }

  nextDue({ names, ...filter }: DueFilter): string | undefined {
    const times = names.flatMap((name) => this.#statements.nextDue.get(dueParameters(filter, name)) ?? [])
    return times.sort()[0]
  }

  carried({ tenant, at, except, limit }: CarriedFilter): Carried {
    const found = this.#statements.carried.get({ tenant, at, except: except ?? null, limit })
    return found ?? { count: 0, firstEnd: null }
  }

  note(name: string): string | undefined {
    return this.#statements.note.get(name)
  }

  saveNote(name: string, text: string): void {
    this.#writing(() => this.#saveNote.immediate(name, text))
  }

  #writing<T>(write: () => T): T {
    return this.seal === undefined ? write() : this.seal.writing(write)
  }

  #replaced(
    table: 'runs' | 'checkpoints' | 'faults' | 'notes',
    at: RowAt,
    key: readonly (string | number)[],
    write: () => void,
  ): void {
    const known = at.get(...key)
    if (known !== undefined) this.seal?.remove(table, known)
    write()
    this.seal?.add(table, Number(at.get(...key)))
  }

  listRuns(filter: RunFilter, looked = LOOKED_ROWS): RunWindow {
    const { rows, end, along, filters } = runQuery(filter, looked)
    const found = this.#db.prepare<unknown[], RunColumns>(rows).all(...along, ...filters)
    const isFull = found.length >= filter.limit
    const next = isFull ? undefined : this.#db.prepare<unknown[], RunPlace>(end).get(...along)
    return { rows: found.map(fromRunRow), ...(next && { next }) }
  }

  loadFold(stream: string, projection: string): FoldRow | undefined {
    return this.#statements.loadFold.get(stream, projection)
  }

  saveFold({ stream, revision, projection, text, mac }: FoldRow): void {
    this.#writing(() => this.#statements.saveFold.run({ stream, revision, projection, text, mac }))
  }
}

/** Number of rows that one statement examines: takes about a millisecond. */
const LOOKED_ROWS = 500

/** Value of `reached` in the seal. The progress of the list is a row of the file and therefore covered like the other rows. */
const SEALED_AS = 'views'

type RowAt = { readonly get: (...key: readonly (string | number)[]) => number | undefined }

function dueParameters({ tenant, versions, dueBy, after, limit }: Omit<DueFilter, 'names'>, name: string): object {
  const wanted = versions === undefined ? null : JSON.stringify(versions)
  return { tenant, name, dueBy, limit, versions: wanted, afterTime: after?.dueAt ?? '', afterRun: after?.runId ?? '' }
}

const byDueTime = (a: DuePlace, b: DuePlace): number => {
  const [first, second] = [`${a.dueAt} ${a.runId}`, `${b.dueAt} ${b.runId}`]
  return first < second ? -1 : Number(first > second)
}

const ANY_VERSION = '(@versions IS NULL OR version IS NULL OR version IN (SELECT value FROM json_each(@versions)))'

/** In `open` of a fold, a call in doubt has an empty text, and any other the end of its lease. Only folds with a lease that is over are read. */
const unsettledIn = (runs: string): string => `
  SELECT coalesce(sum(inDoubt), 0) AS inDoubt, coalesce(sum(overdue), 0) AS overdue, count(*) AS runs FROM
    (SELECT in_doubt_calls AS inDoubt, CASE WHEN lease_until < @leaseOverAt THEN
        (SELECT count(*) FROM json_each(runs.fold, '$.open') WHERE value > '' AND value < @leaseOverAt) ELSE 0 END AS overdue
      FROM runs INDEXED BY runs_open_calls WHERE ${runs} LIMIT @runs)`

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
      (tenant, run_id, name, status, tags, agents, actor, principal, search, started_at, updated_at, revision, step, rejections, calls, waiting, approvals, suspects,
        open_calls, in_doubt_calls, lease_until, fence, due_at, carried_until, version, stuck, compensation, tokens, cost, currency, fold)
      VALUES (@tenant, @run_id, @name, @status, @tags, @agents, @actor, @principal, @search, @started_at, @updated_at, @revision, @step, @rejections, @calls, @waiting,
        @approvals, @suspects, @open_calls, @in_doubt_calls, @lease_until, @fence, @due_at, @carried_until, @version, @stuck, @compensation, @tokens, @cost, @currency, @fold)`),
    runAt: db.prepare<unknown[], number>('SELECT rowid FROM runs WHERE tenant = ? AND run_id = ?').pluck(),
    checkpointAt: db.prepare<unknown[], number>('SELECT rowid FROM checkpoints WHERE projection = ?').pluck(),
    faults: db.prepare<unknown[], FaultRow>(`SELECT tenant, stream, revision, code, found_at AS foundAt FROM faults
      WHERE (@tenant IS NULL OR tenant = @tenant) AND (@stream IS NULL OR stream = @stream) ORDER BY tenant, stream, revision LIMIT @limit`),
    saveFault: db.prepare(`INSERT OR REPLACE INTO faults (tenant, stream, revision, code, found_at)
      VALUES (@tenant, @stream, @revision, @code, @found_at)`),
    faultAt: db
      .prepare<unknown[], number>('SELECT rowid FROM faults WHERE tenant = ? AND stream = ? AND revision = ?')
      .pluck(),
    dueRuns: db.prepare<unknown[], DuePlace>(`SELECT due_at AS dueAt, run_id AS runId FROM runs INDEXED BY runs_due
      WHERE tenant = @tenant AND name = @name AND due_at IS NOT NULL AND due_at <= @dueBy AND (due_at, run_id) > (@afterTime, @afterRun)
        AND ${ANY_VERSION} ORDER BY due_at, run_id LIMIT @limit`),
    nextDue: db
      .prepare<unknown[], string>(`SELECT due_at FROM runs INDEXED BY runs_due
        WHERE tenant = @tenant AND name = @name AND due_at IS NOT NULL AND due_at > @dueBy AND ${ANY_VERSION} ORDER BY due_at LIMIT 1`)
      .pluck(),
    carried: db.prepare<unknown[], Carried>(`SELECT count(*) AS count, min(carried_until) AS firstEnd
      FROM (SELECT carried_until FROM runs INDEXED BY runs_carried
        WHERE tenant = @tenant AND carried_until > @at AND (@except IS NULL OR run_id <> @except) ORDER BY carried_until LIMIT @limit)`),
    unsettled: db.prepare<unknown[], UnsettledCalls>(unsettledIn('open_calls > 0')),
    unsettledOf: db.prepare<unknown[], UnsettledCalls>(unsettledIn('tenant = @tenant AND open_calls > 0')),
    note: db.prepare<unknown[], string>('SELECT text FROM notes WHERE name = ?').pluck(),
    saveNote: db.prepare('INSERT OR REPLACE INTO notes (name, text) VALUES (?, ?)'),
    noteAt: db.prepare<unknown[], number>('SELECT rowid FROM notes WHERE name = ?').pluck(),
    anyCheckpoint: db.prepare('SELECT 1 FROM checkpoints LIMIT 1').pluck(),
    loadFold: db.prepare<unknown[], FoldRow>(
      'SELECT stream, revision, projection, text, mac FROM folds WHERE stream = ? AND projection = ?',
    ),
    saveFold: db.prepare(`INSERT OR REPLACE INTO folds (stream, projection, revision, text, mac)
      VALUES (@stream, @projection, @revision, @text, @mac)`),
  }
}
