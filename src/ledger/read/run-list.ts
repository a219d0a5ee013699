/** @module The run list: a disposable view that catches up when it is requested, and while nothing is appended. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RUN_ROW_PROJECTION, RUN_ROW_VERSION, type RunRowState } from '../../../projections/run-row.ts'
import { EVENTS, type EventType } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { parseStream, runStream } from '../../../schemas/names.ts'
import { withinRun } from '../../access/check-access.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { againIfRenewed, DerivedFileRenewedError, NOT_AUTHENTIC } from '../../store/derived-file.ts'
import type { EventStore, Position, ReadRecord } from '../../store/event-store.ts'
import type { FaultRow, RunFilter, RunRow, ViewCheckpoint, ViewStore } from '../../store/view-store.ts'
import type { Followed } from '../followed.ts'
import type { Caller, RunListFilter } from '../ledger.ts'
import { type FollowerOptions, QuietFollower } from './quiet-follower.ts'
import { type FoldRecord, foldFitting, foldRecord, leaseOverBefore, rowBody, rowOf } from './run-row-fold.ts'
import { isStillThere, OTHER_STORE, seenRecord } from './seen-record.ts'
import { isOfRows, ViewBehindError } from './view-behind.ts'

/** The last record that the list has seen. */
export function runListReached(views: Pick<ViewStore, 'checkpoint'>): ViewCheckpoint | undefined {
  return views.checkpoint(RUN_ROW_PROJECTION, RUN_ROW_VERSION)
}

/** Runs with open calls that are looked at for a count: some milliseconds. */
const COUNTED_RUNS = 10_000

export interface RunListOptions extends Omit<FollowerOptions, 'inLulls'> {
  readonly nowMs: () => number
}

export class RunList implements Disposable {
  readonly #store: EventStore
  readonly #views: ViewStore
  readonly #follower: QuietFollower
  readonly #followed: Followed
  readonly #nowMs: () => number
  #isSame = false
  /** Changes whenever faults came in, or the file was rebuilt. */
  #faultsSeen = 0
  /** Times that the file was rebuilt. */
  #timesMade = 0

  constructor(store: EventStore, views: ViewStore, { nowMs, ...upkeep }: RunListOptions) {
    this.#nowMs = nowMs
    this.#followed = upkeep.followed
    views.onRenewed(() => {
      this.#faultsSeen += 1
      this.#timesMade += 1
    })
    this.#store = store
    this.#views = views
    this.#follower = new QuietFollower((goOn) => againIfRenewed(() => this.#pass(goOn)), upkeep)
  }

  async list(
    caller: Caller,
    { overdue, ...filter }: RunListFilter,
  ): Promise<{ items: JsonObject[]; asOf: Position | undefined }> {
    const outside = withinRun(caller, undefined)
    if (outside !== undefined) throw new RangeError(outside.detail)
    return againIfRenewed(async () => {
      await this.catchUp()
      // A token of one agent lists the runs that this agent has a part in.
      const { tenant, agent = filter.agent } = caller
      const isForeign = filter.agent !== undefined && filter.agent !== agent
      const leaseOverAt = leaseOverBefore(this.#nowMs())
      const narrowed = { ...(agent !== undefined && { agent }), ...(overdue === true && { leaseOverAt }) }
      const own = { ...filter, ...narrowed, tenant }
      const asOf = this.#checkpoint()?.position
      const rows = isForeign ? [] : await this.#rowsOf(own, caller.pace)
      return { items: rows.map((row) => this.shown(row, leaseOverAt)), asOf }
    })
  }

  /** A stretch of the list after the other, so that a filter that few runs fit holds up nobody. */
  async #rowsOf(filter: RunFilter, pace: Pace | undefined): Promise<readonly RunRow[]> {
    const made = this.#timesMade
    const found: RunRow[] = []
    let { after } = filter
    for (;;) {
      const { rows, next } = this.#views.listRuns({
        ...filter,
        ...(after && { after }),
        limit: filter.limit - found.length,
      })
      // The stretches before are of a list that is no more.
      if (this.#timesMade !== made) return this.#rowsOf(filter, pace)
      found.push(...rows)
      if (next === undefined) return found
      after = next
      await (pace === undefined ? nextTurn() : pace.turn())
    }
  }

  /** As answers show it. `leaseOverAt`: leases that ended before this time are over; RFC 3339, UTC. */
  shown(row: RunRow, leaseOverAt: string): JsonObject {
    return { ...rowBody(row, leaseOverAt), ...this.sealOf(row.tenant, row.runId) }
  }

  /** What is on record of its seals today, whenever the row is of. */
  sealOf(tenant: string, runId: string): { readonly seal?: 'invalid' } {
    const [fault] = this.#views.faults({ stream: runStream(tenant, runId), limit: 1 })
    return fault === undefined ? {} : { seal: 'invalid' }
  }

  /** As far as the list has followed the store. */
  row(tenant: string, runId: string): RunRow | undefined {
    return this.#views.runRow(tenant, runId)
  }

  get faultsSeen(): number {
    return this.#faultsSeen
  }

  /** Calls in doubt of all tenants, as far as the list has seen the store; undefined before its first whole pass. */
  callsInDoubt(): number | undefined {
    try {
      return this.#followed.lagEvents === undefined ? undefined : this.#views.callsInDoubt(COUNTED_RUNS)
    } catch {
      return undefined
    }
  }

  /** Follows the store to where it is now. */
  catchUp(): Promise<void> {
    return this.#follower.catchUp()
  }

  /** See `QuietFollower.finish`. A list that nobody ever requested stays unmade. */
  async finish(signal: AbortSignal): Promise<void> {
    if (this.#checkpoint() !== undefined) await this.#follower.finish(signal)
  }

  async #pass(goOn: () => boolean): Promise<void> {
    if (!(await this.#views.isAuthentic())) this.#views.renew(NOT_AUTHENTIC)
    if (!this.#isSame) await this.#checkSame()
    const after = this.#checkpoint()?.position
    let from = after
    for await (const page of this.#store.readAll({ after })) {
      if (!this.#fold(page, from)) return this.#pass(goOn)
      from = page.at(-1)?.position
      if (!goOn()) return
    }
  }

  #checkpoint(): ViewCheckpoint | undefined {
    return runListReached(this.#views)
  }

  /** Once a start: a list of another store, or of events that a restored copy lacks, is rebuilt. */
  async #checkSame(): Promise<void> {
    const reached = this.#checkpoint()
    if (reached !== undefined && !(await isStillThere(this.#store, reached))) this.#views.renew(OTHER_STORE)
    this.#isSame = true
  }

  /** False where the file was rebuilt meanwhile. */
  #fold(page: readonly ReadRecord[], from: Position | undefined): boolean {
    try {
      return this.#folded(page, from, foldRecord)
    } catch (cause) {
      // A record that somebody added to the store may say anything: it must not keep the list of every tenant from going on.
      if (!(cause instanceof ViewBehindError && isOfRows(cause.cause))) throw cause
      return this.#folded(page, from, foldFitting)
    }
  }

  #folded(page: readonly ReadRecord[], from: Position | undefined, foldRecord: FoldRecord): boolean {
    const faults: FaultRow[] = []
    const touched = new Map<string, Touched>()
    for (const record of page) {
      const name = parseStream(record.stream)
      if (name?.kind === 'ledger') faults.push(...faultOnRecord(name.tenant, record))
      if (name?.runId === undefined) continue
      const known = touched.get(record.stream) ?? this.#load(name.tenant, name.runId)
      known.state = foldRecord(known.state, record)
      touched.set(record.stream, known)
    }
    const last = page.at(-1)
    return last === undefined || this.#save({ touched: [...touched.values()], faults }, last, from)
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
      if (faults.length > 0) this.#faultsSeen += 1
      return isSaved
    } catch (cause) {
      if (cause instanceof DerivedFileRenewedError) throw cause
      throw new ViewBehindError('the run list', cause)
    }
  }

  #load(tenant: string, runId: string): Touched {
    const row = this.#views.runRow(tenant, runId)
    return { tenant, runId, state: row === undefined ? undefined : (JSON.parse(row.fold) as RunRowState) }
  }

  [Symbol.dispose](): void {
    this.#follower[Symbol.dispose]()
  }
}

interface Touched {
  readonly tenant: string
  readonly runId: string
  state: RunRowState | undefined
}

const FAULT_FOUND = 'IntegrityFaultFound' satisfies EventType

function faultOnRecord(tenant: string, { header, data }: ReadRecord): readonly FaultRow[] {
  try {
    const { type, time } = JSON.parse(header) as Header
    if (type !== FAULT_FOUND) return []
    const { stream, revision, code } = EVENTS[FAULT_FOUND].schema.parse(JSON.parse(data))
    return [{ tenant, stream, revision, code, foundAt: time }]
  } catch {
    return []
  }
}
