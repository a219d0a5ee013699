/** @module The run list: a disposable view that catches up when it is requested, and while nothing is appended. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Loss } from '../../../schemas/loss.ts'
import { runStream } from '../../../schemas/names.ts'
import { withinRun } from '../../access/check-access.ts'
import { withTimeout } from '../../resources/with-timeout.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { readWhole } from '../../store/derived-file.ts'
import { type EventStore, type Position, StoreUnavailableError, StreamDeletedError } from '../../store/event-store.ts'
import type { RunFilter, RunRow, ViewCheckpoint, ViewStore } from '../../store/view-store.ts'
import type { Followed } from '../followed.ts'
import { type Indexing, LOCAL } from '../indexing.ts'
import type { Caller, RunListFilter } from '../ledger.ts'
import { type FollowerOptions, QuietFollower } from './quiet-follower.ts'
import { RunListProjection, runListReached } from './run-list-projection.ts'
import { leaseOverBefore, rowBody } from './run-row-fold.ts'

/** Runs with open calls that are looked at for a count: some milliseconds. */
const COUNTED_RUNS = 10_000

/** How long somebody waits for a list that another thread brings up to date. */
const WAIT_MS = 30_000
const RETRY_AFTER_MS = 2_000

export interface RunListOptions extends Omit<FollowerOptions, 'inLulls' | 'isRemote'> {
  readonly nowMs: () => number
  /** What the tenant's log knows to be lost. */
  readonly lossesOf?: ((tenant: string) => readonly Loss[]) | undefined
  /** Who writes the file; this thread where it is absent. */
  readonly indexing?: Indexing | undefined
  /** The store is another's to write: the list follows it when it is asked, and not in lulls. */
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
  /** Times that the file was rebuilt. */
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
      // A token of one agent lists the runs that this agent has a part in.
      const { tenant, agent = filter.agent } = caller
      const isForeign = filter.agent !== undefined && filter.agent !== agent
      const leaseOverAt = leaseOverBefore(this.#nowMs())
      const narrowed = { ...(agent !== undefined && { agent }), ...(overdue === true && { leaseOverAt }) }
      const own = { ...filter, ...narrowed, tenant }
      const asOf = this.#checkpoint()?.position
      const rows = isForeign ? [] : await this.#rowsOf(own, caller.pace)
      const sealOf = this.sealsOf(tenant, await this.#cut(rows))
      return { items: rows.map((row) => shownRow(row, leaseOverAt, sealOf(row.runId))), asOf }
    })
  }

  /** A stretch of the list after the other, so that a filter that few runs fit holds up nobody. */
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

  /** What is known of the seals of a tenant's runs today, whenever the rows are of: asked once for a list. `cut`: streams that are found to lack events. */
  sealsOf(tenant: string, cut: ReadonlySet<string> = new Set()): (runId: string) => RowSeal {
    const lost = new Set(this.#lossesOf(tenant).flatMap(({ stream }) => stream ?? []))
    return (runId) => {
      const stream = runStream(tenant, runId)
      const isBroken = lost.has(stream) || cut.has(stream) || this.#views.faults({ stream, limit: 1 }).length > 0
      return isBroken ? { seal: 'invalid' } : {}
    }
  }

  /** Of these runs, those that a file does not hold to where their rows say: a row says what was there when it was made. A server is asked by its readers. */
  async #cut(rows: readonly RunRow[]): Promise<ReadonlySet<string>> {
    const cut = new Set<string>()
    if (this.#store.densePositions !== true) return cut
    for (const { tenant, runId, revision } of rows) {
      const stream = runStream(tenant, runId)
      if (await this.#endsBefore(stream, revision)) cut.add(stream)
    }
    return cut
  }

  async #endsBefore(stream: string, revision: number): Promise<boolean> {
    try {
      return (await this.#store.head(stream)) < revision
    } catch (error) {
      if (error instanceof StreamDeletedError) return true
      throw error
    }
  }

  /** As far as the list has followed the store. */
  row(tenant: string, runId: string): RunRow | undefined {
    return this.#views.runRow(tenant, runId)
  }

  /** Changes whenever faults came in, or the file was rebuilt. */
  get faultsSeen(): number {
    return this.#own.faults + (this.#indexing.remote?.faults ?? 0) + this.#timesMade
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

  /** Its file is this ledger's: see `QuietFollower.check`. */
  check(): Promise<void> {
    return this.#follower.check()
  }

  /** See `QuietFollower.finish`. A list that nobody ever requested stays unmade. */
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

/** As answers show it. `leaseOverAt`: leases that ended before this time are over; RFC 3339, UTC. */
export function shownRow(row: RunRow, leaseOverAt: string, seal: RowSeal): JsonObject {
  return { ...rowBody(row, leaseOverAt), ...seal }
}

function late(): StoreUnavailableError {
  return new StoreUnavailableError(
    'the run list is being brought up to date, which takes longer than a request may wait: ask again',
    RETRY_AFTER_MS,
  )
}
