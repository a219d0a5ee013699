/** @module A worker: carries on the open runs of its names as soon as they can go on. Runs, fences and leases are its queue (RUN-222 to RUN-229). */
import { setTimeout as delay } from 'node:timers/promises'
import type { JsonObject } from '../../../schemas/json.ts'
import { HOLD_MAX_MS, HOLD_MIN_MS, PER_TENANT_MAX, RETRY_MAX_MS } from '../../../schemas/value-forms.ts'
import { onAbort } from '../../resources/linked-signal.ts'
import { tell } from '../calls/tell.ts'
import { AgentError } from '../errors.ts'
import {
  aList,
  aName,
  anObject,
  aSignal,
  callable,
  checkOptions,
  either,
  type OptionRules,
  oneOf,
  text,
  within,
} from '../option-rules.ts'
import type { Body, Home } from '../runtime/live-run.ts'
import { asWorkOf, isInWorkOf } from '../runtime/under-way.ts'
import { thrownText } from '../thrown.ts'
import { type Carried, carryOn } from './carry-on.ts'

/** Which runs a worker takes, and how many at a time. Durations are in milliseconds. */
export interface WorkerOptions<Keeps = never> {
  /** The code of each run, by the name of the run. */
  readonly runs: Readonly<Record<string, Body<never, unknown, Keeps>>>
  /** Maximum number of runs that this worker executes at the same time; default 10. */
  readonly concurrency?: number
  /**
   * Runs of the tenant, of any name, that all workers may carry at the same time: this one takes none beyond. A ledger of one process never exceeds it; of
   * several on one store, each may by one. Code that waits for another run (`cs.result`) is carried meanwhile. Default: no limit.
   */
  readonly perTenant?: number
  /**
   * Version of this code, such as a commit: 1 to 64 letters, digits, and `. _ + -`. A run remembers the version of its first worker, and is then taken only by
   * workers of that version, or of one that names it in `takes`. Default: none; the worker takes runs that no worker with a version has taken.
   */
  readonly version?: string
  /** Other versions whose runs this code can resume, or `any`. Default: none. */
  readonly takes?: readonly string[] | 'any'
  /**
   * If this process dies, other workers take over its runs this long after the last event of each; default 30,000, at least 1,000. Renewed while the code of a
   * run works.
   */
  readonly holdMs?: number
  /** How long a run that the code cannot resume is left alone at first; doubled each time, up to an hour. Default 5,000. */
  readonly retryMs?: number
  /** Stops the worker, as `stop()` does. */
  readonly signal?: AbortSignal
  /** Called if the ledger cannot be asked for runs, and for each run that the code cannot resume. Default: a process warning. */
  readonly onError?: (error: unknown, runId?: string) => void
}

/** A worker that was started. */
export interface Worker extends AsyncDisposable {
  /**
   * Takes no more runs. Resolves when those in progress have ended, or wait and are left to another worker. Rejects at once with `recursive-call` if the code of
   * one of them calls it.
   */
  stop(): Promise<void>
  /** Resolves when the worker has stopped. */
  readonly done: Promise<void>
  /** Ids of the runs that this worker executes now. */
  readonly active: readonly string[]
}

const WORKER: OptionRules<WorkerOptions> = {
  runs: anObject,
  concurrency: within(1, 1_000),
  perTenant: within(1, PER_TENANT_MAX),
  version: text,
  takes: either('"any", or a list of versions', oneOf('any'), aList),
  holdMs: within(HOLD_MIN_MS, HOLD_MAX_MS, 'milliseconds'),
  retryMs: within(1, RETRY_MAX_MS, 'milliseconds'),
  signal: aSignal,
  onError: callable,
}

const CONCURRENCY_DEFAULT = 10
const HOLD_DEFAULT_MS = 30_000
const RETRY_DEFAULT_MS = 5_000
/** Longest time after which a run that is stuck is tried again, unless `retryMs` is longer. */
const RETRY_MOST_MS = 60 * 60_000
/** How long one request waits for a run. */
const WAIT_SECONDS = 20
/** Limits of one request: the number of names and of versions, and the bytes of all names in its URL, which must fit the server's limit of headers. */
const NAMES_MAX = 64
const NAMES_MAX_BYTES = 6_000
const PAGE_MAX = 500
/** Longest part of a name that a message shows. */
const SHOWN_CHARS = 64
/** The pause after an answer that brought nothing and did not wait either. */
const PAUSE_MS = 1_000
/** Maximum number of runs for each of `concurrency`, including those whose code stalls. */
const STALLED_PER_PLACE = 10
const AGAIN_MS = 200
const AGAIN_MAX_MS = 10_000
/** How long a run is ignored that could not be taken, or not be left, and is therefore still listed: at first, and at most. */
const PASSED_OVER = { firstMs: 5_000, mostMs: 10 * 60_000 } as const
/** How long a run is ignored that another process had; it is listed again only if the list is behind or wrong. */
const MISSED = { firstMs: 100, mostMs: 5_000 } as const

const VERSION = /^[A-Za-z0-9._+-]{1,64}$/

/** Starts a worker on a runtime. Throws `invalid-option`. */
export function startWorker(home: Home, options: WorkerOptions): Worker {
  checkOptions('cs.worker', options, WORKER, ['runs'])
  const names = Object.keys(options.runs)
  if (Array.isArray(options.runs) || names.length === 0 || names.length > NAMES_MAX)
    throw new AgentError('invalid-option', `cs.worker: runs has the code of 1 to ${NAMES_MAX} names: { order, refund }`)
  for (const name of names) {
    const shown = JSON.stringify(name.slice(0, SHOWN_CHARS))
    const misnamed = aName(name)
    if (misnamed !== undefined)
      throw new AgentError('invalid-option', `cs.worker: a run's name is ${misnamed}: ${shown}`)
    if (callable(options.runs[name]) !== undefined)
      throw new AgentError('invalid-option', `cs.worker: runs[${shown}] takes a function, the code of that run`)
  }
  if (encodeURIComponent(names.join()).length > NAMES_MAX_BYTES)
    throw new AgentError(
      'invalid-option',
      `cs.worker: the names of runs have at most ${NAMES_MAX_BYTES} bytes together, as they are written in a URL: use shorter ones, or several workers`,
    )
  const versions = [options.version ?? [], options.takes === 'any' ? [] : (options.takes ?? [])].flat()
  const unfit = versions.find((version) => typeof version !== 'string' || !VERSION.test(version))
  if (unfit !== undefined)
    throw new AgentError(
      'invalid-option',
      `cs.worker: a version is 1 to 64 letters, digits, and . _ + -, not ${JSON.stringify(unfit)}`,
    )
  if (versions.length > NAMES_MAX)
    throw new AgentError('invalid-option', `cs.worker: takes has at most ${NAMES_MAX - 1} versions; 'any' takes all`)
  home.registry.mustBeWhole()
  return new RunningWorker(home, options, names)
}

class RunningWorker implements Worker {
  readonly #home: Home
  readonly #options: WorkerOptions
  readonly #names: readonly string[]
  readonly #active = new Map<string, Promise<unknown>>()
  /** Those of `#active` whose code waits for its own divergence: other runs are executed in their place. */
  readonly #stalled = new Set<string>()
  /** Runs that could not be taken: until when they are ignored, and how often in a row that happened. */
  readonly #passedOver = new Map<string, { readonly until: number; readonly times: number }>()
  readonly #stopping = new AbortController()
  /** Resolved, and replaced, when a run is over and when the worker is to stop. */
  #changed = Promise.withResolvers<void>()
  readonly done: Promise<void>

  constructor(home: Home, options: WorkerOptions, names: readonly string[]) {
    this.#home = home
    this.#options = options
    this.#names = names
    const { signal } = options
    const end = (): void => this.#end()
    if (signal?.aborted === true) end()
    const leave = signal === undefined || signal.aborted ? undefined : onAbort(signal, end)
    this.done = this.#work().finally(() => leave?.())
  }

  get active(): readonly string[] {
    return [...this.#active.keys()]
  }

  stop(): Promise<void> {
    this.#end()
    if (!isInWorkOf(this)) return this.done
    const message =
      'the worker is stopped by the code of a run that it carries, and neither would end: it takes no more runs, and has stopped once this run is over'
    const refused = Promise.reject(new AgentError('recursive-call', message))
    // Code that does not wait for the end has what it asked for.
    refused.catch(() => undefined)
    return refused
  }

  #end(): void {
    this.#stopping.abort()
    this.#change()
  }

  #change(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #work(): Promise<void> {
    let failures = 0
    while (!this.#isStopping) {
      try {
        await this.#next()
        failures = 0
      } catch (error) {
        if (this.#isStopping) break
        this.#tell(error)
        failures += 1
        // Of many workers whose ledger is gone, not all ask at the same time.
        await this.#pause(Math.min(AGAIN_MAX_MS, AGAIN_MS * 2 ** failures) * (0.5 + Math.random() / 2))
      }
    }
    while (this.#active.size > 0) await Promise.allSettled(this.#active.values())
  }

  /** Takes as many due runs as there is room for, or waits for one. */
  async #next(): Promise<void> {
    const free = this.#free
    if (free <= 0) {
      // One promise for all: a race would leave a reaction with each run for as long as it goes on.
      await this.#changed.promise
      return
    }
    const askedAt = performance.now()
    const takes = await this.#listed(free)
    if (this.#isStopping) return
    const isFull = await this.#takeAll(takes)
    // The next request would be answered at once as well: the ledger has no room for a wait, or nothing that is listed can be taken.
    const isFutile = (takes.length === 0 || isFull) && performance.now() - askedAt < PAUSE_MS
    if (isFutile) await this.#pause(PAUSE_MS * (0.5 + Math.random() / 2))
  }

  get #free(): number {
    const { concurrency = CONCURRENCY_DEFAULT } = this.#options
    const working = this.#active.size - this.#stalled.size
    return Math.min(concurrency - working, concurrency * STALLED_PER_PLACE - this.#active.size)
  }

  /** The first due runs that this worker neither executes nor ignores, at most `free`. Waits for one if none is due. */
  async #listed(free: number): Promise<readonly JsonObject[]> {
    const passedOver = this.#notNow()
    const limit = Math.min(PAGE_MAX, free + this.#active.size + passedOver.size)
    const { perTenant } = this.#options
    const query = { names: this.#names, limit, ...this.#versions, ...(perTenant !== undefined && { perTenant }) }
    const takes: JsonObject[] = []
    let cursor: string | undefined
    do {
      const wait = { waitSeconds: cursor === undefined ? WAIT_SECONDS : 0, signal: this.#stopping.signal }
      const page = await this.#home.connection.due({ ...query, ...(cursor !== undefined && { cursor }) }, wait)
      takes.push(
        ...page.items.filter(({ runId }) => !this.#active.has(String(runId)) && !passedOver.has(String(runId))),
      )
      cursor = page.nextCursor
    } while (takes.length < free && cursor !== undefined && !this.#isStopping)
    return takes.slice(0, free)
  }

  /** Runs that are ignored now. Those that have not been listed for long are forgotten. */
  #notNow(): ReadonlySet<string> {
    const now = performance.now()
    for (const [runId, { until }] of this.#passedOver)
      if (until + PASSED_OVER.mostMs < now) this.#passedOver.delete(runId)
    return new Set([...this.#passedOver].flatMap(([runId, { until }]) => (until > now ? runId : [])))
  }

  get #versions(): { readonly versions?: readonly string[] } {
    const { version, takes = [] } = this.#options
    return takes === 'any' ? {} : { versions: [...(version === undefined ? [] : [version]), ...takes] }
  }

  /** Takes the listed runs. Under a limit of the tenant, takes them one after the other, and returns true at the first for which there is no room. */
  async #takeAll(rows: readonly JsonObject[]): Promise<boolean> {
    if (this.#options.perTenant === undefined) {
      await Promise.all(rows.map((row) => this.#take(row)))
      return false
    }
    for (const row of rows) {
      if (this.#isStopping) return false
      if ((await this.#take(row)) === 'full') return true
    }
    return false
  }

  /** Resolves once it is known whether the run is this worker's; with `full` if the workers execute as many runs of the tenant as they may. */
  async #take(row: JsonObject): Promise<'full' | undefined> {
    const { runs, version, perTenant, holdMs = HOLD_DEFAULT_MS, retryMs = RETRY_DEFAULT_MS } = this.#options
    const runId = String(row.runId)
    const body = runs[String(row.name)]
    if (body === undefined) return undefined
    const attempts = attemptsOf(row)
    const how = { ...(version !== undefined && { version }), ...(perTenant !== undefined && { perTenant }) }
    const worker = { fence: Number(row.fence), holdMs, ...how }
    const { promise: isMine, resolve: mine } = Promise.withResolvers<undefined>()
    const carrying = {
      ...{
        runId,
        name: String(row.name),
        body,
        worker,
        onStarted: () => mine(undefined),
        stopping: this.#stopping.signal,
      },
      onStalled: (isStalled: boolean) => this.#stall(runId, isStalled),
      retryAfterMs: Math.min(Math.max(retryMs, RETRY_MOST_MS), retryMs * 2 ** attempts),
    }
    const carried = asWorkOf(this, runId, () => carryOn(this.#home, carrying))
    const over = carried.then((end) => {
      this.#active.delete(runId)
      this.#stalled.delete(runId)
      this.#ended(runId, end)
      this.#change()
      return end.kind === 'full' ? ('full' as const) : undefined
    })
    this.#active.set(runId, over)
    return await Promise.race([isMine, over])
  }

  #stall(runId: string, isStalled: boolean): void {
    if (isStalled) this.#stalled.add(runId)
    else this.#stalled.delete(runId)
    this.#change()
  }

  #ended(runId: string, { kind, error }: Carried): void {
    if (kind === 'refused') this.#passOver(runId, PASSED_OVER)
    else if (kind === 'missed') this.#passOver(runId, MISSED)
    else if (kind !== 'full') this.#passedOver.delete(runId)
    if (error !== undefined) this.#tell(error, runId)
  }

  #passOver(runId: string, { firstMs, mostMs }: typeof PASSED_OVER | typeof MISSED): void {
    const { times = 0 } = this.#passedOver.get(runId) ?? {}
    const ms = Math.min(mostMs, firstMs * 2 ** times)
    this.#passedOver.set(runId, { until: performance.now() + ms, times: times + 1 })
  }

  #tell(error: unknown, runId?: string): void {
    const { onError } = this.#options
    if (onError !== undefined) {
      tell('onError', (told: unknown) => onError(told, runId), error)
      return
    }
    const what = runId === undefined ? 'the worker cannot ask for runs' : `the worker cannot carry on the run ${runId}`
    process.emitWarning(`${what}: ${thrownText(error)}`, { code: 'COUNTERSIGN_WORKER' })
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
  }
}

function attemptsOf({ stuck }: JsonObject): number {
  return typeof stuck === 'object' && stuck !== null && 'attempts' in stuck ? Number(stuck.attempts) : 0
}
