/**
 * @module The file of the Merkle logs, separate from the views' file because rebuilding it means checking every MAC of the history, which a change to the
 * views' tables must not cause.
 */
import { parseJson } from '../../../schemas/json.ts'
import type { DerivedFile, DerivedFileOptions, FileGuard } from '../derived-file.ts'
import type { Position, PositionRange } from '../event-store.ts'
import type {
  KnownNotes,
  LeafPlace,
  LeafRow,
  LogBatch,
  LogHole,
  LogProgress,
  LogRow,
  LogStamp,
  LogStop,
  LogStore,
  LogStreamRow,
  StreamHeadRow,
  StreamHeads,
} from '../log-store.ts'
import { openDisposable, ROW_CACHE_KIB } from './disposable-file.ts'
import { LOG_SCHEMA, LOG_SEALED } from './log-schema.ts'
import type { Database } from './open.ts'
import { openForReading, type ReadFile } from './read-file.ts'
import { type BesideOwner, type BesideOwnerOptions, openReadOnlyCopy } from './read-only-copy.ts'
import { RowSeal } from './row-seal.ts'
import { SqliteHeads } from './sqlite-heads.ts'
import { idBytes, LEAF_OF, LEAF_PLACES, LEAVES_BETWEEN, type LeafColumns, TILE, toLeaf } from './sqlite-leaves.ts'

/** Opens the file. An unreadable file is deleted and rebuilt from the event store. */
export function openSqliteLogs(options: DerivedFileOptions): LogStore {
  return openDisposable(options, kindUnder(options.guard))
}

/** Opens a snapshot of the file, which another process may be writing. Undefined if it is missing, damaged or of another version. */
export function readSqliteLogs({
  path,
  guard,
}: Pick<DerivedFileOptions, 'path' | 'guard'>): ReadFile<Omit<LogStore, keyof DerivedFile>> | undefined {
  return openForReading(path, kindUnder(guard))
}

/** Opens the file for reading while another thread of this process writes it. */
export function logsBesideOwner(options: BesideOwnerOptions): BesideOwner<Omit<LogStore, keyof DerivedFile>> {
  return openReadOnlyCopy(options, kindUnder(undefined))
}

const kindUnder = (guard: FileGuard | undefined) => ({
  schema: LOG_SCHEMA,
  cacheKib: ROW_CACHE_KIB,
  over: (db: Database) => new SqliteLogs(db, guard),
})

interface LogColumns {
  readonly tenant: string
  readonly size: number
  readonly last_fact: number
  readonly signed_size: number
  readonly note: string | null
  readonly stamp: string | null
  readonly stopped: string | null
  readonly holes: string | null
}

type ProgressColumns = Omit<LogProgress, 'gap' | 'notes'> & {
  readonly gap: string | null
  readonly notes: string | null
}

interface StreamColumns {
  readonly stream: string
  readonly next_revision: number
  readonly attested: number | null
  readonly prev_digest: string | null
  readonly prev_time: string | null
  readonly min_ring_index: number
  readonly is_foreign: number
}

/** Value of `reached` in the seal. The progress of the logs is a row of the file and therefore covered like the other rows. */
const SEALED_AS = 'log'
const PROGRESS_ROW = 1

const LOG_COLUMNS = 'tenant, size, last_fact, signed_size, note, stamp, stopped, holes'

function prepareStatements(db: Database) {
  return {
    progress: db.prepare<[], ProgressColumns>('SELECT position, stream, revision, digest, gap, notes FROM progress'),
    saveProgress: db.prepare(
      'INSERT OR REPLACE INTO progress (only, position, stream, revision, digest, gap, notes) VALUES (1, ?, ?, ?, ?, ?, ?)',
    ),
    log: db.prepare<[string], LogColumns>(`SELECT ${LOG_COLUMNS} FROM logs WHERE tenant = ?`),
    logs: db.prepare<[], LogColumns>(`SELECT ${LOG_COLUMNS} FROM logs`),
    due: db.prepare<[], LogColumns>(
      `SELECT ${LOG_COLUMNS} FROM logs WHERE stopped IS NULL AND last_fact >= signed_size`,
    ),
    logAt: db.prepare<[string], number>('SELECT id FROM logs WHERE tenant = ?').pluck(),
    streamAt: db.prepare<[string], number>('SELECT id FROM log_streams WHERE stream = ?').pluck(),
    behindHeads: db.prepare<[], LogColumns>(
      `SELECT ${LOG_COLUMNS.replaceAll(/\w+/g, 'logs.$&')} FROM logs LEFT JOIN head_sizes ON head_sizes.log = logs.id
        WHERE logs.signed_size > ifnull(head_sizes.size, 0)`,
    ),
    signed: db.prepare<[], { readonly tenant: string }>('SELECT tenant FROM logs WHERE note IS NOT NULL'),
    stopped: db.prepare<[], LogColumns>(`SELECT ${LOG_COLUMNS} FROM logs WHERE stopped IS NOT NULL`),
    holed: db.prepare<[], LogColumns>(`SELECT ${LOG_COLUMNS} FROM logs WHERE holes IS NOT NULL`),
    saveLog: db
      .prepare<unknown[], number>(`INSERT INTO logs (${LOG_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (tenant) DO UPDATE SET size = excluded.size, last_fact = excluded.last_fact, signed_size = excluded.signed_size,
          note = excluded.note, stamp = excluded.stamp, stopped = excluded.stopped, holes = excluded.holes RETURNING id`)
      .pluck(),
    stream: db.prepare<[string], StreamColumns>('SELECT * FROM log_streams WHERE stream = ?'),
    attestedEnds: db
      .prepare<[], [string, number]>('SELECT stream, attested FROM log_streams WHERE attested IS NOT NULL')
      .raw(),
    saveStream: db
      .prepare<
        unknown[],
        number
      >(`INSERT INTO log_streams (stream, next_revision, attested, prev_digest, prev_time, min_ring_index, is_foreign)
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (stream) DO UPDATE SET next_revision = excluded.next_revision,
          attested = excluded.attested, prev_digest = excluded.prev_digest, prev_time = excluded.prev_time, min_ring_index = excluded.min_ring_index,
          is_foreign = excluded.is_foreign RETURNING id`)
      .pluck(),
    saveLeaf: db.prepare('INSERT INTO leaves (log, idx, stream, revision, position, event) VALUES (?, ?, ?, ?, ?, ?)'),
    leaves: db.prepare<unknown[], LeafColumns>(LEAVES_BETWEEN),
    leafPlaces: db.prepare<unknown[], LeafPlace>(LEAF_PLACES).raw(),
    leafOf: db.prepare<unknown[], LeafColumns>(LEAF_OF),
    tile: db.prepare<unknown[], Buffer>(TILE).pluck(),
    saveTile: db.prepare(`INSERT INTO tiles (log, level, idx, hashes) VALUES (?, ?, ?, ?)
      ON CONFLICT (log, level, idx) DO UPDATE SET hashes = excluded.hashes`),
  }
}

class SqliteLogs implements Omit<LogStore, keyof DerivedFile> {
  readonly #statements
  readonly seal: RowSeal | undefined
  readonly #heads: SqliteHeads
  readonly #save

  constructor(db: Database, guard: FileGuard | undefined) {
    this.seal = guard && new RowSeal(db, guard, LOG_SEALED)
    this.#statements = prepareStatements(db)
    this.#heads = new SqliteHeads(db, { seal: this.seal, close: () => this.seal?.close(SEALED_AS) })
    this.#save = db.transaction((batch: LogBatch, from: Position | undefined) => {
      if (this.progress()?.position !== from) return false
      this.#write(batch)
      this.seal?.close(SEALED_AS)
      return true
    })
  }

  isAuthentic(): Promise<boolean> {
    const sealed = this.progress() === undefined ? undefined : SEALED_AS
    return this.seal?.isAuthentic(sealed) ?? Promise.resolve(true)
  }

  progress(): LogProgress | undefined {
    const found = this.#statements.progress.get()
    if (found === undefined) return undefined
    const { gap, notes, ...progress } = found
    return {
      ...progress,
      ...(gap !== null && { gap: parseJson<PositionRange>(gap) }),
      ...(notes !== null && { notes: parseJson<KnownNotes>(notes) }),
    }
  }

  log(tenant: string): LogRow | undefined {
    const found = this.#statements.log.get(tenant)
    return found === undefined ? undefined : toLog(found)
  }

  dueLogs(): readonly LogRow[] {
    return this.#statements.due.all().map(toLog)
  }

  signedTenants(): readonly string[] {
    return this.#statements.signed.all().map(({ tenant }) => tenant)
  }

  logsBehindHeads(): readonly LogRow[] {
    return this.#statements.behindHeads.all().map(toLog)
  }

  stoppedLogs(): readonly LogRow[] {
    return this.#statements.stopped.all().map(toLog)
  }

  holedLogs(): readonly LogRow[] {
    return this.#statements.holed.all().map(toLog)
  }

  logs(): readonly LogRow[] {
    return this.#statements.logs.all().map(toLog)
  }

  stream(stream: string): LogStreamRow | undefined {
    const found = this.#statements.stream.get(stream)
    return found === undefined ? undefined : toStream(found)
  }

  attestedEnds(): readonly (readonly [string, number])[] {
    return this.#statements.attestedEnds.all()
  }

  leaf(tenant: string, index: number): LeafRow | undefined {
    return this.leaves(tenant, index, index + 1)[0]
  }

  leafOf(tenant: string, eventId: string): LeafRow | undefined {
    const found = this.#statements.leafOf.get(tenant, idBytes(eventId))
    return found === undefined ? undefined : toLeaf(found)
  }

  leaves(tenant: string, from: number, to: number): readonly LeafRow[] {
    return this.#statements.leaves.all(tenant, from, to).map(toLeaf)
  }

  leafPlaces(tenant: string, from: number, to: number): readonly LeafPlace[] {
    return this.#statements.leafPlaces.all(tenant, from, to)
  }

  tile(tenant: string, level: number, index: number): Uint8Array | undefined {
    return this.#statements.tile.get(tenant, level, index)
  }

  headsSize(tenant: string): number {
    return this.#heads.headsSize(tenant)
  }

  head(tenant: string, key: Uint8Array): StreamHeadRow | undefined {
    return this.#heads.head(tenant, key)
  }

  heads(tenant: string, from: Uint8Array, below: Uint8Array | undefined, limit: number): readonly StreamHeadRow[] {
    return this.#heads.heads(tenant, from, below, limit)
  }

  saveHeads(heads: StreamHeads, from: number): boolean {
    return this.#heads.saveHeads(heads, from)
  }

  dropHeads(tenant: string): void {
    this.#heads.dropHeads(tenant)
  }

  save(batch: LogBatch, from: Position | undefined): boolean {
    const save = (): boolean => this.#save.immediate(batch, from)
    return this.seal === undefined ? save() : this.seal.writing(save)
  }

  #write({ logs, streams, leaves, tiles, progress }: LogBatch): void {
    const { logAt, streamAt, saveLog, saveStream, saveLeaf, saveTile, saveProgress } = this.#statements
    const logIds = new Map<string, number | undefined>()
    for (const log of logs) {
      const { tenant, size, lastFactIndex, signedSize, note = null } = log
      const [stamp, stopped, holes] = [log.stamp, log.stopped, log.holes].map((part) =>
        part === undefined ? null : JSON.stringify(part),
      )
      const write = () => saveLog.get(tenant, size, lastFactIndex, signedSize, note, stamp, stopped, holes)
      logIds.set(tenant, this.#replaced('logs', logAt.get(tenant), write))
    }
    const streamIds = new Map<string, number | undefined>()
    for (const { stream, nextRevision, attested = null, minRingIndex, foreign, ...last } of streams) {
      const { prevDigest = null, prevTime = null } = last
      const write = () =>
        saveStream.get(stream, nextRevision, attested, prevDigest, prevTime, minRingIndex, foreign ? 1 : 0)
      streamIds.set(stream, this.#replaced('log_streams', streamAt.get(stream), write))
    }
    for (const { tenant, index, stream, revision, position, eventId } of leaves) {
      saveLeaf.run(logIds.get(tenant), index, streamIds.get(stream), revision, position, idBytes(eventId))
    }
    for (const { tenant, level, index, hashes } of tiles) saveTile.run(logIds.get(tenant), level, index, hashes)
    this.#replaced('progress', this.progress() && PROGRESS_ROW, () => {
      const { position, stream, revision, digest } = progress
      const [gap, notes] = [progress.gap, progress.notes].map((part) =>
        part === undefined ? null : JSON.stringify(part),
      )
      saveProgress.run(position, stream, revision, digest, gap, notes)
      return PROGRESS_ROW
    })
  }

  /** Replaces the row with the rowid `known`, if any, and updates the seal's sum. Returns the rowid of the new row. */
  #replaced(
    table: (typeof LOG_SEALED)[number]['name'],
    known: number | undefined,
    write: () => number | undefined,
  ): number | undefined {
    if (known !== undefined) this.seal?.remove(table, known)
    const written = write()
    if (written !== undefined) this.seal?.add(table, written)
    return written
  }
}

function toLog({ tenant, size, last_fact: lastFactIndex, signed_size: signedSize, ...more }: LogColumns): LogRow {
  return {
    tenant,
    size,
    lastFactIndex,
    signedSize,
    ...(more.note !== null && { note: more.note }),
    ...(more.stamp !== null && { stamp: parseJson<LogStamp>(more.stamp) }),
    ...(more.stopped !== null && { stopped: parseJson<LogStop>(more.stopped) }),
    ...(more.holes !== null && { holes: parseJson<readonly LogHole[]>(more.holes) }),
  }
}

function toStream(columns: StreamColumns): LogStreamRow {
  const { prev_digest: prevDigest, prev_time: prevTime } = columns
  return {
    stream: columns.stream,
    nextRevision: columns.next_revision,
    ...(columns.attested !== null && { attested: columns.attested }),
    ...(prevDigest !== null && { prevDigest }),
    ...(prevTime !== null && { prevTime }),
    minRingIndex: columns.min_ring_index,
    foreign: columns.is_foreign === 1,
  }
}
