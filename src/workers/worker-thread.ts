/** @module A worker thread of this process, seen from its owner: its start with a bounded heap, calls to it, and its end. */
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { type ErrorKind, errorOf, type Failure } from './failure.ts'
import { type Calls, type Handlers, type Message, Peer } from './peer.ts'

const MIB = 1024 * 1024
/** Default heap limits: of the whole heap, and of its young generation. */
const HEAP = { bytes: 256 * MIB, youngBytes: 32 * MIB }

export interface HeapLimits {
  /** Maximum size of the heap, in bytes. Default 256 MiB. */
  readonly bytes?: number
  /**
   * Part of that heap for young objects, in bytes. Recently allocated buffers outside the heap may take up to two thirds of this value in addition before the
   * engine collects garbage. Default 32 MiB.
   */
  readonly youngBytes?: number
}

export type FromThread =
  | Message
  | { readonly kind: 'ready' }
  | { readonly kind: 'open-failed'; readonly failure: Failure }
export type ToThread = Message | { readonly kind: 'end' }

interface StartOptions {
  /** URL of the program's file, or the program's text in CommonJS. */
  readonly program: URL | string
  readonly workerData: unknown
  readonly name: string
  /** Undefined: the engine's default. */
  readonly heap: HeapLimits | undefined
}

export interface WorkerOptions<Answered extends Calls<Answered>> extends StartOptions {
  readonly handlers: Handlers<Answered>
  /** Error classes that are rebuilt; any other error arrives as an `Error` with its message. */
  readonly errors?: readonly ErrorKind[]
  /** Makes the error that pending calls are rejected with, from the reason why the thread ended. */
  readonly lost: (why: Error) => Error
  /** Called once when the thread has ended, unless `end` was called before. */
  readonly onDeath?: (why: Error) => void
}

/** The thread is started by the constructor, and never restarted. It keeps the process alive only while a call to it is pending. */
export class WorkerThread<Asked extends Calls<Asked>, Answered extends Calls<Answered>> {
  readonly #ready: Promise<void>
  readonly #worker: Worker
  readonly #peer: Peer<Asked, Answered>
  readonly #options: WorkerOptions<Answered>
  readonly #ended: Promise<void>
  #why: Error | undefined
  #isLeft = false

  constructor(options: WorkerOptions<Answered>) {
    this.#options = options
    const worker = started(options)
    this.#worker = worker
    const post = (message: ToThread, buffers: readonly ArrayBuffer[] = []): void => worker.postMessage(message, buffers)
    this.#peer = new Peer(post, options.errors)
    this.#peer.serve(options.handlers)
    this.#ended = new Promise((resolve) => worker.once('exit', () => resolve()))
    this.#ready = new Promise((resolve, reject) => {
      worker.on('message', (message: FromThread) => this.#receive(message, resolve))
      // Messages sent right before the exit are still delivered in that turn; pending calls are rejected after them.
      worker.once('exit', () => setImmediate(() => reject(this.#lose())))
    })
    // Prevents an unhandled rejection if `ready` is never called.
    this.#ready.catch(() => undefined)
    worker.on('error', (error) => {
      this.#why = error
    })
  }

  /** Resolves when the program has started. Rejects if it ends before that. */
  ready(): Promise<void> {
    return this.#heldWhile(this.#ready)
  }

  /** See `Peer`. */
  ask<K extends keyof Asked & string>(
    name: K,
    args: Parameters<Asked[K]>,
    signal?: AbortSignal,
  ): Promise<Awaited<ReturnType<Asked[K]>>> {
    return this.#heldWhile(this.#peer.ask(name, args, signal))
  }

  /** See `Peer`. */
  tell<K extends keyof Asked & string>(name: K, args: Parameters<Asked[K]>): void {
    this.#peer.tell(name, args)
  }

  /** Keeps the process alive while the thread runs, until the next answer. */
  hold(): void {
    this.#worker.ref()
  }

  /**
   * Rejects pending calls and asks the thread to end. Resolves when it has ended, on its own after closing its resources, or terminated after `maxMs`
   * milliseconds; without `maxMs` there is no limit.
   */
  async end(why: string, maxMs?: number): Promise<void> {
    if (!this.#isLeft) {
      this.#isLeft = true
      this.#why ??= new Error(why)
      this.#lose()
      this.#worker.ref()
      this.#worker.postMessage({ kind: 'end' } satisfies ToThread)
    }
    const late = maxMs === undefined ? undefined : setTimeout(() => void this.#worker.terminate(), maxMs)
    await this.#ended
    clearTimeout(late)
  }

  async #heldWhile<T>(work: Promise<T>): Promise<T> {
    this.#worker.ref()
    try {
      return await work
    } finally {
      if (this.#peer.pending === 0) this.#worker.unref()
    }
  }

  #receive(message: FromThread, ready: () => void): void {
    if (message.kind === 'ready') ready()
    else if (message.kind === 'open-failed') this.#why = errorOf(message.failure, this.#options.errors ?? [])
    else this.#peer.receive(message)
  }

  /** Rejects pending calls, and returns the error that they were rejected with. */
  #lose(): Error {
    const why = this.#why ?? new Error('it ended')
    const lost = this.#options.lost(why)
    this.#peer.lose(lost)
    if (!this.#isLeft) {
      this.#isLeft = true
      this.#options.onDeath?.(why)
    }
    return lost
  }
}

function started({ program, workerData, name, heap }: StartOptions): Worker {
  const options = { workerData, name, ...(typeof program === 'string' && { eval: true }), ...(heap && limited(heap)) }
  const worker = new Worker(program, options)
  worker.unref()
  return worker
}

function limited({ bytes = HEAP.bytes, youngBytes = HEAP.youngBytes }: HeapLimits) {
  // If this flag is set for the whole process, as `npm start` does, it takes precedence over the limit of a thread; the heap of this thread already has its
  // size.
  setFlagsFromString('--max-semi-space-size=0')
  const maxOldGenerationSizeMb = Math.floor((bytes - youngBytes) / MIB)
  return { resourceLimits: { maxOldGenerationSizeMb, maxYoungGenerationSizeMb: Math.floor(youngBytes / MIB) } }
}
