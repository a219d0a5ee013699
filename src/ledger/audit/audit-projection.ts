/**
 * @module The projection of the store onto the audit index: one row per event, with its charges and its words. Records are not verified, since the
 * index is no proof: each row leads to its event, and the event to its proof. Foreign streams, in stores that others may write to, have no rows, just
 * as they have no leaves in the log (LOG-2).
 */

import { type ChargeState, foldCharges, noCharges } from '../../../projections/charges.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import { type JsonObject, parseJson } from '../../../schemas/json.ts'
import { toNano } from '../../../schemas/money.ts'
import { parseStream } from '../../../schemas/names.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import { cacheWithin, type SizedCache, textBytes } from '../../resources/sized-cache.ts'
import { isHeldPlace } from '../../signing/held-place.ts'
import type { AuditIndex, ChargeRow } from '../../store/audit-index.ts'
import { againIfRenewed, DerivedFileRenewedError, NOT_AUTHENTIC } from '../../store/derived-file.ts'
import type { EventStore, Position } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { sealFaults, sealOf } from '../read/record-seal.ts'
import { isStillStored, OTHER_STORE, type SeenRecord } from '../read/seen-record.ts'
import { isOfRows, ViewBehindError } from '../read/view-behind.ts'
import { rowOf } from './audit-row.ts'
import { building, type IndexProgress, percentOf } from './index-building.ts'
import { type Claim, claimBytes, noChanges, type PageChanges } from './page-changes.ts'
import { type PageRange, type PageToIndex, pageToIndex, type RecordToIndex } from './page-to-index.ts'

/**
 * Number of events whose rows share a transaction. The word index has a cost per transaction, and a thread that serves requests is blocked for the
 * length of one, which is some milliseconds. A thread that serves no requests may be blocked for longer; larger batches save no more time and need
 * memory for all of their events.
 */
const SAVED_AT_ONCE = { serving: 128, alone: 1_024 } as const

/** Fractions of the memory share of the index. An evicted entry is read from the index again when an event needs it. */
const PARTS = { states: 0.5, claims: 0.25, ours: 0.25 } as const
/** Approximate ratio of a parsed state's memory to the size of its text. */
const STATE_FACTOR = 4

export interface ProjectionDeps {
  readonly store: Pick<EventStore, 'readAll' | 'recordAt' | 'end' | 'comparePositions' | 'densePositions'>
  readonly index: AuditIndex
  /** Absent if there are no keys: every stream is then treated as ours. */
  readonly sealer?: Sealer | undefined
  readonly onProgress?: (events: number) => void
  readonly memory: MemoryBudget
  /** Whether this thread serves no requests that would wait while a large part of the index is written at once. Default: false. */
  readonly isAlone?: boolean
  /** Whether each event is checked by its seal, because no log does that here: one that does not verify is reported, and has its row. Default: false. */
  readonly checksSeals?: boolean
  /** Reads the pages of a range, or the first of them, ahead of this thread on another one. */
  readonly readAhead?: ((range: PageRange) => AsyncIterable<PageToIndex>) | undefined
}

export class AuditProjection {
  readonly #deps: ProjectionDeps
  readonly #states: SizedCache<ChargeState>
  readonly #claims: SizedCache<Claim>
  /** Streams that belong to this ledger. */
  readonly #ours: SizedCache<typeof OURS>
  #isSame = false
  /** Set after events could not be indexed as they are: until the next successful save, each event is checked against its schema. */
  #isHeldToSchema = false
  #progress: IndexProgress = { indexedEvents: 0, percent: 0 }
  #building: IndexProgress | undefined

  constructor(deps: ProjectionDeps) {
    this.#deps = deps
    const { memory } = deps
    this.#states = cacheWithin(memory, 'audit-index', PARTS.states)
    this.#claims = cacheWithin(memory, 'audit-index', PARTS.claims)
    this.#ours = cacheWithin(memory, 'audit-index', PARTS.ours)
    // The states in memory are ahead of an empty file.
    deps.index.onRenewed(() => this.#forget())
  }

  /** Progress of the running pass, or of the last one. */
  get progress(): IndexProgress {
    return this.#progress
  }

  /** Defined while a pass is running that still has far to go. */
  get building(): IndexProgress | undefined {
    return this.#building
  }

  /** Follows the store up to its end at the time of the call; stops after a save if `goOn` returns false. */
  async pass(goOn: () => boolean): Promise<void> {
    try {
      await againIfRenewed(() => this.#pass(goOn))
      this.#deps.index.noteFile()
    } finally {
      this.#building = undefined
    }
  }

  async #pass(goOn: () => boolean): Promise<void> {
    const { store, index, onProgress, isAlone = false } = this.#deps
    const savedAtOnce = isAlone ? SAVED_AT_ONCE.alone : SAVED_AT_ONCE.serving
    if (!(await this.#deps.index.isAuthentic())) this.#deps.index.renew(NOT_AUTHENTIC)
    if (!this.#isSame) await this.#checkSame()
    // Pinned: a pass that chased the writers would never end.
    const until = await store.end()
    const after = index.progress()?.position
    if (until === undefined || (after !== undefined && store.comparePositions(after, until) >= 0)) return
    let [from, events, saved, changes] = [after, 0, 0, noChanges()]
    let last: SeenRecord | undefined
    this.#progress = { indexedEvents: 0, percent: percentOf(after, until) }
    for await (const page of this.#pages({ after, until })) {
      if (!this.#takeAll(page, changes)) return this.#pass(goOn)
      last = page.seen
      events += page.records.length
      this.#progress = { indexedEvents: events, percent: percentOf(last.position, until) }
      this.#building = building(this.#progress)
      onProgress?.(events)
      if (events - saved < savedAtOnce && last.position !== until) continue
      if (!this.#saved(changes, last, from)) return this.#pass(goOn)
      from = last.position
      changes = noChanges()
      saved = events
      if (!goOn()) return
    }
    if (last !== undefined && last.position !== from && !this.#saved(changes, last, from)) return this.#pass(goOn)
  }

  /** Pages that were not read ahead are read here. */
  async *#pages(range: PageRange): AsyncGenerator<PageToIndex> {
    const { store, readAhead } = this.#deps
    let { after } = range
    if (readAhead !== undefined && !this.#isHeldToSchema) {
      for await (const page of readAhead(range)) {
        yield page
        after = page.seen.position
      }
    }
    for await (const records of store.readAll({ after, until: range.until, isShared: true })) {
      const page = pageToIndex(records, { isHeldToSchema: this.#isHeldToSchema })
      if (page !== undefined) yield page
    }
  }

  /** Once per start: an index of another store, or one with events that a restored copy lacks, is rebuilt. */
  async #checkSame(): Promise<void> {
    const { store, index } = this.#deps
    const progress = index.progress()
    if (progress !== undefined && !(await isStillStored(store, progress))) index.renew(OTHER_STORE)
    this.#isSame = true
  }

  /** False if another process has advanced the index in the meantime. */
  #saved(changes: PageChanges, progress: SeenRecord, from: Position | undefined): boolean {
    const { index, isAlone = false } = this.#deps
    const isBulk = isAlone && this.#building !== undefined
    const states = new Map([...changes.states].map(([stream, state]) => [stream, JSON.stringify(state)]))
    try {
      const { entries, foreign } = changes
      const saved = index.save({ entries, states, foreign: [...foreign], progress, isBulk }, from)
      if (saved) this.#remember(changes, states)
      else this.#forget()
      this.#isHeldToSchema = false
      return saved
    } catch (cause) {
      return this.#again(cause)
    }
  }

  /** False if the pass has to start over from what was saved. */
  #takeAll({ records }: PageToIndex, changes: PageChanges): boolean {
    try {
      for (const record of records) this.#take(record, changes)
      return true
    } catch (cause) {
      return this.#again(cause)
    }
  }

  /** A record that somebody else added to the store may contain anything, and must not stop the index for all tenants. */
  #again(cause: unknown): false {
    this.#forget()
    if (cause instanceof DerivedFileRenewedError) throw cause
    if (this.#isHeldToSchema || !isOfRows(cause)) throw new ViewBehindError("the auditors' index", cause)
    this.#isHeldToSchema = true
    return false
  }

  /** Caches what was saved, which may be evicted from here on. */
  #remember({ states, claims, ours }: PageChanges, texts: ReadonlyMap<string, string>): void {
    for (const [stream, state] of states) {
      this.#states.set(stream, state, STATE_FACTOR * textBytes(texts.get(stream) ?? ''))
    }
    for (const [key, claim] of claims) this.#claims.set(key, claim, claimBytes(claim))
    for (const stream of ours) this.#ours.set(stream, OURS, 0)
  }

  /** Drops the states in memory, which are ahead of what was saved. */
  #forget(): void {
    this.#states.clear()
    this.#claims.clear()
    this.#ours.clear()
  }

  #take(record: RecordToIndex, changes: PageChanges): void {
    const { stream, revision } = record
    const name = parseStream(stream)
    if (name?.kind === 'value') return
    if (name === undefined || changes.foreign.has(stream) || this.#isForeign(record, changes)) {
      changes.foreign.add(stream)
      return
    }
    const { tenant } = name
    const { id, clocked, misplaced, facts, call, charged, text } = record.said()
    // What counts this row names its event as one that does not verify.
    if (misplaced) this.#deps.sealer?.faultFound({ stream, revision, ...MISPLACED })
    else if (this.#deps.checksSeals === true) this.#checkSeal(record)
    const leaf = changes.sizes.get(tenant) ?? this.#deps.index.size(tenant)
    changes.sizes.set(tenant, leaf + 1)
    const claim = call === undefined ? {} : this.#claim({ tenant, stream, call }, changes)
    const { type } = facts
    if (type === 'ToolCallClaimed' && facts.call !== undefined) {
      const { agent, tool } = facts
      changes.claims.set(`${facts.call} ${stream}`, { ...(agent && { agent }), ...(tool && { tool }) })
    }
    const place = { tenant, leaf, stream, revision, position: record.position, id, clocked, run: name.runId }
    changes.entries.push({
      row: rowOf(place, facts, claim),
      charges: charged === undefined ? [] : this.#charges({ type, charged, stream }, changes),
      text,
    })
  }

  #checkSeal({ record }: RecordToIndex): void {
    const { sealer } = this.#deps
    if (sealer !== undefined && record !== undefined && !isHeldPlace(record)) sealOf(sealer, record)
  }

  #charges(
    { type, charged, stream }: { readonly type: string; readonly charged: JsonObject; readonly stream: string },
    changes: PageChanges,
  ): ChargeRow[] {
    const state = changes.states.get(stream) ?? this.#state(stream)
    const before = { currency: state.currency, nothingOpen: holdsNothing(state) }
    try {
      const charges = foldCharges(state, { type, data: charged } as unknown as RecordedEvent)
      const same = before.nothingOpen && holdsNothing(state) && state.currency === before.currency
      if (!same) changes.states.set(stream, state)
      return charges.map(({ cost, ...charge }) => ({ ...charge, costNano: signedNano(cost) }))
    } catch {
      return []
    }
  }

  #state(stream: string): ChargeState {
    const known = this.#states.get(stream)
    if (known !== undefined) return known
    const saved = this.#deps.index.chargeState(stream)
    const state = saved === undefined ? noCharges() : parseJson<ChargeState>(saved)
    this.#states.set(stream, state, STATE_FACTOR * textBytes(saved ?? ''))
    return state
  }

  #claim(of: { readonly tenant: string; readonly stream: string; readonly call: string }, changes: PageChanges): Claim {
    const { tenant, stream, call } = of
    const key = `${call} ${stream}`
    const known = changes.claims.get(key) ?? this.#claims.get(key)
    if (known !== undefined) return known
    const claim = this.#deps.index.claim(tenant, stream, call) ?? {}
    this.#claims.set(key, claim, claimBytes(claim))
    return claim
  }

  /** A stream is ours if this ledger sealed its first event, or the first event that was met, since the first one may be out of place. */
  #isForeign({ stream, revision, record }: RecordToIndex, { ours }: PageChanges): boolean {
    const { store, index, sealer } = this.#deps
    // Only this ledger writes to such a store: a record that does not verify there is ours, altered or out of place, and has its row.
    if (store.densePositions === true || sealer === undefined) return false
    if (ours.has(stream) || this.#ours.get(stream) !== undefined) return false
    const isKnown = revision > 0 && !index.isForeign(stream) && index.hasStream(stream)
    const isOwn = isKnown || (record !== undefined && sealFaults(sealer, record).length === 0)
    if (isOwn) ours.add(stream)
    return !isOwn
  }
}

const OURS = Object.freeze({})

const MISPLACED = { code: 'wrong-stream', message: 'it was sealed for another place' }

/** Called before and after each event, so it stops at the first open item instead of counting them. */
function holdsNothing({ held, modelCallers }: ChargeState): boolean {
  for (const _ in held) return false
  for (const _ in modelCallers) return false
  return true
}

function signedNano(cost: string): bigint {
  return cost.startsWith('-') ? -toNano(cost.slice(1)) : toNano(cost)
}
