/** @module The run list: a disposable view that catches up on request, and while nothing is appended. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Loss } from '../../../schemas/loss.ts'
import { runStream } from '../../../schemas/names.ts'
import { ofWholeRuns, withinRun } from '../../access/check-access.ts'
import { withTimeout } from '../../resources/with-timeout.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { readWhole } from '../../store/derived-file.ts'
import {
  type EventStore,
  type Position,
  readOne,
  StoreUnavailableError,
  StreamDeletedError,
} from '../../store/event-store.ts'
import type { Carried, RunFilter, RunRow, UnsettledCalls, ViewCheckpoint, ViewStore } from '../../store/view-store.ts'
import type { Followed } from '../followed.ts'
import { type Indexing, LOCAL } from '../indexing.ts'
import type { Caller, DueQuery, DueRuns, RunListFilter, Unsettled, UnsettledTotal } from '../ledger.ts'
import { type FollowerOptions, QuietFollower } from './quiet-follower.ts'
import { RunListProjection, runListReached } from './run-list-projection.ts'
import { leaseOverBefore, rowBody } from './run-row-fold.ts'

/** Maximum number of runs with open calls that are examined for a count: some milliseconds of work. */
const COUNTED_RUNS = 10_000

/** Maximum wait for a list that another thread brings up to date, in milliseconds. */
const WAIT_MS = 30_000
const RETRY_AFTER_MS = 2_000

export interface RunListOptions extends Omit<FollowerOptions, 'inLulls' | 'isRemote'> {
  readonly nowMs: () => number
  /** Losses known to the log of the tenant. */
  readonly lossesOf?: ((tenant: string) => readonly Loss[]) | undefined
  /** The thread that writes the file; if absent, this one. */
  readonly indexing?: Indexing | undefined
  /** The store belongs to another writer: the list follows it on request only, not in the background. */
  readonly readOnly?: boolean | undefined
}

export interface RowSeal {
  readonly seal?: 'invalid'
}

export class RunList implements Disposable {
  readonly #store: EventStore
  readonly #views: ViewStore
  readonly #follower: QuietFollower
  readonly #followed: Followed
  readonly #nowMs: () => number
  readonly #own: RunListProjection
  readonly #indexing: Indexing
  readonly #lossesOf: (tenant: string) => readonly Loss[]
  /** Number of times that the file was rebuilt. */
  #timesMade = 0

  constructor(store: EventStore, views: ViewStore, options: RunListOptions) {
    const { nowMs, indexing = LOCAL, readOnly, lossesOf = () => [], ...following } = options
    this.#lossesOf = lossesOf
    this.#nowMs = nowMs
    this.#followed = following.followed
    views.onRenewed(() => {
      this.#timesMade += 1
    })
    this.#store = store
    this.#views = views
    this.#indexing = indexing
    this.#own = new RunListProjection(store, views)
    const pass = (goOn: () => boolean): Promise<void> =>
      indexing.do(
        () => this.#own.pass(goOn),
        (it) => it.listRuns(),
      )
    this.#follower = new QuietFollower(pass, {
      ...following,
      inLulls: () => readOnly !== true,
      isRemote: () => indexing.remote !== undefined,
    })
  }

  async list(
    caller: Caller,
    { overdue, ...filter }: RunListFilter,
  ): Promise<{ items: JsonObject[]; asOf: Position | undefined }> {
    const outside = withinRun(caller, undefined)
    if (outside !== undefined) throw new RangeError(outside.detail)
    return readWhole(this.#views, async () => {
      await withTimeout(this.catchUp(), this.#indexing.remote === undefined ? Number.POSITIVE_INFINITY : WAIT_MS, late)
      // A token that is bound to one agent lists only the runs in which this agent takes part.
      const { tenant, agent = filter.agent } = caller
      const isForeign = filter.agent !== undefined && filter.agent !== agent
      const leaseOverAt = leaseOverBefore(this.#nowMs())
      const narrowed = { ...(agent !== undefined && { agent }), ...(overdue === true && { leaseOverAt }) }
      const own = { ...filter, ...narrowed, tenant }
      const asOf = this.#checkpoint()?.position
      const rows = isForeign ? [] : await this.#rowsOf(own, caller.pace)
      const sealOf = this.sealsOf(tenant, await this.#unlike(rows, asOf))
      return { items: rows.map((row) => shownRow(row, leaseOverAt, sealOf(row.runId))), asOf }
    })
  }

  /** Runs that a worker may carry on now, in the order in which they became due, and the time at which the next one does (RUN-222). */
  async due(caller: Caller, query: DueQuery): Promise<DueRuns> {
    const outside = ofWholeRuns(caller)
    if (outside !== undefined) throw new RangeError(outside.detail)
    return readWhole(this.#views, async () => {
      await withTimeout(this.catchUp(), this.#indexing.remote === undefined ? Number.POSITIVE_INFINITY : WAIT_MS, late)
      const nowMs = this.#nowMs()
      const { tenant } = caller
      const { perTenant, ...due } = query
      const filter = { ...due, tenant, dueBy: new Date(nowMs).toISOString() }
      const carried = perTenant === undefined ? undefined : this.#carried(tenant, { nowMs, limit: perTenant })
      if (perTenant !== undefined && carried !== undefined && carried.count >= perTenant) {
        const nextMs = Math.max(0, Date.parse(carried.firstEnd ?? '') - nowMs)
        return { items: [], asOf: this.#checkpoint()?.position, nextMs, isFull: true }
      }
      const rows = this.#views.dueRuns(filter)
      const asOf = this.#checkpoint()?.position
      const sealOf = this.sealsOf(tenant, await this.#unlike(rows, asOf))
      const nextAt = this.#views.nextDue(filter)
      const last = rows.length < query.limit ? undefined : rows.at(-1)
      return {
        items: rows.map((row) => shownRow(row, leaseOverBefore(nowMs), sealOf(row.runId))),
        asOf,
        ...(last?.dueAt !== undefined && { next: { dueAt: last.dueAt, runId: last.runId } }),
        ...(nextAt !== undefined && { nextMs: Math.max(0, Date.parse(nextAt) - nowMs) }),
      }
    })
  }

  /** Number of other runs of the tenant that workers carry now, at most `limit`. */
  async carried(
    tenant: string,
    { except, limit }: { readonly except: string; readonly limit: number },
  ): Promise<number> {
    return readWhole(this.#views, async () => {
      await withTimeout(this.catchUp(), this.#indexing.remote === undefined ? Number.POSITIVE_INFINITY : WAIT_MS, late)
      return this.#carried(tenant, { nowMs: this.#nowMs(), except, limit }).count
    })
  }

  #carried(
    tenant: string,
    { nowMs, ...of }: { readonly nowMs: number; readonly except?: string; readonly limit: number },
  ): Carried {
    return this.#views.carried({ tenant, at: new Date(nowMs).toISOString(), ...of })
  }

  /** Reads the list range by range, so that a filter that matches few runs does not block other work. */
  async #rowsOf(filter: RunFilter, pace: Pace | undefined): Promise<readonly RunRow[]> {
    const found: RunRow[] = []
    let { after } = filter
    for (;;) {
      const { rows, next } = this.#views.listRuns({
        ...filter,
        ...(after && { after }),
        limit: filter.limit - found.length,
      })
      found.push(...rows)
      if (next === undefined) return found
      after = next
      await (pace === undefined ? nextTurn() : pace.turn())
    }
  }

  /** Whether the seals of a tenant's runs are valid now, regardless of the age of the rows; evaluated once per list. `unlike`: streams that are not as their rows say. */
  sealsOf(tenant: string, unlike: ReadonlySet<string> = new Set()): (runId: string) => RowSeal {
    const lost = new Set(this.#lossesOf(tenant).flatMap(({ stream }) => stream ?? []))
    return (runId) => {
      const stream = runStream(tenant, runId)
      const isBroken = lost.has(stream) || unlike.has(stream) || this.#views.faults({ stream, limit: 1 }).length > 0
      return isBroken ? { seal: 'invalid' } : {}
    }
  }

  /**
   * The given runs that a store in a file does not hold as their rows say: the last event of the row is gone, or the list passed over a later one up to
   * `asOf` because it does not fit its place. Server stores are not checked here; reading the run checks them.
   */
  async #unlike(rows: readonly RunRow[], asOf: Position | undefined): Promise<ReadonlySet<string>> {
    const unlike = new Set<string>()
    if (this.#store.densePositions !== true || asOf === undefined) return unlike
    for (const { tenant, runId, revision } of rows) {
      const stream = runStream(tenant, runId)
      if (!(await this.#endsAt({ stream, revision }, asOf))) unlike.add(stream)
    }
    return unlike
  }

  async #endsAt(
    { stream, revision }: { readonly stream: string; readonly revision: number },
    asOf: Position,
  ): Promise<boolean> {
    try {
      const head = await this.#store.head(stream)
      if (head <= revision) return head === revision
      const next = await readOne(this.#store, { stream, revision: revision + 1 })
      return next !== undefined && this.#store.comparePositions(next.position, asOf) > 0
    } catch (error) {
      if (error instanceof StreamDeletedError) return false
      throw error
    }
  }

  /** As of the last event that the list has followed. */
  row(tenant: string, runId: string): RunRow | undefined {
    return this.#views.runRow(tenant, runId)
  }

  /** Changes whenever faults were added or the file was rebuilt. */
  get faultsSeen(): number {
    return this.#own.faults + (this.#indexing.remote?.faults ?? 0) + this.#timesMade
  }

  /** Across all tenants, as of the last event that the list has seen; undefined before its first complete pass. */
  unsettled(): UnsettledCalls | undefined {
    try {
      return this.#followed.lagEvents === undefined ? undefined : this.#unsettled()
    } catch {
      return undefined
    }
  }

  /** How many calls a list of them holds in all; undefined for a token that is bound to one agent, since rows do not say whose calls they are. */
  async total({ tenant, agent }: Caller, of: Unsettled): Promise<UnsettledTotal | undefined> {
    if (agent !== undefined) return undefined
    const { inDoubt, overdue, runs } = await readWhole(this.#views, async () => this.#unsettled(tenant))
    return { calls: of === 'in-doubt' ? inDoubt : overdue, ...(runs === COUNTED_RUNS && { isLeast: true }) }
  }

  #unsettled(tenant?: string): UnsettledCalls {
    const leaseOverAt = leaseOverBefore(this.#nowMs())
    return this.#views.unsettled({ ...(tenant !== undefined && { tenant }), leaseOverAt, runs: COUNTED_RUNS })
  }

  /** Follows the store up to its current end. */
  catchUp(): Promise<void> {
    return this.#follower.catchUp()
  }

  /** Makes sure that the file belongs to this ledger: see `QuietFollower.check`. */
  check(): Promise<void> {
    return this.#follower.check()
  }

  /** See `QuietFollower.finish`. A list that was never requested is not built. */
  async finish(signal: AbortSignal): Promise<void> {
    if (this.#checkpoint() !== undefined) await this.#follower.finish(signal)
  }

  #checkpoint(): ViewCheckpoint | undefined {
    return runListReached(this.#views)
  }

  [Symbol.dispose](): void {
    this.#follower[Symbol.dispose]()
  }
}

/** A row as answers show it. `leaseOverAt`: leases that ended before this time have expired; RFC 3339, UTC. */
export function shownRow(row: RunRow, leaseOverAt: string, seal: RowSeal): JsonObject {
  return { ...rowBody(row, leaseOverAt), ...seal }
}

function late(): StoreUnavailableError {
  return new StoreUnavailableError(
    'the run list is being brought up to date, which takes longer than a request may wait: ask again',
    RETRY_AFTER_MS,
  )
}
