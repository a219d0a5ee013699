/** @module A thread of this process from its owner's side: its start under a bounded heap, what it is asked, and its end. */
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { type ErrorKind, errorOf, type Failure } from './failure.ts'
import { type Calls, type Handlers, type Message, Peer } from './peer.ts'

const MIB = 1024 * 1024
/** Of its heap, young and old. */
const HEAP = { bytes: 256 * MIB, youngBytes: 32 * MIB }

export interface HeapLimits {
  /** Most that its heap may grow to. Default 256 MiB. */
  readonly bytes?: number
  /**
   * Of that heap, most for young objects; buffers outside the heap that were made lately may take two thirds of it besides, before the engine looks for garbage.
   * Default 32 MiB.
   */
  readonly youngBytes?: number
}

export type FromThread =
  | Message
  | { readonly kind: 'ready' }
  | { readonly kind: 'open-failed'; readonly failure: Failure }
export type ToThread = Message | { readonly kind: 'end' }

interface StartOptions {
  /** Its file, or its text in CommonJS. */
  readonly program: URL | string
  readonly workerData: unknown
  readonly name: string
  /** Undefined: as large as the engine lets it be. */
  readonly heap: HeapLimits | undefined
}

export interface WorkerOptions<Answered extends Calls<Answered>> extends StartOptions {
  readonly handlers: Handlers<Answered>
  /** Errors that are told apart; any other is an `Error` with its message. */
  readonly errors?: readonly ErrorKind[]
  /** What whoever waits for it is refused with: an error that says why it ended. */
  readonly lost: (why: Error) => Error
  /** Called once, when it is no more, unless `end` was called before. */
  readonly onDeath?: (why: Error) => void
}

/** It is started at once, and once. While nobody waits for it, it keeps no process alive. */
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
      // Its last words are taken in the turn of its end: whoever waits for them comes first.
      worker.once('exit', () => setImmediate(() => reject(this.#lose())))
    })
    // Nobody may wait for it.
    this.#ready.catch(() => undefined)
    worker.on('error', (error) => {
      this.#why = error
    })
  }

  /** Resolves when its program has begun. Rejects where it ends before. */
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

  /** Until the next answer, the process does not end while it runs. */
  hold(): void {
    this.#worker.ref()
  }

  /**
   * Whoever waits for it is refused. Resolves when it has ended: by itself, once it has put things in order, or terminated after so many
   * milliseconds; without them it is waited for.
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

  /** Gives what whoever waited was refused with. */
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
  // Set for the whole process, as `npm start` does, it goes before the limit of a thread; the heap that this one began with has its size by now.
  setFlagsFromString('--max-semi-space-size=0')
  const maxOldGenerationSizeMb = Math.floor((bytes - youngBytes) / MIB)
  return { resourceLimits: { maxOldGenerationSizeMb, maxYoungGenerationSizeMb: Math.floor(youngBytes / MIB) } }
}
