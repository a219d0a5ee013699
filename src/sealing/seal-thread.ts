/** @module One thread that decides and seals, from the side of the one that owns the store: started, and started again after an end that nobody requested. */
import type { Worker } from 'node:worker_threads'
import { orLate } from '../resources/or-late.ts'
import { endWorker, startWorker } from '../resources/worker-life.ts'
import type { AppendResult, EventStore } from '../store/event-store.ts'
import type { Answer, Done, FromSealer, Job, RefusedAppend, SealerState, ToSealer } from './protocol.ts'
import { type SentAppends, unpackAppends } from './sent-appends.ts'

/** So many jobs are sent before the turn ends: the thread begins on them. */
const EARLY_JOBS = 16
/** What is under way at the end is waited for so long: then whoever waits is told that nobody knows. */
const IDLE_MAX_MS = 3_000
const END_MS = 1_000
/** After the second end in a row that nobody requested; twice as long each time, until it answers something. */
const AGAIN_MS = 250
const AGAIN_MAX_MS = 30_000
const IDLE: SealerState = { heapBytes: 0, hotRuns: 0, usedBytes: {} }

/** Reports that are the same whichever thread they come from. */
export type Report = Exclude<FromSealer, { readonly kind: 'ready' | 'open-failed' | 'answers' | 'append' | 'state' }>

export interface SealThreadOptions {
  /** The thread's program. */
  readonly file: URL
  readonly workerData: () => unknown
  readonly heapBytes: number
  readonly store: Pick<EventStore, 'append'>
  /** As the store is now: sent to the thread before its first job. */
  readonly storeNow: () => Extract<ToSealer, { readonly kind: 'store' }>
  readonly onReport: (report: Report) => void
  readonly onDeath: (reason: string) => void
}

/** It has not taken the job: nothing was written. Or it has, and is gone: nobody knows. */
export type Lost = { readonly lost: 'not-begun' | 'unknown'; readonly reason: string }

interface Waiting {
  readonly resolve: (done: Done | Lost) => void
  readonly reject: (error: Error) => void
}

export class SealThread {
  readonly #options: SealThreadOptions
  #worker: Worker | undefined
  #isReady = false
  #waiting = new Map<number, Waiting>()
  #jobs: Job[] = []
  #lastId = 0
  /** Groups of appends that are with the store, of this life of the thread and those before. */
  #appending = 0
  #why = 'it has not begun'
  #waitMs = 0
  #isClosed = false
  #state = IDLE
  #again: NodeJS.Timeout | undefined
  readonly #onIdle: (() => void)[] = []

  constructor(options: SealThreadOptions) {
    this.#options = options
  }

  get state(): SealerState {
    return this.#state
  }

  /** Resolves when it takes jobs. Rejects where it cannot begin. */
  begin(): Promise<void> {
    return new Promise((resolve, reject) => this.#start({ ready: resolve, ended: (why) => reject(new Error(why)) }))
  }

  run(job: Omit<Job, 'id'>): Promise<Done | Lost> {
    if (!this.#isReady) return Promise.resolve({ lost: 'not-begun', reason: this.#why })
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#worker?.ref()
      this.#waiting.set(id, { resolve, reject })
      const jobs = this.#jobs.push({ id, ...job })
      if (jobs >= EARLY_JOBS) this.#flush()
      else if (jobs === 1) setImmediate(() => this.#flush())
    })
  }

  say(message: ToSealer): void {
    if (this.#isReady) this.#worker?.postMessage(message)
  }

  /** Resolves when it has nothing to do. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0 || this.#appending > 0)
      await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }

  /** What is under way is finished first. */
  async end(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#again)
    await orLate(this.idle(), IDLE_MAX_MS, () => new Error('it is late')).catch(() => undefined)
    const worker = this.#worker
    this.#forget('the ledger is closing')
    if (worker !== undefined)
      await endWorker(worker, () => worker.postMessage({ kind: 'end' } satisfies ToSealer), END_MS)
  }

  #flush(): void {
    const jobs = this.#jobs
    this.#jobs = []
    if (jobs.length > 0) this.#worker?.postMessage({ kind: 'jobs', jobs } satisfies ToSealer)
  }

  #start(begun: { readonly ready: () => void; readonly ended: (reason: string) => void }): void {
    const { file, workerData, heapBytes, storeNow } = this.#options
    const worker = startWorker<FromSealer>({
      ...{ file, workerData: workerData(), name: 'sealer', heapBytes },
      receive: (message) => {
        if (message.kind === 'append') void this.#append(worker, message)
        else if (worker !== this.#worker) return
        else if (message.kind === 'ready') {
          this.#isReady = true
          worker.unref()
          this.say(storeNow())
          begun.ready()
        } else this.#receive(message)
      },
      ended: (why) => {
        begun.ended(why)
        if (worker === this.#worker) this.#died(why)
      },
    })
    // Who waits for its beginning may have nothing else to keep the process alive.
    worker.ref()
    this.#worker = worker
  }

  #receive(message: Exclude<FromSealer, { readonly kind: 'append' | 'ready' | 'open-failed' }>): void {
    if (message.kind === 'answers') for (const answer of message.answers) this.#answer(answer)
    else if (message.kind === 'state') this.#state = message.state
    else this.#options.onReport(message)
  }

  #answer(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    this.#waitMs = 0
    if ('failure' in answer) waiting?.reject(new Error(answer.failure))
    else waiting?.resolve(answer.done)
    if (this.#waiting.size === 0) this.#worker?.unref()
    this.#tellIdle()
  }

  /** Also what a thread said right before its end: it may be written, and the next one must not read before it is. */
  async #append(worker: Worker, { epoch, appends }: Extract<FromSealer, { kind: 'append' }>): Promise<void> {
    this.#appending += 1
    const results = await this.#written(epoch, appends)
    this.#appending -= 1
    if (worker === this.#worker) this.say({ kind: 'appended', id: appends.group.id, results })
    this.#tellIdle()
  }

  #written(epoch: number, appends: SentAppends): Promise<readonly (AppendResult | RefusedAppend)[]> {
    const { store, storeNow } = this.#options
    // Decided on what was read before the store failed: what stands there now may be something else.
    const isOld = epoch !== storeNow().epoch
    const asError = (error: unknown): RefusedAppend => ({ kind: 'error', message: String(error) })
    return Promise.all(unpackAppends(appends).map((append) => (isOld ? stale : store.append(append).catch(asError))))
  }

  #tellIdle(): void {
    if (this.#waiting.size > 0 || this.#appending > 0) return
    for (const wake of this.#onIdle.splice(0)) wake()
  }

  #died(reason: string): void {
    this.#forget(reason)
    if (this.#isClosed) return
    this.#options.onDeath(reason)
    const waitMs = this.#waitMs
    this.#waitMs = Math.min(Math.max(AGAIN_MS, 2 * waitMs), AGAIN_MAX_MS)
    this.#again = setTimeout(() => void this.#startAgain(), waitMs).unref()
  }

  /** Not while an append of the thread before is with the store: it could match the revision that a new decision is made on. */
  async #startAgain(): Promise<void> {
    await this.idle()
    if (!this.#isClosed && this.#worker === undefined) this.#start({ ready: () => undefined, ended: () => undefined })
  }

  #forget(reason: string): void {
    const waiting = [...this.#waiting]
    const unsent = new Set(this.#jobs.map(({ id }) => id))
    this.#worker = undefined
    this.#isReady = false
    this.#why = reason
    this.#waiting = new Map()
    this.#jobs = []
    this.#state = IDLE
    for (const [id, { resolve }] of waiting) resolve({ lost: unsent.has(id) ? 'not-begun' : 'unknown', reason })
    this.#tellIdle()
  }
}

const stale: AppendResult = {
  kind: 'unavailable',
  detail: 'the store was opened anew meanwhile',
  retryAfterMs: AGAIN_MS,
}
