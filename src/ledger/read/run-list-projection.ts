/** @module The projection of the store onto the run list: every event of a run updates its row, and recorded faults are collected. */

import { wakeParent, wakesAt } from '../../../projections/run-due.ts'
import { RUN_ROW_PROJECTION, RUN_ROW_VERSION, type RunRowState } from '../../../projections/run-row.ts'
import { EVENTS, type EventType } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import { parseJson } from '../../../schemas/json.ts'
import { parseStream, runStream } from '../../../schemas/names.ts'
import { requireBodies } from '../../store/archive-missing-error.ts'
import { againIfRenewed, DerivedFileRenewedError, NOT_AUTHENTIC } from '../../store/derived-file.ts'
import type { EventStore, Position, ReadRecord } from '../../store/event-store.ts'
import type { FaultRow, ViewCheckpoint, ViewStore } from '../../store/view-store.ts'
import { type FoldRecord, foldFitting, foldRecord, rowOf } from './run-row-fold.ts'
import { isStillStored, OTHER_STORE, seenRecord } from './seen-record.ts'
import { isOfRows, ViewBehindError } from './view-behind.ts'

/** The last record that the list has seen. */
export function runListReached(views: Pick<ViewStore, 'checkpoint'>): ViewCheckpoint | undefined {
  return views.checkpoint(RUN_ROW_PROJECTION, RUN_ROW_VERSION)
}

/** Runs within runs are nested far less deeply. */
const LEVELS_MAX = 64

type FollowedStore = Pick<EventStore, 'readAll' | 'recordAt' | 'end' | 'comparePositions'>

export class RunListProjection {
  readonly #store: FollowedStore
  readonly #views: ViewStore
  #isSame = false
  /** Number of faults added so far. */
  #faults = 0

  constructor(store: FollowedStore, views: ViewStore) {
    this.#store = store
    this.#views = views
  }

  /** Number of faults that the passes have added so far. */
  get faults(): number {
    return this.#faults
  }

  /** Follows the store up to its end at the time of the call; stops after a page if `goOn` returns false. */
  async pass(goOn: () => boolean): Promise<void> {
    await againIfRenewed(() => this.#pass(goOn))
    this.#views.noteFile()
  }

  async #pass(goOn: () => boolean): Promise<void> {
    if (!(await this.#views.isAuthentic())) this.#views.renew(NOT_AUTHENTIC)
    if (!this.#isSame) await this.#checkSame()
    // Pinned: a pass that chased the writers would never end.
    const until = await this.#store.end()
    const after = runListReached(this.#views)?.position
    if (until === undefined || (after !== undefined && this.#store.comparePositions(after, until) >= 0)) return
    let from = after
    for await (const page of this.#store.readAll({ after, until, isShared: true })) {
      if (!this.#fold(page, from)) return this.#pass(goOn)
      from = page.at(-1)?.position
      if (!goOn()) return
    }
  }

  /** Once per start: a list of another store, or one with events that a restored copy lacks, is rebuilt. */
  async #checkSame(): Promise<void> {
    const reached = runListReached(this.#views)
    if (reached !== undefined && !(await isStillStored(this.#store, reached))) this.#views.renew(OTHER_STORE)
    this.#isSame = true
  }

  /** False if the file was rebuilt in the meantime. */
  #fold(page: readonly ReadRecord[], from: Position | undefined): boolean {
    try {
      return this.#folded(page, from, foldRecord)
    } catch (cause) {
      // A record that somebody else added to the store may contain anything, and must not stop the list for all tenants.
      if (!(cause instanceof ViewBehindError && isOfRows(cause.cause))) throw cause
      return this.#folded(page, from, foldFitting)
    }
  }

  #folded(page: readonly ReadRecord[], from: Position | undefined, foldRecord: FoldRecord): boolean {
    requireBodies(page)
    const faults: FaultRow[] = []
    const touched = new Map<string, Touched>()
    for (const record of page) {
      const name = parseStream(record.stream)
      if (name?.kind === 'ledger') faults.push(...faultsOnRecord(name.tenant, record))
      if (name?.runId === undefined) continue
      const known = touched.get(record.stream) ?? this.#load(name.tenant, name.runId)
      known.state = foldRecord(known.state, record)
      touched.set(record.stream, known)
      this.#wakeParent(touched, known)
    }
    const last = page.at(-1)
    return last === undefined || this.#save({ touched: [...touched.values()], faults }, last, from)
  }

  /** A run within a run is carried on with it, so what may let it continue makes the outer run due. */
  #wakeParent(touched: Map<string, Touched>, { tenant, state }: Touched): void {
    let inner = state
    // Bounded: records that somebody else added to the store may name a run as its own parent.
    for (let level = 0; level < LEVELS_MAX && inner?.status === 'open'; level += 1) {
      const wakes = wakesAt(inner.due)
      const { parent } = inner.due
      if (wakes === undefined || parent === undefined) return
      const stream = runStream(tenant, parent)
      const outer = touched.get(stream) ?? this.#load(tenant, parent)
      touched.set(stream, outer)
      if (outer.state !== undefined) wakeParent(outer.state.due, wakes)
      inner = outer.state
    }
  }

  #save(
    { touched, faults }: { readonly touched: readonly Touched[]; readonly faults: readonly FaultRow[] },
    last: ReadRecord,
    from: Position | undefined,
  ): boolean {
    try {
      const rows = touched.flatMap(({ tenant, runId, state }) =>
        state === undefined ? [] : [rowOf(tenant, runId, state)],
      )
      const to = { projection: RUN_ROW_PROJECTION, version: RUN_ROW_VERSION, from, ...seenRecord(last) }
      const isSaved = this.#views.saveRuns(rows, to, faults)
      if (isSaved) this.#faults += faults.length
      return isSaved
    } catch (cause) {
      if (cause instanceof DerivedFileRenewedError) throw cause
      throw new ViewBehindError('the run list', cause)
    }
  }

  #load(tenant: string, runId: string): Touched {
    const row = this.#views.runRow(tenant, runId)
    return { tenant, runId, state: row === undefined ? undefined : parseJson<RunRowState>(row.fold) }
  }
}

interface Touched {
  readonly tenant: string
  readonly runId: string
  state: RunRowState | undefined
}

const FAULT_FOUND = 'IntegrityFaultFound' satisfies EventType

/** The event that an event of a tenant's ledger stream records as broken, if any. */
export function faultsOnRecord(tenant: string, { header, data }: ReadRecord): readonly FaultRow[] {
  try {
    const { type, time } = parseJson(header) as Header
    if (type !== FAULT_FOUND) return []
    const { stream, revision, code } = EVENTS[FAULT_FOUND].schema.parse(parseJson(data))
    return [{ tenant, stream, revision, code, foundAt: time }]
  } catch {
    return []
  }
}
