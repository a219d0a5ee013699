/** @module The auditors' index in a separate file, which is rebuilt from the event store if it is lost, damaged or of another version. */
import { AUDIT_COLUMNS, type AuditRow } from '../../../schemas/audit-fields.ts'
import { type EventType, typesThat } from '../../../schemas/events.ts'
import type {
  AuditBatch,
  AuditEntry,
  AuditFilter,
  AuditIndex,
  AuditPin,
  AuditProgress,
  AuditView,
  LeafPage,
  ReadableIndex,
} from '../audit-index.ts'
import type { DerivedFile, DerivedFileOptions, FileGuard } from '../derived-file.ts'
import type { Position } from '../event-store.ts'
import { keyGroups, missingRevisions, runPart, runStarts } from './audit-groups.ts'
import { NamesWithPart, withPartFunction } from './audit-names.ts'
import {
  type AuditColumns,
  type Conditions,
  chargeColumns,
  conditionsOf,
  eventsBy,
  fromAuditColumns,
  matchText,
  tenantWord,
  toAuditColumns,
} from './audit-rows.ts'
import { AUDIT_SCHEMA, AUDIT_SEALED } from './audit-schema.ts'
import { SpendSums, spendGroups, spendOfRuns } from './audit-spend.ts'
import { openDisposable } from './disposable-file.ts'
import type { Database } from './open.ts'
import { openForReading, openForSnapshots, type ReadFile, type SnapshotFile } from './read-file.ts'
import { type BesideOwner, type BesideOwnerOptions, openReadOnlyCopy } from './read-only-copy.ts'
import { RowSeal } from './row-seal.ts'
import { WordMerges } from './word-merges.ts'

/** Opens the file. An unreadable file is deleted and rebuilt from the event store. */
export function openSqliteAudit(options: DerivedFileOptions): AuditIndex {
  return openDisposable(options, kindUnder(options.guard))
}

/** Opens a snapshot of the file, which another process may be writing. Undefined if it is missing, damaged or of another version. */
export function readSqliteAudit({
  path,
  guard,
}: Required<Pick<DerivedFileOptions, 'path' | 'guard'>>): ReadFile<Omit<AuditIndex, keyof DerivedFile>> | undefined {
  return openForReading(path, kindUnder(guard))
}

/** Opens the file for a series of reads, each with its own snapshot; its content is not authenticated here. */
export function snapshotsOfAudit(path: string): SnapshotFile<ReadableIndex> | undefined {
  return openForSnapshots(path, kindUnder(undefined))
}

/** Opens the file for reading while another thread of this process writes it. */
export function auditBesideOwner(options: BesideOwnerOptions): BesideOwner<Omit<AuditIndex, keyof DerivedFile>> {
  return openReadOnlyCopy(options, kindUnder(undefined))
}

const kindUnder = (guard: FileGuard | undefined) => ({
  schema: AUDIT_SCHEMA,
  over: (db: Database) => new SqliteAudit(db, guard),
})

class SqliteAudit implements Omit<AuditIndex, keyof DerivedFile> {
  readonly #db: Database
  readonly seal: RowSeal | undefined
  readonly #statements
  readonly #names: NamesWithPart
  readonly #save
  readonly #sums: SpendSums
  readonly #words: WordMerges

  constructor(db: Database, guard: FileGuard | undefined) {
    this.#db = db
    this.seal = guard && new RowSeal(db, guard, AUDIT_SEALED)
    withPartFunction(db)
    this.#statements = prepareStatements(db)
    this.#names = new NamesWithPart(db, (tenant) => this.size(tenant))
    this.#sums = new SpendSums(db)
    this.#words = new WordMerges(db)
    this.#save = db.transaction((batch: AuditBatch, from: Position | undefined) => {
      if (this.progress()?.position !== from) return false
      this.#words.mergeLater(batch.isBulk === true)
      this.#addAll(batch.entries)
      for (const [stream, state] of batch.states) this.#saveState(stream, state)
      for (const stream of batch.foreign) {
        const { changes, lastInsertRowid } = this.#statements.saveForeign.run(stream)
        if (changes > 0) this.seal?.add('foreign_streams', Number(lastInsertRowid))
      }
      this.#statements.saveProgress.run(batch.progress.position, batch.progress.digest)
      this.#words.write()
      this.seal?.close(this.#reached())
      return true
    })
  }

  isAuthentic(): Promise<boolean> {
    return this.seal?.isAuthentic(this.#reached()) ?? Promise.resolve(true)
  }

  /** The progress with the head of the word index: if words were removed or the index was emptied, the seal no longer matches. */
  #reached(): unknown {
    const progress = this.progress()
    return progress && { ...progress, words: this.#words.head() }
  }

  knownState(): string | undefined {
    return this.seal?.knownState()
  }

  noteFile(): void {
    this.seal?.note()
  }

  opening(): void {
    this.seal?.opening()
  }

  opened(): void {
    this.seal?.opened()
  }

  #saveState(stream: string, state: string): void {
    const known = this.#statements.stateRow.get(stream)
    if (known !== undefined) this.seal?.remove('states', known)
    this.#statements.saveState.run(stream, state)
    this.seal?.add('states', Number(this.#statements.stateRow.get(stream)))
  }

  progress(): AuditProgress | undefined {
    return this.#statements.progress.get()
  }

  size(tenant: string): number {
    return Number(this.#statements.size.get(tenant))
  }

  isForeign(stream: string): boolean {
    return this.#statements.isForeign.get(stream) !== undefined
  }

  hasStream(stream: string): boolean {
    return this.#statements.hasStream.get(stream) !== undefined
  }

  chargeState(stream: string): string | undefined {
    return this.#statements.state.get(stream)
  }

  claim(tenant: string, stream: string, call: string): { agent?: string; tool?: string } | undefined {
    const found = this.#statements.claim.get(tenant, call, stream)
    if (found === undefined) return undefined
    return { ...(found.agent !== null && { agent: found.agent }), ...(found.tool !== null && { tool: found.tool }) }
  }

  save(batch: AuditBatch, from: Position | undefined): boolean {
    const save = (): boolean => this.#words.within(() => this.#save.immediate(batch, from))
    return this.seal === undefined ? save() : this.seal.writing(save)
  }

  /** Rows are never removed, so the rows added here are consecutive. */
  #addAll(entries: readonly AuditEntry[]): void {
    const { saveEvent, saveCharge, saveText } = this.#statements
    const seqs: number[] = []
    const chargeRows: number[] = []
    for (const { row, charges, text } of entries) {
      const seq = Number(saveEvent.run(toAuditColumns(row)).lastInsertRowid)
      seqs.push(seq)
      for (const charge of charges)
        chargeRows.push(Number(saveCharge.run({ seq, ...chargeColumns(charge) }).lastInsertRowid))
      if (text !== '') saveText.run(seq, tenantWord(row.tenant), text)
    }
    this.#sealAll('events', seqs)
    this.#sealAll('charges', chargeRows)
    this.#sealAll('spend_sums', this.#sums.add(entries.map(({ row }) => row)))
  }

  #sealAll(table: 'events' | 'charges' | 'spend_sums', rowids: readonly number[]): void {
    const [first, last] = [rowids[0], rowids.at(-1)]
    if (first !== undefined && last !== undefined) this.seal?.addAll(table, first, last)
  }

  pin(tenant: string, size?: number): AuditPin | undefined {
    const present = this.size(tenant)
    const requested = size ?? present
    const last = requested < 1 || requested > present ? undefined : this.row(tenant, requested - 1)
    return last === undefined ? undefined : { size: requested, position: last.position, eventId: last.id }
  }

  row(tenant: string, leaf: number): AuditRow | undefined {
    const found = this.#statements.row.get(tenant, leaf)
    return found === undefined ? undefined : fromAuditColumns(found)
  }

  rowOf(tenant: string, eventId: string): AuditRow | undefined {
    const found = this.#statements.rowOf.get(tenant, eventId)
    return found === undefined ? undefined : fromAuditColumns(found)
  }

  rows(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[] {
    const { phrases } = filter
    const along = { view, names: this.#names }
    const conditions = conditionsOf(view, filter, along)
    if (phrases === undefined) return this.#list(conditions, page, eventsBy(filter, along))
    const { sql, values } = conditions
    const match = matchText(view.tenant, phrases)
    const text = { sql: `t.audit_text MATCH ? AND ${sql}`, values: [match, ...values] }
    return this.#list(this.#fromRow(text, view.tenant, page), page, TEXT_FIRST)
  }

  openCalls(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[] {
    return this.#list(notFollowed(view, { ...filter, types: [...CLAIMS] }, 'call'), page, 'events e')
  }

  openReservations(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[] {
    return this.#list(notFollowed(view, { ...filter, types: [...RESERVATIONS] }, 'reservation'), page, 'events e')
  }

  openCompensations(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[] {
    return this.#list(
      notFollowed(view, { ...filter, types: [...UNDONE_NOT] }, 'compensation'),
      page,
      eventsBy({ ...filter, types: [...UNDONE_NOT] }),
    )
  }

  #list(
    { sql, values }: { readonly sql: string; readonly values: readonly unknown[] },
    { after, upTo, limit, newestFirst = false }: LeafPage,
    from: string,
  ): readonly AuditRow[] {
    const beyond = after === undefined ? '' : `AND e.leaf ${newestFirst ? '<' : '>'} ?`
    const within = upTo === undefined ? '' : `AND e.leaf ${newestFirst ? '>=' : '<='} ?`
    // Leaves of one tenant increase with the rows, so both orders are equivalent; the word index is scanned by rowid.
    const order = `${from === TEXT_FIRST ? 't.rowid' : 'e.leaf'} ${newestFirst ? 'DESC' : 'ASC'}`
    return this.#db
      .prepare<unknown[], AuditColumns>(
        `SELECT ${AUDIT_COLUMNS.map((name) => `e.${name}`).join(', ')} FROM ${from} WHERE ${sql} ${beyond} ${within} ORDER BY ${order} LIMIT ?`,
      )
      .all(...values, ...[after, upTo].filter((leaf) => leaf !== undefined), limit)
      .map(fromAuditColumns)
  }

  /** Hits are scanned by rowid: the bounds of the page are converted to rowids, so that no other rows are examined. */
  #fromRow({ sql, values }: Conditions, tenant: string, page: LeafPage): Conditions {
    const { after, upTo, newestFirst = false } = page
    // A leaf that does not exist is before the first or after the last one, so no bound is needed.
    const seqOf = (leaf: number | undefined) =>
      leaf === undefined ? undefined : this.#statements.seq.get(tenant, leaf)
    const bounds = [
      { compare: newestFirst ? '<' : '>', seq: seqOf(after) },
      { compare: newestFirst ? '>=' : '<=', seq: seqOf(upTo) },
    ].filter(({ seq }) => seq !== undefined)
    return {
      sql: [sql, ...bounds.map(({ compare }) => `t.rowid ${compare} ?`)].join(' AND '),
      values: [...values, ...bounds.map(({ seq }) => seq)],
    }
  }

  readonly runStarts: AuditIndex['runStarts'] = (view, walk) => runStarts(this.#db, view, walk)
  readonly runPart: AuditIndex['runPart'] = (view, run, walk) => runPart(this.#db, view, { run, ...walk })
  readonly spend: AuditIndex['spend'] = (view, filter, page) => spendGroups(this.#db, view, { filter, page })
  readonly spendOfBlocks: AuditIndex['spendOfBlocks'] = (view, filter, page) => this.#sums.groups(view, filter, page)
  readonly spendBlocksAt: AuditIndex['spendBlocksAt'] = (view, hours) => this.#sums.blocksAt(view, hours)
  readonly spendOfRuns: AuditIndex['spendOfRuns'] = (view, filter, walk) =>
    spendOfRuns(this.#db, view, { filter, walk })
  readonly keys: AuditIndex['keys'] = (view, filter, page) => keyGroups(this.#db, view, { filter, page })
  readonly missingRevisions: AuditIndex['missingRevisions'] = (view, run, walk) =>
    missingRevisions(this.#db, view, { run, ...walk })
}

const TEXT_FIRST = 'audit_text t CROSS JOIN events e ON e.seq = t.rowid'

function prepareStatements(db: Database) {
  return {
    progress: db.prepare<[], AuditProgress>('SELECT position, digest FROM progress'),
    saveProgress: db.prepare('INSERT OR REPLACE INTO progress (one, position, digest) VALUES (1, ?, ?)'),
    size: db.prepare<[string], number>('SELECT ifnull(max(leaf) + 1, 0) FROM events WHERE tenant = ?').pluck(),
    isForeign: db.prepare('SELECT 1 FROM foreign_streams WHERE stream = ?').pluck(),
    saveForeign: db.prepare('INSERT OR IGNORE INTO foreign_streams (stream) VALUES (?)'),
    hasStream: db.prepare('SELECT 1 FROM events WHERE stream = ? LIMIT 1').pluck(),
    stateRow: db.prepare<[string], number>('SELECT rowid FROM states WHERE stream = ?').pluck(),
    state: db.prepare<[string], string>('SELECT state FROM states WHERE stream = ?').pluck(),
    saveState: db.prepare('INSERT OR REPLACE INTO states (stream, state) VALUES (?, ?)'),
    claim: db.prepare<unknown[], { agent: string | null; tool: string | null }>(
      `SELECT agent, tool FROM events WHERE tenant = ? AND call = ? AND stream = ? AND type IN ${listOf(CLAIMS)} ORDER BY leaf DESC LIMIT 1`,
    ),
    row: db.prepare<unknown[], AuditColumns>(
      `SELECT ${AUDIT_COLUMNS.join(', ')} FROM events WHERE tenant = ? AND leaf = ?`,
    ),
    rowOf: db.prepare<unknown[], AuditColumns>(
      `SELECT ${AUDIT_COLUMNS.join(', ')} FROM events WHERE tenant = ? AND id = ? LIMIT 1`,
    ),
    seq: db.prepare<unknown[], number>('SELECT seq FROM events WHERE tenant = ? AND leaf = ?').pluck(),
    saveEvent: db.prepare(
      `INSERT INTO events (${AUDIT_COLUMNS.join(', ')}) VALUES (${AUDIT_COLUMNS.map(() => '?').join(', ')})`,
    ),
    saveCharge: db.prepare(`INSERT INTO charges (seq, agent, tokens, whole, nano, currency, provider, model, estimated)
      VALUES (@seq, @agent, @tokens, @whole, @nano, @currency, @provider, @model, @estimated)`),
    saveText: db.prepare('INSERT INTO audit_text (rowid, tenant, body) VALUES (?, ?, ?)'),
  }
}

// Queries for open items in the auditors' index: claims, reservations and failed compensations that no later event ends.

const CLAIMS = typesThat(({ changes }) => changes.call === 'claimed')
const RESERVATIONS = typesThat(({ changes }) => changes.reservation === 'open')
const UNDOINGS = typesThat(({ changes }) => changes.undoing !== undefined)
/** Compensations after which the effect is, as far as known, still in place. */
const UNDONE_NOT = typesThat(({ changes }) => changes.undoing !== undefined && changes.undoing !== 'succeeded')
const CALL_ENDS = typesThat(({ changes }) => changes.call === 'settled')
const RESERVATION_ENDS = typesThat(
  ({ changes }) => changes.reservation === 'settled' || changes.reservation === 'released',
)
const RESOLVES = 'ToolCallResolved' satisfies EventType

/** Safe to embed in SQL: type names come from the event catalogue, never from user input. */
const listOf = (types: readonly EventType[]): string => `(${types.map((type) => `'${type}'`).join(', ')})`

/**
 * Conditions that no later event `o` ends a claim, a reservation or a failed compensation. A new claim of the same call ends the one before, and so does
 * the claim of the call that undoes it.
 */
const NOT_FOLLOWED = {
  call: `NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.call = e.call AND o.stream = e.stream AND o.leaf > e.leaf AND o.leaf < ?
    AND o.type IN ${listOf([...CLAIMS, ...CALL_ENDS])})
    AND NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.compensates = e.call AND o.stream = e.stream
    AND o.leaf > e.leaf AND o.leaf < ? AND o.type IN ${listOf(CLAIMS)})`,
  reservation: `NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.reservation = e.reservation AND o.stream = e.stream
    AND o.leaf > e.leaf AND o.leaf < ? AND o.type IN ${listOf(RESERVATION_ENDS)})`,
  compensation: `NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.compensates = e.compensates AND o.stream = e.stream
    AND o.leaf > e.leaf AND o.leaf < ? AND o.type IN ${listOf(UNDOINGS)})
    AND NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.call IN (e.call, e.compensates) AND o.stream = e.stream
    AND o.leaf > e.leaf AND o.leaf < ? AND o.type = '${RESOLVES}')`,
} as const

/** Events that match the filter and that no later event of the view ends. */
function notFollowed(view: AuditView, filter: AuditFilter, by: keyof typeof NOT_FOLLOWED): Conditions {
  const { sql, values } = conditionsOf(view, filter)
  const sizes = NOT_FOLLOWED[by].split('?').slice(1)
  return { sql: `${sql} AND ${NOT_FOLLOWED[by]}`, values: [...values, ...sizes.map(() => view.size)] }
}
