/**
 * @module The scrub: rereads the whole store in slices at low priority, and checks each event against its seal and its place in the tenant's log
 * (LOG-25), so that altered or missing events are found before anybody reads them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sameHash } from '../../merkle/hashes.ts'
import { recordDigest } from '../../signing/digests.ts'
import { logTenant } from '../../signing/stream-tenant.ts'
import { type EventStore, type Position, type ReadRecord, readOne } from '../../store/event-store.ts'
import type { LeafRow, LogStore } from '../../store/log-store.ts'
import type { ViewStore } from '../../store/view-store.ts'
import type { Sealer, SealFault } from '../identity/sealer.ts'
import { acknowledgedIn } from '../log/acknowledged-holes.ts'
import { isPassedOver } from '../log/late-events.ts'
import { leafHashAt } from '../log/leaf-hash.ts'
import { digestBytes } from '../log/log-deps.ts'
import type { Effects, Log } from '../ports.ts'
import { sealFaults } from '../read/record-seal.ts'
import type { RunList } from '../read/run-list.ts'
import type { IntegrityFaults } from './integrity-faults.ts'
import { type ScrubPass, type ScrubState, scrubState, type WholePass } from './scrub-state.ts'

const NOTE = 'scrub'
const DAY_MS = 86_400_000
/** Interval between slices, in milliseconds. */
export const SLICE_EVERY_MS = 10_000
/** Number of events in a slice: in the first pass, when the total is unknown, and the minimum. */
const FIRST_SLICE = 5_000
const SLICE_MIN = 500
/** Factor by which a pass is faster than its maximum duration requires. */
const AHEAD = 1.2
/** Number of events that are checked before other work gets a turn. */
const TURN_EVENTS = 64
/** Maximum number of consecutive missing leaves that are reported. */
const MISSING_MAX = 100

export interface ScrubDeps {
  readonly store: EventStore
  readonly views: ViewStore
  readonly list: RunList
  readonly logStore?: LogStore | undefined
  readonly sealer: Sealer
  readonly faults: IntegrityFaults
  readonly effects: Pick<Effects, 'nowMs'>
  readonly log: Log
  /** Maximum duration of a complete pass, in days. */
  readonly days: number
}

export class Scrub implements Disposable {
  readonly #deps: ScrubDeps
  #timer: NodeJS.Timeout | undefined
  #slicing: Promise<boolean> | undefined
  #failed = false
  #isOver = false

  constructor(deps: ScrubDeps) {
    this.#deps = deps
  }

  /** Starts slices at intervals, until it is disposed. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#tick(), SLICE_EVERY_MS).unref()
  }

  /** Read from the views at each call. */
  get state(): ScrubState {
    return scrubState(this.#deps.views.note(NOTE))
  }

  /** A complete pass, from the start or from where one had stopped. The list has caught up with faults that others recorded before. */
  async whole(): Promise<WholePass | undefined> {
    await this.#deps.list.catchUp()
    while (await this.slice({ now: true })) await nextTurn()
    return this.state.last
  }

  /** Runs the next slice if one is due; resolves to whether the pass continues. Slices never overlap. */
  async slice({ now = false } = {}): Promise<boolean> {
    if (this.#slicing !== undefined) await this.#slicing.catch(() => undefined)
    this.#slicing = this.#slice(now).finally(() => {
      this.#slicing = undefined
    })
    return this.#slicing
  }

  async #tick(): Promise<void> {
    if (this.#slicing !== undefined) return
    try {
      await this.slice()
      this.#failed = false
    } catch (error) {
      if (!this.#failed)
        this.#deps.log.warn(
          { err: error },
          'the scrub could not read on: it tries again every ten seconds and goes on where it was; where that lasts, see to the store',
        )
      this.#failed = true
    }
  }

  async #slice(now: boolean): Promise<boolean> {
    const { store, views, list } = this.#deps
    await list.check()
    const { last, pass = await this.#begun(last, now) } = this.state
    if (pass === undefined) return false
    const { after, until } = pass
    let remaining = this.#quota(last)
    for await (const page of store.readAll({ ...(after !== undefined && { after }), until })) {
      for (const record of page) {
        await this.#check(record, pass)
        remaining -= 1
        if (remaining % TURN_EVENTS === 0) await nextTurn()
        if (this.#isOver) return false
      }
      if (remaining <= 0) {
        views.saveNote(NOTE, JSON.stringify({ v: 1, pass, ...(last && { last }) }))
        return true
      }
    }
    await this.#end(pass)
    return false
  }

  #quota(last: WholePass | undefined): number {
    if (last === undefined) return FIRST_SLICE
    const slices = (this.#deps.days * DAY_MS) / SLICE_EVERY_MS
    return Math.max(SLICE_MIN, Math.ceil((last.events * AHEAD) / slices))
  }

  /** Undefined if the last pass began too recently, or if there is nothing to read. */
  async #begun(last: WholePass | undefined, now: boolean): Promise<ScrubPass | undefined> {
    const { store, effects, days, logStore } = this.#deps
    const nowMs = effects.nowMs()
    if (!now && last !== undefined && nowMs - Date.parse(last.startedAt) < days * DAY_MS) return undefined
    const end = await store.end()
    const until = logStore === undefined ? end : this.#earlier(end, logStore.progress()?.position)
    if (until === undefined) return undefined
    return { startedAt: new Date(nowMs).toISOString(), until, events: 0, broken: 0, leaves: {} }
  }

  /** Events that the logs have not seen yet have no leaf to be checked against. */
  #earlier(end: Position | undefined, seen: Position | undefined): Position | undefined {
    if (end === undefined || seen === undefined) return undefined
    return this.#deps.store.comparePositions(end, seen) <= 0 ? end : seen
  }

  /** Reads an event that fails once more, because a bit that flipped in transit is not in the store. */
  async #check(record: ReadRecord, pass: ScrubPass): Promise<void> {
    pass.events += 1
    pass.after = record.position
    const row = await this.#leafOf(record, pass)
    if (this.#faultOf(record, row) === undefined) return
    const fault = this.#faultOf((await readOne(this.#deps.store, record)) ?? record, row)
    if (fault !== undefined && !this.#isAcknowledged(record)) await this.#broken(record, fault, pass)
  }

  #faultOf(record: ReadRecord, row: LeafRow | undefined): Pick<SealFault, 'code' | 'message'> | undefined {
    const { store, logStore, sealer } = this.#deps
    const [fault] = sealFaults(sealer, record)
    if (fault === undefined && logStore !== undefined && isPassedOver({ store, logStore }, record))
      return { code: 'not-in-log', message: 'was not in the store when the log passed its place' }
    if (fault !== undefined || row === undefined) return fault
    const hash = logStore && leafHashAt(logStore, row)
    const isAnother = hash !== undefined && !sameHash(hash, digestBytes(recordDigest(record.header)))
    return isAnother ? { code: 'leaf', message: 'is not the event that the log has in its place' } : undefined
  }

  /** Leaves come in store order, so a skipped leaf is missing. Foreign streams and events after the stop of a log have no leaves. */
  async #leafOf(record: ReadRecord, pass: ScrubPass): Promise<LeafRow | undefined> {
    const { logStore } = this.#deps
    const tenant = logTenant(record.stream)
    if (logStore === undefined || tenant === undefined) return undefined
    const next = pass.leaves[tenant] ?? 0
    const row = leafAt(logStore, tenant, next, record)
    if (row === undefined) return undefined
    for (let index = next; index < Math.min(row.index, next + MISSING_MAX); index += 1) {
      await this.#missing(logStore.leaf(tenant, index), pass)
    }
    pass.leaves[tenant] = row.index + 1
    return row
  }

  async #end(pass: ScrubPass): Promise<void> {
    const { store, views, logStore, effects } = this.#deps
    for (const tenant of logStore === undefined
      ? []
      : new Set([...logStore.signedTenants(), ...Object.keys(pass.leaves)])) {
      const from = pass.leaves[tenant] ?? 0
      for (let index = from; index < from + MISSING_MAX; index += 1) {
        const row = logStore?.leaf(tenant, index)
        if (row === undefined || store.comparePositions(row.position, pass.until) > 0) break
        await this.#missing(row, pass)
      }
    }
    const { startedAt, events, broken, leaves } = pass
    const last: WholePass = { startedAt, endedAt: new Date(effects.nowMs()).toISOString(), events, broken, leaves }
    views.saveNote(NOTE, JSON.stringify({ v: 1, last }))
  }

  async #missing(row: LeafRow | undefined, pass: ScrubPass): Promise<void> {
    if (row === undefined || this.#isAcknowledged(row) || (await readOne(this.#deps.store, row)) !== undefined) return
    await this.#broken(row, { code: 'missing', message: 'the log has it, the store has not' }, pass)
  }

  /** What is lost for good is no news, and does not keep other events from being found repaired. */
  #isAcknowledged(place: Pick<SealFault, 'stream' | 'revision'>): boolean {
    return acknowledgedIn(this.#deps.logStore)(place)
  }

  async #broken(
    { stream, revision }: Pick<SealFault, 'stream' | 'revision'>,
    { code, message }: Pick<SealFault, 'code' | 'message'>,
    pass: ScrubPass,
  ): Promise<void> {
    pass.broken += 1
    await this.#deps.faults.confirmed({ stream, revision, code, message })
  }

  /** Resolves once no slice is running. */
  async stopped(): Promise<void> {
    await this.#slicing?.catch(() => undefined)
  }

  /** The running slice ends at its next turn. */
  [Symbol.dispose](): void {
    this.#isOver = true
    clearInterval(this.#timer)
  }
}

/** The leaf of a record: the next one of its log, or a later one if leaves in between are missing. */
function leafAt(logStore: LogStore, tenant: string, next: number, { stream, revision, header }: ReadRecord) {
  const expected = logStore.leaf(tenant, next)
  if (expected?.stream === stream && expected.revision === revision) return expected
  const id = idOf(header)
  const found = id === undefined ? undefined : logStore.leafOf(tenant, id)
  return found !== undefined && found.index >= next ? found : undefined
}

function idOf(header: string): string | undefined {
  return /"id":"([0-9a-f-]{36})"/.exec(header)?.[1]
}
