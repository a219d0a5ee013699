/** @module The thread that writes the files that follow the store, from this side: started at once, and again after an end that nobody requested. */
import type { Worker } from 'node:worker_threads'
import type { LogFact } from '../ledger/log/log-deps.ts'
import type { Log } from '../ledger/ports.ts'
import type { Elsewhere, Upkeep, UpkeepHost } from '../ledger/upkeep.ts'
import { endWorker, startWorker } from '../resources/worker-life.ts'
import { type AppendResult, type EventStore, StoreUnavailableError } from '../store/event-store.ts'
import { elsewhereOver, type Following } from './elsewhere-over.ts'
import type { FileName, FromUpkeep, TaskDone, ToUpkeep, UpkeepState, UpkeepTask } from './protocol.ts'
import { errorOf } from './upkeep-failure.ts'

/** After the start of the process: one that ends before needs no thread. */
const START_MS = 1_000
/** Of its heap: with more it takes no less time, and keeps garbage for longer. */
const YOUNG_BYTES = 16 * 1024 * 1024
const END_MS = 1_000
/** After the second end in a row that nobody requested; twice as long each time, until a task is done. */
const AGAIN_MS = 250
const AGAIN_MAX_MS = 30_000

export interface UpkeepThreadOptions {
  /** The thread's program. */
  readonly file: URL
  readonly workerData: unknown
  readonly store: Pick<EventStore, 'end'>
  readonly log: Log
  /** When it is started, after the ledger has begun it. Default 1,000. */
  readonly startMs?: number | undefined
  /** Closes the files here: the thread opens them now. */
  readonly handOver: () => void
  /** Called after the thread rebuilt a file. */
  readonly onRenewed: (file: FileName, reason: string) => void
}

export interface UpkeepStats {
  readonly threads: number
  /** As last reported; 0 while it does not run. */
  readonly heapBytes: number
  /** Ends that nobody requested. */
  readonly deaths: number
}

interface Waiting {
  readonly resolve: (done: TaskDone) => void
  readonly reject: (error: Error) => void
}

const IDLE: UpkeepState = { heapBytes: 0, building: {}, indexing: { indexedEvents: 0, percent: 0 } }

/** What it was doing is lost with it: whoever waits is refused, and the next task starts it again and goes on from what the files say. */
export class UpkeepThread implements AsyncDisposable {
  readonly #options: UpkeepThreadOptions
  readonly #elsewhere: Elsewhere
  #host: UpkeepHost | undefined
  #worker: Worker | undefined
  #waiting = new Map<number, Waiting>()
  #state = IDLE
  #deaths = 0
  #lastId = 0
  #againAtMs = 0
  #waitMs = 0
  #isClosed = false
  #first: NodeJS.Timeout | undefined
  /** The thread has, or had, the files: they are no more written here. */
  #isTaken = false
  /** Work on the files that runs here. */
  #here = 0
  #isWaitingToTake = false
  /** Who waits until the files are the thread's, or until nothing runs here. */
  #waiters: (() => void)[] = []

  constructor(options: UpkeepThreadOptions) {
    this.#options = options
    this.#elsewhere = elsewhereOver({
      state: () => this.#state,
      task: (task) => this.#task(task),
      follow: (what, signal) => this.#follow(what, signal),
    })
  }

  /** The thread takes the files over some time later, when nothing here works on them. */
  begin(host: UpkeepHost): Upkeep {
    this.#host = host
    this.#startIn(this.#options.startMs ?? START_MS)
    const elsewhere = () => (this.#isTaken ? this.#elsewhere : undefined)
    return {
      get elsewhere() {
        return elsewhere()
      },
      do: (here, there) => this.do(here, there),
      coming: () => this.coming(),
      keysChanged: () => this.say({ kind: 'keys-changed' }),
    }
  }

  /** Resolves when the thread has the files. */
  async taken(): Promise<void> {
    while (!this.#isTaken && !this.#isClosed) await this.#change()
  }

  /** See `Upkeep`: whoever asks has work for it, so that it is started now. */
  coming(): Promise<void> | undefined {
    if (!this.#isToCome()) return undefined
    const worker = this.#worker ?? this.#start()
    // Until it has done what it is waited for.
    worker.ref()
    return this.#came()
  }

  /** One that could not begin is tried again, and nobody waits for it. */
  #isToCome(): boolean {
    return !this.#isTaken && !this.#isClosed && this.#deaths === 0
  }

  async #came(): Promise<void> {
    while (this.#isToCome()) await this.#change()
    if (this.#isClosed) throw threadLost('the server is closing', AGAIN_MS)
  }

  /** What nobody waits for. Without a thread it is lost: the next one reads the files and the keys as they are. */
  say(message: ToUpkeep): void {
    this.#worker?.postMessage(message)
  }

  stats(): UpkeepStats {
    return { threads: this.#isTaken ? 1 : 0, heapBytes: this.#state.heapBytes, deaths: this.#deaths }
  }

  /** Whoever waits is refused. Resolves when the thread has closed its files, or was ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#first)
    this.#notify()
    const worker = this.#worker
    if (worker === undefined) return
    this.#forget('the server is closing')
    const leave = (): void => {
      // One that has no files yet has nothing to leave in order.
      if (!this.#isTaken) void worker.terminate()
      else worker.postMessage({ kind: 'end' } satisfies ToUpkeep)
    }
    await endWorker(worker, leave, END_MS)
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  #notify(): void {
    for (const wake of this.#waiters.splice(0)) wake()
  }

  /** See `Upkeep`. */
  async do<T>(here: () => Promise<T>, inThread: (it: Elsewhere) => Promise<T>): Promise<T> {
    // Who would begin now waits for the thread, which waits for those who began before.
    while (this.#isWaitingToTake && !this.#isClosed) await this.#change()
    if (this.#isTaken) return await inThread(this.#elsewhere)
    this.#here += 1
    try {
      return await here()
    } finally {
      this.#here -= 1
      if (this.#here === 0) this.#notify()
    }
  }

  async #take(worker: Worker): Promise<void> {
    if (this.#isTaken) return
    this.#isWaitingToTake = true
    while (this.#here > 0 && !this.#isClosed) await this.#change()
    // Dead meanwhile, it has taken nothing: the next one will.
    if (!this.#isClosed && worker === this.#worker) {
      this.#options.handOver()
      this.#isTaken = true
      worker.postMessage({ kind: 'take' } satisfies ToUpkeep)
    }
    this.#isWaitingToTake = false
    this.#notify()
  }

  async #follow(what: Following, signal?: AbortSignal): Promise<TaskDone> {
    const until = await this.#options.store.end()
    return until === undefined ? {} : await this.#task({ what, until }, signal)
  }

  /** Aborted, it comes to nothing at once, whatever the thread is at. */
  async #task(task: UpkeepTask, signal?: AbortSignal): Promise<TaskDone> {
    if (signal?.aborted === true) return {}
    const worker = this.#worker ?? this.#start()
    const id = ++this.#lastId
    const abort = (): void => {
      this.say({ kind: 'abort', id })
      this.#taken(id)?.resolve({})
    }
    const done = new Promise<TaskDone>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    worker.ref()
    worker.postMessage({ kind: 'task', id, task } satisfies ToUpkeep)
    signal?.addEventListener('abort', abort, { once: true })
    return await done.finally(() => signal?.removeEventListener('abort', abort))
  }

  #startIn(ms: number): void {
    this.#first = setTimeout(() => {
      if (this.#worker === undefined && !this.#isClosed) this.#start()
    }, ms).unref()
  }

  /** Throws `StoreUnavailableError` where it ended a short while ago, or the server closes. */
  #start(): Worker {
    const leftMs = this.#againAtMs - performance.now()
    if (this.#isClosed || leftMs > 0) throw threadLost('it ended', Math.max(AGAIN_MS, leftMs))
    const { file, workerData } = this.#options
    const worker = startWorker<FromUpkeep>({
      ...{ file, workerData, name: 'upkeep', youngBytes: YOUNG_BYTES },
      receive: (message) => {
        if (worker === this.#worker) this.#receive(message, worker)
      },
      ended: (why) => {
        if (worker === this.#worker) this.#died(why)
      },
    })
    this.#worker = worker
    if (this.#isTaken) worker.postMessage({ kind: 'take' } satisfies ToUpkeep)
    return worker
  }

  #died(reason: string): void {
    this.#deaths += 1
    this.#againAtMs = performance.now() + this.#waitMs
    this.#waitMs = Math.min(Math.max(AGAIN_MS, 2 * this.#waitMs), AGAIN_MAX_MS)
    this.#forget(reason)
    this.#notify()
    this.#options.log.warn({ why: reason }, this.#isTaken ? DIED : NOT_BEGUN)
    // Once it has the files, whoever needs them starts it.
    if (!this.#isTaken) this.#startIn(START_MS + this.#waitMs)
  }

  #receive(message: FromUpkeep, worker: Worker): void {
    const { log, onRenewed } = this.#options
    if (message.kind === 'ready') void this.#take(worker)
    else if (message.kind === 'done') {
      this.#waitMs = 0
      this.#taken(message.id)?.resolve(message.done)
    } else if (message.kind === 'failed') this.#taken(message.id)?.reject(errorOf(message.failure))
    else if (message.kind === 'append') void this.#append(message.id, message.fact)
    else if (message.kind === 'renewed') onRenewed(message.file, message.reason)
    else if (message.kind === 'state') this.#state = message.state
    else if (message.kind === 'log') log[message.level](message.fields, message.message)
    else if (message.kind === 'fault') this.#host?.onFault(message.fault)
  }

  #taken(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#worker?.unref()
    return waiting
  }

  async #append(id: number, fact: LogFact): Promise<void> {
    const worker = this.#worker
    let result: AppendResult | undefined
    try {
      result = await this.#host?.append(fact)
    } catch (error) {
      this.#options.log.warn({ err: error, type: fact.type }, 'a fact could not be handed to the store')
    }
    // One that came too late is for nobody: the next thread reads whether it is there.
    if (worker === this.#worker) worker?.postMessage({ kind: 'appended', id, result } satisfies ToUpkeep)
  }

  #forget(reason: string): void {
    const waiting = this.#waiting
    this.#worker = undefined
    this.#waiting = new Map()
    this.#state = IDLE
    for (const { reject } of waiting.values()) reject(threadLost(reason, AGAIN_MS))
  }
}

const DIED = 'the thread that follows the store has ended: it is started again, and goes on from what its files say'
const NOT_BEGUN = 'the thread that is to follow the store could not begin: the one that writes the store does so'

function threadLost(reason: string, retryAfterMs: number): StoreUnavailableError {
  return new StoreUnavailableError(`the thread that follows the store is gone (${reason}): ask again`, retryAfterMs)
}
