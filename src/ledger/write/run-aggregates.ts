/**
 * @module Recent runs, folded, in a cache that is bounded in bytes; a cold one is loaded once however many ask for it. At any moment at most
 * one cached run of a stream may decide: two could append past each other, onto revisions that neither of them was decided on.
 */
import { LRUCache } from 'lru-cache'
import { runStream } from '../../../schemas/names.ts'
import { AdmissionQueue } from '../../resources/admission-queue.ts'
import { OverloadedError } from '../../resources/overloaded-error.ts'
import { CACHE_EVERY_EVENTS, CACHE_LATEST_EVENTS, type LoadDeps, saveFold } from './fold-cache.ts'
import type { LeaseClock } from './lease-clock.ts'
import { loadRun } from './load-run.ts'
import type { RunAggregate, RunEnd } from './run-aggregate.ts'

/** Cold runs that are read at once: each holds pages of the store beside what it folds. */
const LOADS = { atOnce: 16, waiting: 2_000 } as const
/** The cache counts a run anew once its weight has changed by this part of it: that costs as much as finding it. */
const WEIGHT_PARTS = 16
/** Runs that the cache has let go of while their appends are under way may take this part of its bytes besides. */
const STRAY_PART = 0.25
const OVERLOADED_RETRY_MS = 1_000

export interface RunAggregateLimits {
  readonly maxBytes: number
  /** Absent: as many as the bytes allow. */
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
  /** Runs with appends under way, which must not be loaded a second time even where the cache has let go of them. */
  readonly #busy = new Map<string, RunAggregate>()
  /** Bytes of those that the cache has let go of. */
  readonly #strays = new Map<string, number>()
  #strayBytes = 0
  /** Runs being loaded, and those loaded in this turn of the event loop: who waited for them decides on them first. */
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

  /** Of the runs in the cache, and of those that are held while their appends are under way. */
  get bytes(): number {
    return this.#hot.calculatedSize + this.#strayBytes
  }

  get size(): number {
    return this.#hot.size
  }

  /**
   * The run, folded up to its last append. Its `state` is undefined where no such run exists. Rejects with `OverloadedError` where a cold run
   * would find no room, as the runs with appends under way take it all.
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

  /** Whether decisions may be made on this cached run: it is the one that everyone who asks now gets. */
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
    // An append of the dead run that is still on its way could match the revision that a new decision is made on.
    for (let busy = this.#busy.get(stream); busy !== undefined; busy = this.#busy.get(stream)) {
      await busy.drained()
      if (busy.idle) this.#release(busy)
    }
    const run = await this.#loads.pass(() => loadRun(this.#deps, of.tenant, of.runId))
    this.#deps.leases.loaded(run)
    if (run.state !== undefined) this.#keep(run)
    return run
  }

  /** The newest, under about its weight as it is now. A run that outweighs the whole cache has it for itself. */
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

  /** Keeps a run that has appends under way findable until they are settled. */
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

  /** Lets go of a run that the store has moved past. */
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

  /** Every cached run lets go: after the store reopened, only what it holds counts. */
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
