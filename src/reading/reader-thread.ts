/** @module One thread that reads, from this side: started when it is first needed, and again after an end that nobody requested. */
import type { Worker } from 'node:worker_threads'
import type { SealFault } from '../ledger/identity/sealer.ts'
import { endWorker, startWorker } from '../resources/worker-life.ts'
import { StoreUnavailableError } from '../store/event-store.ts'
import type { FromReader, HostAnswer, HostQuestion, ReaderJob, ToReader } from './protocol.ts'
import { errorOf } from './read-failure.ts'

const RETRY_MS = 1_000
const END_MS = 2_000

export interface ReaderThreadOptions {
  /** The thread's program. */
  readonly file: URL
  readonly workerData: unknown
  /** See `WorkerOptions`. */
  readonly youngBytes?: number | undefined
  readonly onFault: (fault: SealFault) => void
  /** Called once for each end that nobody requested. */
  readonly onDeath: (reason: string) => void
}

type Answer = Exclude<Extract<FromReader, { readonly id: number }>, { readonly kind: 'question' }>

/** Answers what a body asks back. Never rejects. */
export type AnswerHost = (question: HostQuestion) => Promise<HostAnswer>

interface Waiting {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/** What runs in it is lost with it: each of its bodies rejects, and whoever asks for another one starts it again. */
export class ReaderThread {
  readonly #options: ReaderThreadOptions
  #worker: Worker | undefined
  #waiting = new Map<number, Waiting>()
  readonly #hosts = new Map<number, AnswerHost>()
  #bodies = 0
  #heapBytes = 0
  #readiness = new Readiness()

  constructor(options: ReaderThreadOptions) {
    this.#options = options
  }

  /** Bodies that are open in it. */
  get bodies(): number {
    return this.#bodies
  }

  /** As last reported; 0 while it does not run. */
  get heapBytes(): number {
    return this.#heapBytes
  }

  /** The life of the thread that a body belongs to: a later one knows nothing of it. */
  open(id: number, job: ReaderJob, host: AnswerHost): ReaderLine {
    const worker = this.#worker ?? this.#start()
    this.#bodies += 1
    this.#hosts.set(id, host)
    worker.postMessage({ kind: 'open', id, job } satisfies ToReader)
    return {
      ask: (message) => {
        if (worker !== this.#worker) return Promise.reject(lost('it ended'))
        return new Promise((resolve, reject) => {
          this.#waiting.set(id, { resolve, reject })
          worker.ref()
          worker.postMessage(message)
        })
      },
      leave: () => {
        if (worker === this.#worker) worker.postMessage({ kind: 'leave', id } satisfies ToReader)
      },
      closed: () => {
        this.#hosts.delete(id)
        if (worker === this.#worker) this.#bodies -= 1
      },
    }
  }

  /** Resolves once it has opened the store; starts it where it does not run. Rejects with `StoreUnavailableError` where it ends before. */
  ready(): Promise<void> {
    if (this.#worker === undefined) this.#start()
    return this.#readiness.reached
  }

  async end(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    this.#forget('the server is closing')
    await endWorker(worker, () => worker.postMessage({ kind: 'end' } satisfies ToReader), END_MS)
  }

  #start(): Worker {
    const { file, workerData, youngBytes } = this.#options
    const worker = startWorker<FromReader>({
      ...{ file, workerData, name: 'reader', ...(youngBytes !== undefined && { youngBytes }) },
      receive: (message) => this.#receive(message),
      ended: (reason) => {
        if (worker !== this.#worker) return
        this.#forget(reason)
        this.#options.onDeath(reason)
      },
    })
    this.#worker = worker
    this.#readiness = new Readiness()
    return worker
  }

  #receive(message: FromReader): void {
    if (message.kind === 'ready') this.#readiness.reach()
    if (message.kind === 'fault') this.#options.onFault(message.fault)
    if (message.kind === 'memory') this.#heapBytes = message.heapBytes
    if (!('id' in message)) return
    if (message.kind === 'question') {
      this.#answer(message.id, message.question)
      return
    }
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (this.#waiting.size === 0) this.#worker?.unref()
    if (message.kind === 'failed') waiting?.reject(errorOf(message.failure))
    else waiting?.resolve(message)
  }

  #answer(id: number, question: HostQuestion): void {
    const worker = this.#worker
    void this.#hosts
      .get(id)?.(question)
      .then((answer) => {
        // One that came too late is for nobody.
        if (worker === this.#worker) worker?.postMessage({ kind: 'answer', id, answer } satisfies ToReader)
      })
  }

  #forget(reason: string): void {
    const waiting = this.#waiting
    this.#worker = undefined
    this.#waiting = new Map()
    this.#bodies = 0
    this.#heapBytes = 0
    for (const { reject } of waiting.values()) reject(lost(reason))
    this.#readiness.miss(lost(reason))
  }
}

/** Of one life of a thread. */
class Readiness {
  readonly reached: Promise<void>
  reach: () => void = () => undefined
  miss: (error: Error) => void = () => undefined

  constructor() {
    this.reached = new Promise((resolve, reject) => {
      this.reach = resolve
      this.miss = reject
    })
    // Nobody may wait for it.
    this.reached.catch(() => undefined)
  }
}

/** To one body in one life of a thread. */
export interface ReaderLine {
  /** Rejects with `StoreUnavailableError` where the thread is no more; one question at a time. */
  readonly ask: (message: ToReader) => Promise<Answer>
  /** Nobody wants more. */
  readonly leave: () => void
  readonly closed: () => void
}

function lost(reason: string): StoreUnavailableError {
  return new StoreUnavailableError(`the thread that reads is gone (${reason}): ask again`, RETRY_MS)
}
