/**
 * @module Recent runs, folded, in a cache bounded in bytes; concurrent requests for a cold run load it once. At any time at most one cached run of a
 * stream may decide: two could append past each other, to revisions that neither of them was decided on.
 */
import { LRUCache } from 'lru-cache'
import { runStream } from '../../../schemas/names.ts'
import { settle } from '../../domain/validator/evidence.ts'
import { isOverdue } from '../../domain/validator/grounding/recorded-results.ts'
import { finish, Pauses } from '../../domain/yielding.ts'
import { AdmissionQueue } from '../../resources/admission-queue.ts'
import { OverloadedError } from '../../resources/overloaded-error.ts'
import { recordDigest } from '../../signing/digests.ts'
import { readOne } from '../../store/event-store.ts'
import { refuseLostEnd } from '../read/lost-end.ts'
import { verifiedEvents } from '../read/verified-events.ts'
import { CACHE_EVERY_EVENTS, CACHE_LATEST_EVENTS, type LoadDeps, saveFold, takeFold } from './fold-cache.ts'
import type { LeaseClock } from './lease-clock.ts'
import { type Head, RunAggregate, type RunEnd } from './run-aggregate.ts'

/** Limit of concurrent loads: each holds pages of the store in addition to the state that it folds. */
const LOADS = { atOnce: 16, waiting: 2_000 } as const
/** The cache updates the weight of a run only if it has changed by one part in this number, because updating costs as much as a lookup. */
const WEIGHT_PARTS = 16
/** Fraction of the cache size that evicted runs with pending appends may take in addition. */
const STRAY_PART = 0.25
const OVERLOADED_RETRY_MS = 1_000

export interface RunAggregateLimits {
  readonly maxBytes: number
  /** If absent, only `maxBytes` limits the number of runs. */
  readonly maxRuns?: number | undefined
}

export interface RunAggregateDeps extends LoadDeps {
  readonly leases: LeaseClock
}

interface Loading {
  readonly loaded: Promise<RunAggregate>
  run: RunAggregate | undefined
}

export class RunAggregates {
  readonly #deps: RunAggregateDeps
  readonly #maxBytes: number
  readonly #hot: LRUCache<string, RunAggregate>
  readonly #loads = new AdmissionQueue('runs that have to be loaded', LOADS)
  /** Runs with pending appends, which must not be loaded a second time even if the cache has evicted them. */
  readonly #busy = new Map<string, RunAggregate>()
  /** Bytes of the evicted runs with pending appends, by stream. */
  readonly #strays = new Map<string, number>()
  #strayBytes = 0
  /** Runs being loaded, and runs loaded in this turn of the event loop: the callers that waited for a run decide on it first. */
  readonly #loading = new Map<string, Loading>()

  constructor(deps: RunAggregateDeps, { maxBytes, maxRuns }: RunAggregateLimits) {
    this.#deps = deps
    this.#maxBytes = maxBytes
    this.#hot = new LRUCache({
      maxSize: maxBytes,
      ...(maxRuns !== undefined && { max: maxRuns }),
      dispose: (run, _, reason) => this.#evicted(run, reason),
    })
  }

  /** Bytes of the runs in the cache, and of those held because of pending appends. */
  get bytes(): number {
    return this.#hot.calculatedSize + this.#strayBytes
  }

  get size(): number {
    return this.#hot.size
  }

  /**
   * The run, folded up to its last append. Its `state` is undefined if the run does not exist. Rejects with `OverloadedError` if there is no room for
   * a cold run because runs with pending appends take it all.
   */
  get(tenant: string, runId: string): RunAggregate | Promise<RunAggregate> {
    const stream = runStream(tenant, runId)
    const owner = this.#owner(stream)
    if (owner !== undefined) return owner
    const loading = this.#loading.get(stream)
    if (loading !== undefined && loading.run === undefined) return loading.loaded
    if (this.#strayBytes > STRAY_PART * this.#maxBytes) return Promise.reject(noRoom())
    return this.#startLoading(stream, { tenant, runId })
  }

  /** Whether decisions may be made on this cached run: it is the one that `get` returns now. */
  owns(run: RunAggregate): boolean {
    return this.#owner(run.stream, this.#hot.peek(run.stream)) === run
  }

  #owner(stream: string, hot = this.#hot.get(stream)): RunAggregate | undefined {
    if (hot !== undefined && !hot.dead) return hot
    const loaded = this.#loading.get(stream)?.run
    if (loaded !== undefined && !loaded.dead) return loaded
    const busy = this.#busy.get(stream)
    return busy !== undefined && !busy.dead ? busy : undefined
  }

  #startLoading(stream: string, of: { tenant: string; runId: string }): Promise<RunAggregate> {
    const loaded = this.#load(stream, of).then((run) => {
      loading.run = run
      return run
    })
    const loading: Loading = { loaded, run: undefined }
    this.#loading.set(stream, loading)
    const forget = (): void => {
      if (this.#loading.get(stream) === loading) this.#loading.delete(stream)
    }
    loaded.then(() => setImmediate(forget), forget)
    return loaded
  }

  async #load(stream: string, of: { tenant: string; runId: string }): Promise<RunAggregate> {
    this.#hot.delete(stream)
    // A pending append of the dead run could match the revision on which a new decision is made.
    for (let busy = this.#busy.get(stream); busy !== undefined; busy = this.#busy.get(stream)) {
      await busy.drained()
      if (busy.idle) this.#release(busy)
    }
    const run = await this.#loads.pass(() => loadRun(this.#deps, of.tenant, of.runId))
    this.#deps.leases.loaded(run)
    if (run.state !== undefined) this.#keep(run)
    return run
  }

  /** Puts the run at the front of the cache with its approximate current weight. A run larger than the whole cache has the cache to itself. */
  #keep(run: RunAggregate): void {
    const { stream, bytes } = run
    const change = Math.abs(bytes - run.keptBytes)
    if (change * WEIGHT_PARTS <= run.keptBytes && this.#hot.peek(stream) === run) return
    this.#hot.delete(stream)
    this.#forgetStray(stream)
    run.keptBytes = bytes
    this.#hot.set(stream, run, { size: Math.min(bytes, this.#maxBytes) })
  }

  #forgetStray(stream: string): void {
    this.#strayBytes -= this.#strays.get(stream) ?? 0
    this.#strays.delete(stream)
  }

  /** Keeps a run with pending appends findable until they have settled. */
  hold(run: RunAggregate): void {
    if (!run.dead) this.#keep(run)
    if (this.#busy.get(run.stream) === run) return
    this.#busy.set(run.stream, run)
    run.onIdle ??= (end) => this.#release(run, end)
  }

  #release(run: RunAggregate, { dead, revision }: RunEnd = run): void {
    if (this.#busy.get(run.stream) !== run) return
    this.#busy.delete(run.stream)
    this.#forgetStray(run.stream)
    if (dead && this.#hot.peek(run.stream) === run) this.#hot.delete(run.stream)
    const dueEvents = this.#busy.size === 0 ? CACHE_EVERY_EVENTS : CACHE_LATEST_EVENTS
    if (revision - run.cachedRevision >= dueEvents) saveFold(this.#deps, run)
  }

  /** Drops a cached run that is behind the store. */
  drop(run: RunAggregate): void {
    run.kill()
    if (this.#hot.peek(run.stream) === run) this.#hot.delete(run.stream)
  }

  #evicted(run: RunAggregate, reason: string): void {
    if (reason !== 'evict') return
    if (this.#busy.get(run.stream) === run) {
      this.#strays.set(run.stream, run.bytes)
      this.#strayBytes += run.bytes
    }
    if (run.revision - run.cachedRevision >= CACHE_EVERY_EVENTS / 4) saveFold(this.#deps, run)
  }

  /** Drops every cached run: after the store reopened, only its contents count. */
  clear(): void {
    for (const run of [...this.#hot.values(), ...this.#busy.values()]) run.kill()
    this.#hot.clear()
  }

  async drained(): Promise<void> {
    for (const run of [...this.#busy.values()]) await run.drained()
  }
}

function noRoom(): OverloadedError {
  return new OverloadedError('the runs with appends under way fill the memory for runs', OVERLOADED_RETRY_MS)
}

// Loads a run: the cached fold, if there is an intact one, and the verified tail after it.

/** Folds a run from the store and verifies each record that it reads. A run that does not exist has no state. */
async function loadRun(deps: LoadDeps, tenant: string, runId: string): Promise<RunAggregate> {
  const cached = new RunAggregate(tenant, runId)
  takeFold(deps, cached)
  // A store that was restored from a copy may end before a fold that was cached later.
  const holds = cached.head === undefined || (await holdsHead(deps, cached.stream, cached.head))
  const run = holds ? cached : new RunAggregate(tenant, runId)
  await foldTail(deps, run)
  await refuseLostEnd(deps, run.stream, run.revision)
  if (run.revision - run.cachedRevision >= CACHE_EVERY_EVENTS) saveFold(deps, run)
  return run
}

async function holdsHead({ store }: LoadDeps, stream: string, { revision, digest }: Head): Promise<boolean> {
  const record = await readOne(store, { stream, revision })
  return record !== undefined && recordDigest(record.header) === digest
}

/** Indexes the results as if the run had stayed in memory. */
async function settleResults({ work }: LoadDeps, { tenant, evidence }: RunAggregate): Promise<void> {
  const settling = settle(evidence, new Pauses())
  if (work === undefined) finish(settling)
  else await work.writes.inTurns(settling, { tenant })
}

async function foldTail(deps: LoadDeps, run: RunAggregate): Promise<void> {
  for await (const { event, ringIndex, chars } of verifiedEvents(deps, run.stream, { after: run.head })) {
    const turn = deps.work?.writes.pass(chars, run.tenant)
    if (turn !== undefined) await turn
    run.fold(event)
    if (isOverdue(run.evidence.results)) await settleResults(deps, run)
    const { revision, time } = event.header
    run.head = { revision, digest: event.digest, time, ringIndex }
  }
}
