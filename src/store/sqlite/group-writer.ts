/**
 * @module Commits a group of appends in one transaction, each in its own savepoint, and reports the exact outcome of each. Certainty about the outcome
 * relies on SQLite's WAL: a transaction counts only once its last frame is written, and that frame is written and fsynced only within COMMIT.
 */
import { LRUCache } from 'lru-cache'
import { NO_STREAM } from '../event-store.ts'
import { type Database, diskFault, isSqliteCode } from './open.ts'
import { type FileEnds, fileEnds } from './schema.ts'
import type { AppendGroup, GroupOutcome, Refusal } from './writer-protocol.ts'

const BUSY_RETRY_MS = 250
const REOPEN_RETRY_MS = 500
/** Errors after which the transaction or the file is unusable: no single statement is the cause. */
const MACHINERY = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_CORRUPT',
  'SQLITE_NOMEM',
  'SQLITE_READONLY',
  'SQLITE_NOTADB',
  'SQLITE_CANTOPEN',
]

/** The range of an append's records within its group. */
interface Slice {
  readonly index: number
  readonly first: number
  readonly end: number
}

export class GroupWriter {
  readonly #db: Database
  readonly #heads: StreamHeads
  readonly #statements
  readonly #ends: () => FileEnds
  /** Position at which this connection's last commit ended. No other process writes, so the file must end there or later. */
  #end = 0

  constructor(db: Database) {
    this.#db = db
    this.#heads = new StreamHeads(db)
    this.#statements = prepareStatements(db)
    this.#ends = fileEnds(db)
  }

  write(group: AppendGroup): GroupOutcome {
    try {
      this.#statements.begin.run()
    } catch (error) {
      if (isSqliteCode(error, 'SQLITE_BUSY')) return { kind: 'refused', result: busy() }
      return this.#notWritten(error)
    }

    let applied: { readonly before: number; readonly end: number }
    const refusals = new Map<number, Refusal>()
    try {
      applied = this.#apply(group, refusals)
    } catch (error) {
      return this.#notWritten(error)
    }

    try {
      this.#statements.commit.run()
    } catch (error) {
      return this.#commitFailed(error, applied.before)
    }
    this.#end = applied.end
    return { kind: 'committed', before: applied.before, refusals }
  }

  #apply(group: AppendGroup, refusals: Map<number, Refusal>): { readonly before: number; readonly end: number } {
    this.#heads.refresh()
    const { recorded = 0, last: before } = this.#ends()
    if (before < this.#end)
      throw new Error(`the file ends at position ${before} and held ${this.#end}: an older copy was put in its place`)
    // Positions of events that are missing from the end of the file are never reassigned: the gap remains as evidence.
    const start = Math.max(before, recorded)
    let position = start
    let first = 0
    for (let index = 0; index < group.counts.length; index += 1) {
      const slice = { index, first, end: first + (group.counts[index] ?? 0) }
      const refusal = this.#judge(group, slice) ?? this.#insert(group, slice, position)
      if (refusal === undefined) position += slice.end - slice.first
      else refusals.set(index, refusal)
      first = slice.end
    }
    if (position > start) this.#statements.moveHead.run(position)
    return { before: start, end: position }
  }

  #judge(group: AppendGroup, { index, first, end }: Slice): Refusal | undefined {
    const head = this.#heads.of(group.streams[index] ?? '')
    if (head.revision !== group.expected[index]) return { kind: 'conflict', actual: head.revision }
    if (head.id === undefined) return undefined

    for (let record = first; record < end; record += 1) {
      const requestId = group.requests[record] ?? null
      if (requestId === null) continue
      const revision = this.#statements.findRequest.get(head.id, requestId)
      if (typeof revision === 'number') return { kind: 'duplicate-request', requestId, revision }
    }
    return undefined
  }

  #insert(group: AppendGroup, slice: Slice, position: number): Refusal | undefined {
    const { savepoint, release, rollbackTo } = this.#statements
    savepoint.run()
    try {
      this.#insertRows(group, slice, position)
      release.run()
      return undefined
    } catch (error) {
      this.#heads.forget(group.streams[slice.index] ?? '')
      if (!this.#db.inTransaction || isSqliteCode(error, ...MACHINERY)) throw error
      rollbackTo.run()
      release.run()
      return { kind: 'invalid', detail: String(error) }
    }
  }

  #insertRows(group: AppendGroup, { index, first, end }: Slice, position: number): void {
    const name = group.streams[index] ?? ''
    const head = this.#heads.of(name)
    const streamId = head.id ?? Number(this.#statements.insertStream.run(name).lastInsertRowid)
    const offset = position + 1 - first
    let revision = head.revision
    for (let record = first; record < end; record += 1) {
      revision += 1
      this.#statements.insertEvent.run(
        offset + record,
        streamId,
        revision,
        group.headers[record],
        group.salts.subarray(record === 0 ? 0 : group.saltEnds[record - 1], group.saltEnds[record]),
        group.datas[record],
        group.requests[record],
      )
    }
    head.id = streamId
    head.revision = revision
  }

  /** An error before COMMIT: certainly not written, because no frame of this transaction can carry the commit mark. */
  #notWritten(error: unknown): GroupOutcome {
    this.#heads.clear()
    const fault = diskFault(error, this.#db.name)
    if (isSqliteCode(error, 'SQLITE_FULL') && this.#rolledBack()) return { kind: 'refused', result: full(error), fault }
    const result = { kind: 'unavailable', detail: String(error), retryAfterMs: REOPEN_RETRY_MS } as const
    return { kind: 'failed', result, fault }
  }

  /**
   * An error of COMMIT. SQLITE_FULL comes from a short write, so the last frame is incomplete and the transaction is lost, which is confirmed by reading
   * the file. Any other error may have occurred after the last frame, in its fsync: the outcome is unknown.
   */
  #commitFailed(error: unknown, before: number): GroupOutcome {
    this.#heads.clear()
    const fault = diskFault(error, this.#db.name)
    if (isSqliteCode(error, 'SQLITE_FULL') && this.#rolledBack(before))
      return { kind: 'refused', result: full(error), fault }
    return { kind: 'failed', result: { kind: 'unknown', detail: String(error) }, fault }
  }

  #rolledBack(expectedPosition?: number): boolean {
    try {
      if (this.#db.inTransaction) this.#statements.rollback.run()
      return expectedPosition === undefined || this.#lastPosition() === expectedPosition
    } catch {
      return false
    }
  }

  #lastPosition(): number {
    return Number(this.#statements.lastPosition.get())
  }
}

function prepareStatements(db: Database) {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    savepoint: db.prepare('SAVEPOINT one_append'),
    release: db.prepare('RELEASE one_append'),
    rollbackTo: db.prepare('ROLLBACK TO one_append'),
    lastPosition: db.prepare('SELECT ifnull(max(position), 0) FROM events').pluck(),
    findRequest: db.prepare('SELECT revision FROM events WHERE stream_id = ? AND request = ?').pluck(),
    moveHead: db.prepare('UPDATE head SET position = ? WHERE one = 1'),
    insertStream: db.prepare('INSERT INTO streams (name) VALUES (?)'),
    insertEvent: db.prepare(
      'INSERT INTO events (position, stream_id, revision, header, salt, data, request) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
  }
}

function busy(): Refusal {
  return { kind: 'unavailable', detail: 'another program holds a lock on the store file', retryAfterMs: BUSY_RETRY_MS }
}

function full(error: unknown): Refusal {
  return { kind: 'full', detail: String(error) }
}

// The last revision of each stream as seen by the writer inside its transaction: a bounded cache over the file.

/** Default size of the cache. */
const HEADS_MAX_BYTES = 8 * 1024 * 1024
/** Estimated size of a cache entry, in addition to the name of its stream. */
const HEAD_BYTES = 160

interface StreamHead {
  /** Undefined if the stream is not in the file yet. */
  id: number | undefined
  revision: number
}

class StreamHeads {
  readonly #heads: LRUCache<string, StreamHead>
  readonly #find
  #dataVersion: unknown
  readonly #readDataVersion

  constructor(db: Database, maxBytes = HEADS_MAX_BYTES) {
    this.#heads = new LRUCache({ maxSize: maxBytes, sizeCalculation: (_, stream) => HEAD_BYTES + 2 * stream.length })
    this.#find = db.prepare<[string], StreamHead>(
      `SELECT id, ifnull((SELECT max(revision) FROM events WHERE stream_id = streams.id), ${NO_STREAM}) AS revision
       FROM streams WHERE name = ?`,
    )
    this.#readDataVersion = db.prepare('PRAGMA data_version').pluck()
  }

  /** Call it inside the transaction, before the first `of`: it clears the cache if another connection has written. */
  refresh(): void {
    const dataVersion = this.#readDataVersion.get()
    if (dataVersion !== this.#dataVersion) this.clear()
    this.#dataVersion = dataVersion
  }

  of(stream: string): StreamHead {
    const current = this.#heads.get(stream)
    if (current !== undefined) return current

    const found = this.#find.get(stream) ?? { id: undefined, revision: NO_STREAM }
    this.#heads.set(stream, found)
    return found
  }

  forget(stream: string): void {
    this.#heads.delete(stream)
  }

  clear(): void {
    this.#heads.clear()
  }
}
