/** @module Threads that decide and seal, each for the runs whose names hash to it; this thread keeps the store, and sends each command to its own. */
import type { Caller, Found, Outcome } from '../ledger/ledger.ts'
import type { Log } from '../ledger/ports.ts'
import type { RunQueries } from '../ledger/read/queries.ts'
import type { RunWrites, Sealing, SealingHost } from '../ledger/sealing.ts'
import { notKnownWritten, refused, storeUnavailable } from '../ledger/write/write-refusals.ts'
import { type MemoryBudget, SHARES_OF_RUNS } from '../resources/memory-budget.ts'
import type { WorkQueue } from '../resources/work-queue.ts'
import { type EventStore, takesReads } from '../store/event-store.ts'
import type { ViewStore } from '../store/view-store.ts'
import type { Done, SentCaller, Task, ToSealer } from './protocol.ts'
import { type Lost, type Report, SealThread } from './seal-thread.ts'

const RETRY_MS = 250

export interface SealThreadsOptions {
  readonly count: number
  /** The threads' program. */
  readonly file: URL
  /** What a thread is started with, beside what the ledger says. */
  readonly workerData: object
  readonly heapBytes: number
  readonly store: EventStore
  readonly views: Pick<ViewStore, 'saveFold' | 'renew' | 'onRenewed'>
  readonly memory: MemoryBudget
  readonly work: WorkQueue
  readonly log: Pick<Log, 'warn'>
}

/** What a thread is told of the ledger at its start. */
export interface SealerIdentity {
  readonly ledgerId: string
  /** The key that seals now. */
  readonly kid: string
}

export interface SealingStats {
  readonly threads: number
  /** As last reported, of all. */
  readonly heapBytes: number
  readonly hotRuns: number
  /** Ends that nobody requested. */
  readonly deaths: number
}

export class SealThreads implements AsyncDisposable {
  readonly #options: SealThreadsOptions
  #threads: readonly SealThread[] = []
  #host: SealingHost | undefined
  #epoch = 0
  #deaths = 0
  #stops: (() => void)[] = []

  constructor(options: SealThreadsOptions) {
    this.#options = options
  }

  stats(): SealingStats {
    const states = this.#threads.map(({ state }) => state)
    const sum = (of: (state: (typeof states)[number]) => number) => states.reduce((total, each) => total + of(each), 0)
    return {
      threads: this.#threads.length,
      heapBytes: sum(({ heapBytes }) => heapBytes),
      hotRuns: sum(({ hotRuns }) => hotRuns),
      deaths: this.#deaths,
    }
  }

  /** Rejects where a thread cannot begin. */
  async begin(host: SealingHost): Promise<Sealing> {
    const { count, store, views, memory } = this.#options
    this.#host = host
    this.#threads = Array.from({ length: count }, () => this.#thread(host))
    this.#stops = [
      store.onStatus((status) => {
        if (!takesReads(status)) this.#epoch += 1
        this.#tell(this.#storeNow())
      }),
      views.onRenewed(() => this.#tell({ kind: 'views-renewed' })),
    ]
    for (const share of SHARES_OF_RUNS)
      memory.watch(share, () => this.#threads.reduce((sum, { state }) => sum + (state.usedBytes[share] ?? 0), 0))
    await Promise.all(this.#threads.map((thread) => thread.begin()))
    return {
      writes: this.#writes(),
      queries: this.#queries(),
      keysChanged: (kid) => this.#tell({ kind: 'key', kid }),
      drained: async () => void (await Promise.all(this.#threads.map((thread) => thread.idle()))),
      end: () => this.end(),
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end()
  }

  /** Waits for what is under way. */
  async end(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()))
    for (const stop of this.#stops.splice(0)) stop()
  }

  #thread(host: SealingHost): SealThread {
    const { file, workerData, heapBytes, store, log } = this.#options
    return new SealThread({
      ...{ file, heapBytes },
      workerData: () => ({
        ...workerData,
        identity: { ledgerId: host.ledgerId, kid: host.kid() } satisfies SealerIdentity,
      }),
      store: {
        append: async (append) => {
          host.counts.handedOver()
          let events = 0
          try {
            const result = await store.append(append)
            if (result.kind === 'appended') events = append.records.length
            return result
          } finally {
            host.counts.settled(events)
          }
        },
      },
      storeNow: () => this.#storeNow(),
      onReport: (report) => this.#report(report),
      onDeath: (why) => {
        this.#deaths += 1
        log.warn({ why }, 'a thread that decides and seals has ended: it is started again')
      },
    })
  }

  #storeNow(): Extract<ToSealer, { readonly kind: 'store' }> {
    return { kind: 'store', epoch: this.#epoch, status: this.#options.store.status() }
  }

  #tell(message: ToSealer): void {
    for (const thread of this.#threads) thread.say(message)
  }

  #report(report: Report): void {
    const { views, work } = this.#options
    if (report.kind === 'save-fold') views.saveFold(report.row)
    else if (report.kind === 'renew-views') views.renew(report.reason)
    else if (report.kind === 'conflict') this.#host?.counts.conflict()
    else if (report.kind === 'refused') this.#host?.counts.refused(report.code)
    else if (report.kind === 'worked') work.charge(report.work)
    else this.#host?.onFault(report.fault)
  }

  async #run(caller: Caller, runId: string, task: Task): Promise<Done | Lost> {
    const thread = this.#threads[threadOf(caller.tenant, runId, this.#threads.length)]
    if (thread === undefined) return { lost: 'not-begun', reason: 'the ledger is closing' }
    return await thread.run({ caller: sentCaller(caller), runId, task })
  }

  #writes(): RunWrites {
    return {
      execute: async (caller, runId, command, info) => {
        const done = await this.#run(caller, runId, { what: 'execute', command, info })
        return isLost(done) ? lostCommand(done) : (done as Outcome)
      },
      executeInOrder: async (caller, runId, items) => {
        const done = await this.#run(caller, runId, { what: 'in-order', items })
        return isLost(done) ? items.map(() => lostCommand(done)) : [...(done as readonly Outcome[])]
      },
    }
  }

  #queries(): RunQueries {
    const query =
      <K extends keyof RunQueries>(name: K) =>
      async (caller: Caller, runId: string, ...args: readonly unknown[]): Promise<Found<never>> => {
        const done = await this.#run(caller, runId, { what: 'query', name, args })
        if (isLost(done)) return { ok: false, refusal: storeUnavailable(`${GONE} (${done.reason})`, RETRY_MS) }
        return done as Found<never>
      }
    return {
      ...{ run: query('run'), context: query('context'), envelopes: query('envelopes'), calls: query('calls') },
      ...{ call: query('call'), budget: query('budget'), findings: query('findings'), manifests: query('manifests') },
      ...{ compensations: query('compensations'), forks: query('forks'), value: query('value') },
    }
  }
}

const GONE = 'the thread that decides on this run has ended'

function isLost(done: Done | Lost): done is Lost {
  return 'lost' in done
}

function lostCommand({ lost, reason: why }: Lost): Outcome {
  const detail = `${GONE} (${why})`
  return refused(
    lost === 'unknown' ? notKnownWritten(detail) : storeUnavailable(`${detail}: nothing was written`, RETRY_MS),
  )
}

function sentCaller({ pace, ...caller }: Caller): SentCaller {
  return pace === undefined ? caller : { ...caller, isPaced: true }
}

/** FNV-1a over tenant and run: the same thread for a run as long as there are so many. */
function threadOf(tenant: string, runId: string, threads: number): number {
  const name = `${tenant}.${runId}`
  let hash = 0x811c9dc5
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % threads
}
