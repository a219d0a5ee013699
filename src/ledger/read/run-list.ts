/** @module The run list: a disposable view that catches up when it is requested, and while nothing is appended. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RecordedEvent } from '../../../projections/projection.ts'
import {
  endsCall,
  evolveRunRow,
  isInRow,
  leasesOf,
  openCallsOf,
  RUN_ROW_PROJECTION,
  RUN_ROW_VERSION,
  type RunRowState,
} from '../../../projections/run-row.ts'
import { EVENTS, type EventType, isRunEventType, type RunEventType } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { parseStream, runStream } from '../../../schemas/names.ts'
import { withinRun } from '../../access/check-access.ts'
import { DEADLINE_GRACE_MS } from '../../domain/decision.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { againIfRenewed, DerivedFileRenewedError, NOT_AUTHENTIC } from '../../store/derived-file.ts'
import type { EventStore, Position, ReadRecord } from '../../store/event-store.ts'
import type { FaultRow, RunFilter, RunRow, ViewCheckpoint, ViewStore } from '../../store/view-store.ts'
import type { Followed } from '../followed.ts'
import type { Caller, RunListFilter } from '../ledger.ts'
import { isOfItsType, saidBy } from './parse-record.ts'
import { type FollowerOptions, QuietFollower } from './quiet-follower.ts'
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
      const leaseOverAt = new Date(this.#nowMs() - DEADLINE_GRACE_MS).toISOString()
      const narrowed = { ...(agent !== undefined && { agent }), ...(overdue === true && { leaseOverAt }) }
      const own = { ...filter, ...narrowed, tenant }
      const asOf = this.#checkpoint()?.position
      const rows = isForeign ? [] : await this.#rowsOf(own, caller.pace)
      return { items: rows.map((row) => this.#shown(row, leaseOverAt)), asOf }
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

  #shown(row: RunRow, leaseOverAt: string): JsonObject {
    const [fault] = this.#views.faults({ stream: runStream(row.tenant, row.runId), limit: 1 })
    return { ...rowBody(row, leaseOverAt), ...(fault !== undefined && { seal: 'invalid' }) }
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

type FoldRecord = (state: RunRowState | undefined, record: ReadRecord) => RunRowState | undefined

/** The list is no proof: records are folded as they are, unverified, and a broken one is passed over. */
function foldRecord(state: RunRowState | undefined, record: ReadRecord): RunRowState | undefined {
  try {
    const header = JSON.parse(record.header) as Header
    if (!isRunEventType(header.type)) return state
    const data = bodyOf(header.type, record.data)
    return evolveRunRow(state, { type: header.type, data, header } as RecordedEvent)
  } catch {
    return state
  }
}

/** The same for records that may say anything: what is not of its type is passed over. */
function foldFitting(state: RunRowState | undefined, record: ReadRecord): RunRowState | undefined {
  const { header, data } = saidBy(record)
  return isOfItsType(header.type, data) ? foldRecord(state, record) : state
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

const CALL_ID = /^\{"callId":"([0-9a-f-]{36})"/

/** As far as a row looks at it. Bodies are canonical: the id of a call that ended stands first, and what came of it need not be read. */
function bodyOf(type: RunEventType, text: string): unknown {
  const callId = endsCall(type) ? CALL_ID.exec(text)?.[1] : undefined
  if (callId !== undefined) return { callId }
  return isInRow(type) ? JSON.parse(text) : {}
}

function rowOf(tenant: string, runId: string, state: RunRowState): RunRow {
  const { name, status, tags, actor, startedAt, updatedAt, revision, step, rejections, calls, budget } = state
  const approvals = status === 'open' ? Object.keys(state.approvals).length : 0
  const waits = status === 'open' ? Object.keys(state.waits).length : 0
  return {
    tenant,
    runId,
    name,
    status,
    tags,
    agents: Object.keys(budget.agents).map((agent) => agent.slice(1)),
    actor,
    ...(state.principal === undefined ? {} : { principal: state.principal }),
    startedAt,
    updatedAt,
    revision,
    step,
    rejections,
    calls,
    waiting: approvals + waits,
    approvals,
    openCalls: openCallsOf(state),
    ...leasesOf(state),
    ...(state.compensation === undefined ? {} : { compensation: state.compensation }),
    tokens: budget.spend.tokens,
    cost: budget.spend.cost,
    ...(budget.currency === undefined ? {} : { currency: budget.currency }),
    fold: JSON.stringify(state),
  }
}

/** `overdue`: a call's lease is over by the wall clock, and no event says so yet (STR-2). */
function rowBody({ tenant: _, fold: __, leaseUntil, ...row }: RunRow, leaseOverAt: string): JsonObject {
  const isOverdue = leaseUntil !== undefined && leaseUntil < leaseOverAt
  return { ...row, ...(leaseUntil !== undefined && { leaseUntil }), ...(isOverdue && { overdue: true }) }
}
