/** @module One reader thread, seen from its owner: started on first use, and restarted on the next use after it died. */
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { BundleHost } from '../export/bundle/plan-bundle.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import { THREAD_ERRORS } from '../ledger/thread-errors.ts'
import { StoreUnavailableError } from '../store/event-store.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import type { Handlers } from '../workers/peer.ts'
import { type HeapLimits, WorkerThread } from '../workers/worker-thread.ts'
import type { ReaderCalls, ReaderHostCalls, ReaderJob, ReaderPortion } from './protocol.ts'

const RETRY_MS = 1_000
const END_MS = 2_000

export interface ReaderThreadOptions {
  /** URL of the thread's program. */
  readonly file: URL
  readonly workerData: unknown
  /** See `HeapLimits`. */
  readonly youngBytes?: number | undefined
  readonly onFault: (fault: SealFault) => void
  /** Called once for each unexpected end of the thread. */
  readonly onDeath: (reason: string) => void
}

/** Answers the questions that a body asks its owner. */
export type BodyHost = IndexOwner & Pick<BundleHost, 'sign'>

/** A body in one life of a thread. All methods but `leave` reject with `StoreUnavailableError` if the thread has ended. */
export interface ReaderBody {
  next(): Promise<ReaderPortion | undefined>
  trailer(trailer: ExportTrailer): Promise<Uint8Array>
  /** Signals that the body is no longer wanted. */
  leave(): void
  /** If the thread has ended, the resources of the body are gone with it. */
  close(): Promise<void>
}

type Reader = WorkerThread<ReaderCalls, ReaderHostCalls>

/** When the thread dies, its bodies reject, and the next `open` starts it again. */
export class ReaderThread {
  readonly #options: ReaderThreadOptions
  readonly #hosts = new Map<number, BodyHost>()
  #worker: Reader | undefined
  #bodies = 0
  #heapBytes = 0

  constructor(options: ReaderThreadOptions) {
    this.#options = options
  }

  /** Number of open bodies. */
  get bodies(): number {
    return this.#bodies
  }

  /** As last reported, in bytes; 0 while the thread is not running. */
  get heapBytes(): number {
    return this.#heapBytes
  }

  /** Opens a body in the current life of the thread; it is lost if the thread is restarted. */
  open(id: number, job: ReaderJob, host: BodyHost): ReaderBody {
    const worker = this.#worker ?? this.#start()
    this.#bodies += 1
    this.#hosts.set(id, host)
    worker.tell('open', [id, job])
    return {
      next: () => worker.ask('next', [id]),
      trailer: (trailer) => worker.ask('trailer', [id, trailer]),
      leave: () => worker.tell('leave', [id]),
      close: async () => {
        await worker.ask('close', [id]).catch(() => undefined)
        this.#hosts.delete(id)
        if (worker === this.#worker) this.#bodies -= 1
      },
    }
  }

  /**
   * Resolves once the thread has opened the store; starts the thread if it is not running. Rejects with `StoreUnavailableError` if the thread ends before that.
   */
  ready(): Promise<void> {
    return (this.#worker ?? this.#start()).ready()
  }

  async end(): Promise<void> {
    const worker = this.#worker
    this.#forget()
    await worker?.end('the server is closing', END_MS)
  }

  #start(): Reader {
    const { file, workerData, youngBytes, onDeath } = this.#options
    const heap: HeapLimits = youngBytes === undefined ? {} : { youngBytes }
    const worker: Reader = new WorkerThread({
      ...{ program: file, workerData, name: 'reader', heap, errors: THREAD_ERRORS, handlers: this.#handlers() },
      lost: ({ message }) =>
        new StoreUnavailableError(`the thread that reads is gone (${message}): ask again`, RETRY_MS),
      onDeath: ({ message }) => {
        this.#forget()
        onDeath(message)
      },
    })
    this.#worker = worker
    return worker
  }

  #handlers(): Handlers<ReaderHostCalls> {
    return {
      vouch: (id, damage) => this.#hostOf(id).vouch(damage),
      opening: (id) => this.#hostOf(id).opening(),
      opened: (id) => this.#hostOf(id).opened(),
      sign: (id, payloadType, payload) => this.#hostOf(id).sign(payloadType, payload),
      fault: (fault) => this.#options.onFault(fault),
      heap: (bytes) => {
        this.#heapBytes = bytes
      },
    }
  }

  #hostOf(id: number): BodyHost {
    const host = this.#hosts.get(id)
    if (host === undefined) throw new RangeError('this body was closed')
    return host
  }

  #forget(): void {
    this.#worker = undefined
    this.#bodies = 0
    this.#heapBytes = 0
  }
}
