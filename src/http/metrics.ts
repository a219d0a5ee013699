/** @module Counters for /metrics, on a separate registry. Labels are route patterns and codes, never data sent by a caller. */
import { statfs } from 'node:fs/promises'
import { setImmediate as nextTick } from 'node:timers/promises'
import { Counter, Gauge, type Metric, Registry } from 'prom-client'
import type { IndexingStats, IndexingThread } from '../indexing/indexing-thread.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ReaderStats, ReaderThreads } from '../read-workers/reader-threads.ts'
import type { MemoryBudget, SharedMemory } from '../resources/memory-budget.ts'
import { counter, gauge, PREFIX } from './registered.ts'
import type { StreamSlots } from './stream-slots.ts'
import { registerWebhook, type WebhookCounters } from './webhook-metrics.ts'

const STATES = ['ready', 'full', 'unavailable', 'failed'] as const

export interface HttpMetrics {
  /** The request tracker of one route. */
  readonly tracker: (method: string, route: string) => RouteTracker
  /** The metrics as Prometheus text. */
  readonly text: () => Promise<string>
  readonly contentType: string
}

/** The sources of the gauges. */
export interface Measured extends Threads {
  readonly ledger: Pick<Ledger, 'stats' | 'status'>
  readonly slots: StreamSlots
  readonly memory: MemoryBudget
  readonly version: string
  /** Folders, by the name used in the metric. */
  readonly disks: Readonly<Record<string, string>>
  readonly webhook?: WebhookCounters | undefined
}

export function createMetrics(measured: Measured): HttpMetrics {
  const { ledger, slots, memory, version, readers, indexing, disks, webhook } = measured
  const registry = new Registry()
  registerLedger(registry, ledger)
  registerForgetting(registry, ledger)
  registerLoss(registry, ledger)
  registerProcess(registry, version)
  registerMemory(registry, memory)
  registerKeptUp(registry, ledger)
  registerThreads(registry, { readers, indexing })
  registerDisks(registry, disks)
  registerWebhook(registry, webhook)
  const tracker = registerRequests(registry)
  gauge(registry, 'http_streams', 'Tails, exports and waiting claims that are open.', () => slots.open)
  return { tracker, text: () => registry.metrics(), contentType: registry.contentType }
}

function registerLedger(registry: Registry, ledger: Pick<Ledger, 'stats' | 'status'>): void {
  counter(registry, 'appended_events_total', 'Events sealed and durable.', () => ledger.stats().appendedEvents)
  counter(registry, 'appends_total', 'Durable writes.', () => ledger.stats().appends)
  counter(registry, 'append_conflicts_total', 'Writes that met another revision.', () => ledger.stats().conflicts)
  gauge(registry, 'appends_in_flight', 'Writes not yet durable.', () => ledger.stats().inFlightAppends)
  gauge(registry, 'cached_runs', 'Runs kept folded in memory.', () => ledger.stats().cachedRuns)
  registerLag(registry, ledger)
  registerIntegrity(registry, ledger)
  registerStops(registry, ledger)
  new Counter({
    name: `${PREFIX}refusals_total`,
    help: 'Refusals of the ledger by code.',
    labelNames: ['code'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [code, count] of Object.entries(ledger.stats().refusals)) this.inc({ code }, count)
    },
  })
  new Counter({
    name: `${PREFIX}store_faults_total`,
    help: 'Times that the store stopped taking appends because its medium failed.',
    labelNames: ['operation', 'errno'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { operation, errno, count } of ledger.stats().storeFaults) this.inc({ operation, errno }, count)
    },
  })
  new Gauge({
    name: `${PREFIX}store_state`,
    help: '1 for the state the store is in.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { state } = ledger.status()
      for (const each of STATES) this.set({ state: each }, each === state ? 1 : 0)
    },
  })
}

/** A follower is not reported before its first complete pass, because 0 would mean that it has reached the end. */
function registerLag(registry: Registry, ledger: Pick<Ledger, 'stats'>): void {
  new Gauge({
    name: `${PREFIX}follower_lag_events`,
    help: "Events of this process that the run list, the auditors' index or the logs have not seen yet; absent before their first whole pass.",
    labelNames: ['follower'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { name, events } of ledger.stats().lagEvents) this.set({ follower: name }, events)
    },
  })
}

function registerDisks(registry: Registry, disks: Measured['disks']): void {
  new Gauge({
    name: `${PREFIX}disk_free_bytes`,
    help: 'Bytes that the disk of a folder still takes.',
    labelNames: ['folder'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const [folder, path] of Object.entries(disks)) {
        const disk = await statfs(path).catch(() => undefined)
        if (disk !== undefined) this.set({ folder }, disk.bavail * disk.bsize)
      }
    },
  })
}

/** The scrub is not reported before its first complete pass. */
function registerIntegrity(registry: Registry, ledger: Pick<Ledger, 'stats'>): void {
  const help = 'Events recorded as altered or missing, without those acknowledged as lost.'
  gauge(registry, 'integrity_faults', help, () => ledger.stats().integrity.faults)
  const holes = 'Losses that were acknowledged: the logs of their tenants went on past them.'
  gauge(registry, 'acknowledged_losses', holes, () => ledger.stats().acknowledgedLosses)
  new Gauge({
    name: `${PREFIX}scrub_last_pass_timestamp_seconds`,
    help: 'When the scrub last ended a pass over the whole store; absent before the first.',
    registers: [registry],
    collect() {
      this.reset()
      const { lastPassEndedMs } = ledger.stats().integrity
      if (lastPassEndedMs === undefined) this.remove()
      else this.set(lastPassEndedMs / 1000)
    },
  })
}

function registerStops(registry: Registry, ledger: Pick<Ledger, 'stats'>): void {
  const help =
    'Logs of tenants that stopped at an event that does not verify, or is gone: what follows is in no checkpoint.'
  gauge(registry, 'stopped_logs', help, () => stopsOf(ledger, true))
  const lost = '1 where the store lost events that no log can name: nothing is signed.'
  gauge(registry, 'store_positions_lost', lost, () => stopsOf(ledger, false))
}

const stopsOf = (ledger: Pick<Ledger, 'stats'>, ofTenants: boolean): number =>
  ledger.stats().stoppedLogs.filter(({ tenant }) => (tenant !== undefined) === ofTenants).length

/** A separate metric, because the store's state can fail for other reasons, too. */
function registerLoss(registry: Registry, ledger: Pick<Ledger, 'status'>): void {
  const help = '1 where the store lacks an event that it had acknowledged to this process: nothing is read or written.'
  gauge(registry, 'store_went_back', help, () => (ledger.status().loss === undefined ? 0 : 1))
}

/** A separate metric, because a store that forgets one stream is still ready for all others. */
function registerForgetting(registry: Registry, ledger: Pick<Ledger, 'status'>): void {
  const help = 'Streams that the server of the store may forget, or has deleted.'
  gauge(registry, 'store_forgetting_streams', help, () => ledger.status().forgetting?.length ?? 0)
}

function registerProcess(registry: Registry, version: string): void {
  const build = new Gauge({
    name: `${PREFIX}build_info`,
    help: 'Always 1; its labels say what runs.',
    labelNames: ['version', 'node'],
    registers: [registry],
  })
  build.set({ version, node: process.versions.node }, 1)
  gauge(registry, 'resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss())
  gauge(registry, 'heap_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed)
  gauge(registry, 'uptime_seconds', 'Age of the process.', () => process.uptime())
  gauge(registry, 'event_loop_lag_seconds', 'Wait of a callback that was due at once.', async () => {
    const startedMs = performance.now()
    await nextTick()
    return (performance.now() - startedMs) / 1000
  })
}

/** For each share of the memory budget: its limit, its usage, and how often a request found it full. */
function registerMemory(registry: Registry, memory: MemoryBudget): void {
  gauge(registry, 'memory_budget_bytes', 'The budget that the shares are parts of.', () => memory.totalBytes)
  const byShare = (name: string, help: string, read: (share: SharedMemory) => number): void => {
    new Gauge({
      name: PREFIX + name,
      help,
      labelNames: ['share'],
      registers: [registry],
      collect() {
        for (const share of memory.snapshot()) this.set({ share: share.name }, read(share))
      },
    })
  }
  byShare('memory_share_limit_bytes', 'What a share may hold.', ({ limitBytes }) => limitBytes)
  byShare('memory_share_bytes', 'What a share holds.', ({ usedBytes }) => usedBytes)
  byShare('memory_share_refusals', 'Times that a share was found full.', ({ refusals }) => refusals)
}

// Metrics of the reader and indexing threads; all values are 0 if there are none.

interface Threads {
  readonly readers?: Pick<ReaderThreads, 'stats'> | undefined
  readonly indexing?: Pick<IndexingThread, 'stats'> | undefined
}

function registerThreads(registry: Registry, { readers, indexing }: Threads): void {
  registerReaders(registry, readers)
  registerIndexing(registry, indexing)
}

function registerReaders(registry: Registry, readers: Threads['readers']): void {
  const stats = (): ReaderStats => readers?.stats() ?? { threads: 0, bodies: 0, heapBytes: 0, deaths: 0 }
  gauge(
    registry,
    'reader_threads',
    'Threads that make exports, bundles and replays; 0: the one that writes makes them.',
    () => stats().threads,
  )
  gauge(registry, 'reader_exports', 'Exports, bundles and replays that they are making.', () => stats().bodies)
  gauge(registry, 'reader_heap_bytes', 'Heaps of these threads.', () => stats().heapBytes)
  counter(registry, 'reader_deaths_total', 'Unexpected ends of such a thread.', () => stats().deaths)
}

function registerIndexing(registry: Registry, indexing: Threads['indexing']): void {
  const stats = (): IndexingStats => indexing?.stats() ?? { threads: 0, heapBytes: 0, deaths: 0 }
  gauge(
    registry,
    'indexing_threads',
    'Threads that write the files that follow the store; 0: the one that writes the store writes them.',
    () => stats().threads,
  )
  gauge(registry, 'indexing_heap_bytes', 'Heap of this thread.', () => stats().heapBytes)
  counter(registry, 'indexing_deaths_total', 'Unexpected ends of this thread.', () => stats().deaths)
}

// Metrics of how well the ledger keeps up: events covered by checkpoints, witnessed or time-stamped, and calls that are not settled.

/** A value that is not known yet is not reported, because 0 would suggest that all is well. */
function registerKeptUp(registry: Registry, ledger: Pick<Ledger, 'stats'>): void {
  const known = (name: string, help: string, read: () => number | undefined): void => {
    new Gauge({
      name: PREFIX + name,
      help,
      registers: [registry],
      collect() {
        const value = read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  }
  known(
    'checkpoints_current_timestamp_seconds',
    'When every log was last found covered by its signed checkpoint.',
    () => secondsOf(ledger.stats().coveredAtMs),
  )
  known(
    'checkpoint_interval_seconds',
    'Longest time from an event to the signed checkpoint of its log; 0 where none is signed.',
    () => secondsOf(ledger.stats().checkpointDelayMs),
  )
  known(
    'timestamp_last_failure_timestamp_seconds',
    'When the time-stamping authority last gave no token that can be used, since this process started.',
    () => secondsOf(ledger.stats().stamping?.lastFailure?.atMs),
  )
  known(
    'timestamp_due_timestamp_seconds',
    'Since when a log has been due for a time-stamp that is not recorded; absent where none is due.',
    () => secondsOf(ledger.stats().stamping?.dueSinceMs),
  )
  known('calls_in_doubt', 'Calls in doubt, as the run list has them.', () => ledger.stats().unsettled?.inDoubt)
  known(
    'calls_overdue',
    'Claimed calls whose lease is over, as the run list has them.',
    () => ledger.stats().unsettled?.overdue,
  )
  new Counter({
    name: `${PREFIX}witness_failures_total`,
    help: 'Times that a witness did not cosign a checkpoint, by why.',
    labelNames: ['witness', 'code'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { witness, code, count } of ledger.stats().witnessFailures) this.inc({ witness, code }, count)
    },
  })
  new Counter({
    name: `${PREFIX}timestamp_failures_total`,
    help: 'Times that the time-stamping authority gave no token that can be used, by why.',
    labelNames: ['authority', 'code'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { authority, code, count } of ledger.stats().stampFailures) this.inc({ authority, code }, count)
    },
  })
}

const secondsOf = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000)

// Metrics of requests by route, kept in plain numbers and converted when scraped: the metrics library would look up and validate the labels on every
// request.

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Tracker of one route: call `begin` at the start of a request, and `end` with the value returned by `begin` and the status. */
interface RouteTracker {
  readonly begin: () => number
  readonly end: (startedMs: number, status: number) => void
}

/** Statuses that alerts watch; each route reports them from the start, because Prometheus sees no increase in a series that appears with its first count. */
const SHOWN_AT_ZERO = [500, 507]

interface RouteCount {
  readonly labels: { readonly method: string; readonly route: string }
  /** Number of requests up to each bound and above the previous one; the last bucket counts longer ones. */
  readonly buckets: number[]
  readonly byStatus: Map<number, number>
  seconds: number
}

/** Registers the metrics and returns a function that creates the tracker of a route. */
function registerRequests(registry: Registry): (method: string, route: string) => RouteTracker {
  const routes: RouteCount[] = []
  let inFlight = 0
  new Counter({
    name: `${PREFIX}http_requests_total`,
    help: 'Requests answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, byStatus } of routes)
        for (const [status, count] of byStatus) this.inc({ ...labels, status: String(status) }, count)
    },
  })
  registry.registerMetric(histogramOf(routes))
  gauge(registry, 'http_in_flight', 'Requests not answered yet.', () => inFlight)

  return (method, route) => {
    const count: RouteCount = {
      labels: { method, route },
      buckets: Array.from({ length: SECONDS.length + 1 }, () => 0),
      byStatus: new Map(SHOWN_AT_ZERO.map((status) => [status, 0])),
      seconds: 0,
    }
    routes.push(count)
    return {
      begin: () => {
        inFlight += 1
        return performance.now()
      },
      end: (startedMs, status) => {
        inFlight -= 1
        took(count, (performance.now() - startedMs) / 1000)
        count.byStatus.set(status, (count.byStatus.get(status) ?? 0) + 1)
      },
    }
  }
}

function took(count: RouteCount, seconds: number): void {
  count.seconds += seconds
  let at = 0
  while (at < SECONDS.length && seconds > (SECONDS[at] as number)) at += 1
  count.buckets[at] = (count.buckets[at] as number) + 1
}

/** A histogram made from counts, which the library does not support. Routes without requests are left out. */
function histogramOf(routes: readonly RouteCount[]): Metric {
  const name = `${PREFIX}http_request_seconds`
  const options = { name, help: 'Time to the head of the answer.', type: 'histogram', aggregator: 'sum' }
  const get = async () => ({ ...options, values: routes.flatMap((count) => valuesOf(name, count)) })
  return { ...options, get } as unknown as Metric
}

function valuesOf(name: string, { labels, buckets, seconds }: RouteCount) {
  let count = 0
  const upTo = buckets.map((more, at) => {
    count += more
    return { metricName: `${name}_bucket`, labels: { le: SECONDS[at] ?? '+Inf', ...labels }, value: count }
  })
  if (count === 0) return []
  return [
    ...upTo,
    { metricName: `${name}_sum`, labels, value: seconds },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
