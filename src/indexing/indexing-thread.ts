/** @module The host side of the thread that writes the derived files: starts it, and starts it again after an unexpected end. */
import type { Indexing, IndexingHost, Remote } from '../ledger/indexing.ts'
import type { LogFact } from '../ledger/log/log-deps.ts'
import type { Log } from '../ledger/ports.ts'
import { THREAD_ERRORS } from '../ledger/thread-errors.ts'
import { type AppendResult, type EventStore, StoreUnavailableError } from '../store/event-store.ts'
import type { Handlers } from '../workers/peer.ts'
import { WorkerThread } from '../workers/worker-thread.ts'
import type { FileName, Following, IndexingCalls, IndexingHostCalls, IndexingState } from './protocol.ts'

/** Delay after the start of the process: a process that ends earlier needs no thread. */
const START_MS = 1_000
/** A larger young generation makes the thread no faster, and keeps garbage for longer. */
const HEAP = { youngBytes: 16 * 1024 * 1024 }
const END_MS = 1_000
/** Delay of a restart after the second unexpected end in a row; it doubles each time until a task succeeds. */
const AGAIN_MS = 250
const AGAIN_MAX_MS = 30_000
const FACT_RETRY_MS = 1_000

export interface IndexingThreadOptions {
  /** Program of the thread. */
  readonly file: URL
  readonly workerData: unknown
  readonly store: Pick<EventStore, 'end'>
  readonly log: Log
  /** Milliseconds from `begin` to the start of the thread. Default 1,000. */
  readonly startMs?: number | undefined
  /** Closes the files in this thread: the indexing thread opens them now. */
  readonly handOver: () => void
  /** Called after the thread rebuilt a file. */
  readonly onRenewed: (file: FileName, reason: string) => void
}

export interface IndexingStats {
  readonly threads: number
  /** As last reported; 0 while the thread does not run. */
  readonly heapBytes: number
  /** Unexpected ends of the thread. */
  readonly deaths: number
}

type Thread = WorkerThread<IndexingCalls, IndexingHostCalls>

const IDLE: IndexingState = { heapBytes: 0, building: {}, indexing: { indexedEvents: 0, percent: 0 } }

/** When the thread ends, its pending calls are rejected; the next task starts it again, and it continues from the state of the files. */
export class IndexingThread implements AsyncDisposable {
  readonly #options: IndexingThreadOptions
  readonly #remote: Remote
  #host: IndexingHost | undefined
  #worker: Thread | undefined
  #state = IDLE
  #deaths = 0
  #againAtMs = 0
  #waitMs = 0
  #isClosed = false
  #first: NodeJS.Timeout | undefined
  /** Whether the thread has or had the files: they are no longer written in this one. */
  #isTaken = false
  /** Number of tasks on the files that run in this thread. */
  #here = 0
  #isWaitingToTake = false
  /** Waiters for the handover of the files, or for the end of the work in this thread. */
  #waiters: (() => void)[] = []

  constructor(options: IndexingThreadOptions) {
    this.#options = options
    this.#remote = remoteOver({
      state: () => this.#state,
      ask: (what, args) => this.#ask(what, args),
      follow: (what, signal) => this.#follow(what, signal),
    })
  }

  /** The thread takes the files over later, when no work in this thread uses them. */
  begin(host: IndexingHost): Indexing {
    this.#host = host
    this.#startIn(this.#options.startMs ?? START_MS)
    const remote = () => (this.#isTaken ? this.#remote : undefined)
    return {
      get remote() {
        return remote()
      },
      do: (here, there) => this.do(here, there),
      coming: () => this.coming(),
      keysChanged: () => this.tell('keysChanged', []),
    }
  }

  /** Resolves when the thread has the files, or when this object is closed. */
  async taken(): Promise<void> {
    while (!this.#isTaken && !this.#isClosed) await this.#change()
  }

  /** See `Indexing`. The caller has work for the thread, so it is started now. */
  coming(): Promise<void> | undefined {
    if (!this.#isToCome()) return undefined
    const worker = this.#worker ?? this.#start()
    // Keeps the process alive until the next answer of the thread.
    worker.hold()
    return this.#came()
  }

  /** A thread that could not begin is tried again, but no caller waits for it. */
  #isToCome(): boolean {
    return !this.#isTaken && !this.#isClosed && this.#deaths === 0
  }

  async #came(): Promise<void> {
    while (this.#isToCome()) await this.#change()
    if (this.#isClosed) throw threadLost('the server is closing', AGAIN_MS)
  }

  /** Sends a notification. It is lost if no thread runs: the next thread reads the files and keys as they are. */
  tell<K extends keyof IndexingCalls>(what: K, args: Parameters<IndexingCalls[K]>): void {
    this.#worker?.tell(what, args)
  }

  stats(): IndexingStats {
    return { threads: this.#isTaken ? 1 : 0, heapBytes: this.#state.heapBytes, deaths: this.#deaths }
  }

  /** Rejects pending calls. Resolves when the thread has closed its files or was terminated. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#first)
    this.#notify()
    const worker = this.#worker
    this.#forget()
    // A thread that has no files yet has nothing to close.
    await worker?.end('the server is closing', this.#isTaken ? END_MS : 0)
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  #notify(): void {
    for (const wake of this.#waiters.splice(0)) wake()
  }

  /** See `Indexing`. */
  async do<T>(here: () => Promise<T>, inThread: (it: Remote) => Promise<T>): Promise<T> {
    // New work waits for the thread to take the files, and the thread waits for the work that began earlier.
    while (this.#isWaitingToTake && !this.#isClosed) await this.#change()
    if (this.#isTaken) return await inThread(this.#remote)
    this.#here += 1
    try {
      return await here()
    } finally {
      this.#here -= 1
      if (this.#here === 0) this.#notify()
    }
  }

  /** Resolves when the files belong to that thread. */
  async #take(worker: Thread): Promise<void> {
    if (this.#isTaken) return
    this.#isWaitingToTake = true
    while (this.#here > 0 && !this.#isClosed) await this.#change()
    this.#isWaitingToTake = false
    // If the thread died in the meantime, it has taken nothing: the next one will.
    const isGone = this.#isClosed || worker !== this.#worker
    if (!isGone) {
      this.#options.handOver()
      this.#isTaken = true
    }
    this.#notify()
    if (isGone) throw threadLost('it is no more waited for', AGAIN_MS)
  }

  /** Resolves to undefined at once when aborted, whatever the thread is doing. */
  async #follow<K extends Following>(what: K, signal?: AbortSignal): Promise<ReturnType<IndexingCalls[K]> | undefined> {
    const until = await this.#options.store.end()
    if (until === undefined || signal?.aborted === true) return undefined
    const args = [until] as Parameters<IndexingCalls[K]>
    return await this.#ask(what, args, signal).catch((error: unknown) => {
      if (signal?.aborted === true) return undefined
      throw error
    })
  }

  async #ask<K extends keyof IndexingCalls>(
    what: K,
    args: Parameters<IndexingCalls[K]>,
    signal?: AbortSignal,
  ): Promise<Awaited<ReturnType<IndexingCalls[K]>>> {
    const worker = this.#worker ?? this.#start()
    const answer = await worker.ask(what, args, signal)
    this.#waitMs = 0
    return answer
  }

  #startIn(ms: number): void {
    this.#first = setTimeout(() => {
      if (this.#worker === undefined && !this.#isClosed) this.#start()
    }, ms).unref()
  }

  /** Throws `StoreUnavailableError` if the thread ended a short while ago, or if the server is closing. */
  #start(): Thread {
    const leftMs = this.#againAtMs - performance.now()
    if (this.#isClosed || leftMs > 0) throw threadLost('it ended', Math.max(AGAIN_MS, leftMs))
    const { file, workerData } = this.#options
    const worker: Thread = new WorkerThread({
      ...{ program: file, workerData, name: 'indexing', heap: HEAP, errors: THREAD_ERRORS },
      handlers: this.#handlers(() => worker),
      lost: ({ message }) => threadLost(message, AGAIN_MS),
      onDeath: ({ message }) => this.#died(message),
    })
    this.#worker = worker
    return worker
  }

  #handlers(worker: () => Thread): Handlers<IndexingHostCalls> {
    const { log, onRenewed } = this.#options
    return {
      takeFiles: () => this.#take(worker()),
      append: (fact) => this.#append(fact),
      renewed: (file, reason) => onRenewed(file, reason),
      state: (state) => {
        this.#state = state
      },
      log: (level, fields, message) => log[level](fields, message),
      fault: (fault) => this.#host?.onFault(fault),
    }
  }

  #died(reason: string): void {
    this.#deaths += 1
    this.#againAtMs = performance.now() + this.#waitMs
    this.#waitMs = Math.min(Math.max(AGAIN_MS, 2 * this.#waitMs), AGAIN_MAX_MS)
    this.#forget()
    this.#notify()
    this.#options.log.warn({ why: reason }, this.#isTaken ? DIED : NOT_BEGUN)
    // After the handover, the next task starts the thread.
    if (!this.#isTaken) this.#startIn(START_MS + this.#waitMs)
  }

  async #append(fact: LogFact): Promise<AppendResult> {
    try {
      if (this.#host !== undefined) return await this.#host.append(fact)
    } catch (error) {
      this.#options.log.warn({ err: error, type: fact.type }, 'a fact could not be handed to the store')
    }
    return { kind: 'unavailable', detail: 'it could not be handed to the store', retryAfterMs: FACT_RETRY_MS }
  }

  #forget(): void {
    this.#worker = undefined
    this.#state = IDLE
  }
}

const DIED = 'the thread that follows the store has ended: it is started again, and goes on from what its files say'
const NOT_BEGUN = 'the thread that is to follow the store could not begin: the one that writes the store does so'

function threadLost(reason: string, retryAfterMs: number): StoreUnavailableError {
  return new StoreUnavailableError(`the thread that follows the store is gone (${reason}): ask again`, retryAfterMs)
}

// The thread that has the files, as an interface of calls for the ledger.

type Answer<K extends keyof IndexingCalls> = ReturnType<IndexingCalls[K]>

interface Tasks {
  /** State as last reported by the thread. */
  readonly state: () => IndexingState
  readonly ask: <K extends keyof IndexingCalls>(
    what: K,
    args: Parameters<IndexingCalls[K]>,
  ) => Promise<Awaited<Answer<K>>>
  /** Runs a task up to the end of the store at the time of the call. Undefined if the call was aborted, or if the store is empty. */
  readonly follow: <K extends Following>(what: K, signal?: AbortSignal) => Promise<Answer<K> | undefined>
}

function remoteOver({ state, ask, follow }: Tasks): Remote {
  let faults = 0
  return {
    get faults() {
      return faults
    },
    get indexing() {
      return state().indexing
    },
    get indexBuilding() {
      return state().building.audit
    },
    listRuns: async (signal) => {
      if (await follow('listRuns', signal)) faults += 1
    },
    index: async (signal) => void (await follow('index', signal)),
    indexOwner: {
      vouch: (damage) => ask('vouch', [damage]),
      opening: () => ask('opening', []),
      opened: () => ask('opened', []),
    },
    logs: {
      get building() {
        return state().building.logs
      },
      catchUp: async (signal) => void (await follow('followLogs', signal)),
      sign: async (signal) => (await follow('signLogs', signal)) ?? 0,
      restoreHeads: async (signal) => void (await follow('restoreHeads', signal)),
      streamPath: (...place) => ask('streamPath', place),
    },
  }
}
