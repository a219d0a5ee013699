/** @module One side of the RPC between a thread and its owner: calls with one answer, and notifications without an answer. Both sides work alike. */
import { type ErrorKind, errorOf, type Failure, failureOf } from './failure.ts'

/** The calls that a side accepts: an interface of functions whose values are passed as structured clones. */
export type Calls<C> = Readonly<Record<keyof C, (...args: never[]) => unknown>>

type Args<C extends Calls<C>, K extends keyof C> = Parameters<C[K]>
type Answer<C extends Calls<C>, K extends keyof C> = Awaited<ReturnType<C[K]>>

/** An answer whose buffers are transferred, not copied. */
export class Transfer<T> {
  readonly value: T
  readonly buffers: readonly ArrayBuffer[]

  constructor(value: T, buffers: readonly ArrayBuffer[]) {
    this.value = value
    this.buffers = buffers
  }
}

type Given<T> = T | Transfer<T>

/** For a side that accepts no calls. */
export type NoCalls = Readonly<Record<never, () => void>>

/** The handlers of a side. The signal is aborted when the answer is no longer awaited. */
export type Handlers<C extends Calls<C>> = {
  readonly [K in keyof C]: (
    ...args: [...Args<C, K>, signal: AbortSignal]
  ) => Given<Answer<C, K>> | Promise<Given<Answer<C, K>>>
}

export type Message =
  /** A call without `id` is a notification: it gets no answer. */
  | { readonly kind: 'call'; readonly id?: number; readonly name: string; readonly args: readonly unknown[] }
  | { readonly kind: 'abort'; readonly id: number }
  | { readonly kind: 'done'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: Failure }

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type Post = (message: Message, buffers: readonly ArrayBuffer[]) => void
type Handler = (...args: unknown[]) => unknown

interface Running {
  readonly stop: AbortController
  over?: Promise<void>
}

/** `Asked` are the calls that the other side accepts; `Answered` those that this side accepts. */
export class Peer<Asked extends Calls<Asked>, Answered extends Calls<Answered>> {
  readonly #post: Post
  readonly #errors: readonly ErrorKind[]
  readonly #waiting = new Map<number, Waiting>()
  readonly #running = new Map<number, Running>()
  #handlers: ReadonlyMap<string, Handler> | undefined
  /** Messages received before `serve` was called. */
  #early: Message[] = []
  #lost: Error | undefined
  #lastId = 0

  constructor(post: Post, errors: readonly ErrorKind[] = []) {
    this.#post = post
    this.#errors = errors
  }

  /** Registers the handlers; calls received earlier are handled now. */
  serve(handlers: Handlers<Answered>): void {
    this.#handlers = new Map(Object.entries(handlers) as [string, Handler][])
    for (const message of this.#early.splice(0)) this.receive(message)
  }

  /** Number of calls whose answers are awaited. */
  get pending(): number {
    return this.#waiting.size
  }

  /** Rejects with the error of the other side, with the signal's reason once it is aborted, and if the other side has ended. */
  async ask<K extends keyof Asked & string>(
    name: K,
    args: Args<Asked, K>,
    signal?: AbortSignal,
  ): Promise<Answer<Asked, K>> {
    signal?.throwIfAborted()
    if (this.#lost !== undefined) throw this.#lost
    const id = ++this.#lastId
    const answered = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    const abort = (): void => {
      this.#post({ kind: 'abort', id }, [])
      this.#taken(id)?.reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    try {
      this.#post({ kind: 'call', id, name, args }, [])
      return (await answered) as Answer<Asked, K>
    } finally {
      this.#waiting.delete(id)
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Sends a notification: it gets no answer, and is lost if the other side has ended. */
  tell<K extends keyof Asked & string>(name: K, args: Args<Asked, K>): void {
    if (this.#lost === undefined) this.#post({ kind: 'call', name, args }, [])
  }

  receive(message: Message): void {
    if (this.#lost !== undefined) return
    const isCall = message.kind === 'call' || message.kind === 'abort'
    if (this.#handlers === undefined && isCall) this.#early.push(message)
    else if (message.kind === 'call') this.#called(message)
    else if (message.kind === 'abort') this.#running.get(message.id)?.stop.abort()
    else if (message.kind === 'done') this.#taken(message.id)?.resolve(message.value)
    else this.#taken(message.id)?.reject(errorOf(message.failure, this.#errors))
  }

  /** The other side has ended: pending calls are rejected, and later messages from it are ignored. */
  lose(error: Error): void {
    this.#lost ??= error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  /** Aborts the calls that run for the other side, and resolves when they have ended. */
  async stop(): Promise<void> {
    const running = [...this.#running.values()]
    for (const { stop } of running) stop.abort()
    await Promise.all(running.map(({ over }) => over))
  }

  #taken(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  #called({ id, name, args }: Extract<Message, { readonly kind: 'call' }>): void {
    const handler = this.#handlers?.get(name)
    if (handler === undefined) throw new TypeError(`a thread was asked for "${name}", which it does not know`)
    const running: Running = { stop: new AbortController() }
    const { signal } = running.stop
    // An exception in the handler of a notification ends the thread, because no caller would receive it.
    if (id === undefined) return void handler(...args, signal)
    this.#running.set(id, running)
    const failed = (error: unknown): void =>
      this.#answer(id, { kind: 'failed', failure: failureOf(error, this.#errors) })
    try {
      const given = handler(...args, signal)
      // A synchronous result is sent in the same turn.
      if (given instanceof Promise) running.over = given.then((value) => this.#done(id, value)).catch(failed)
      else this.#done(id, given)
    } catch (error) {
      failed(error)
    }
  }

  /** Throws if the answer cannot be cloned. */
  #done(id: number, given: unknown): void {
    if (given instanceof Transfer) this.#answer(id, { kind: 'done', value: given.value }, given.buffers)
    else this.#answer(id, { kind: 'done', value: given })
  }

  #answer(
    id: number,
    answer: { readonly kind: 'done'; readonly value: unknown } | { readonly kind: 'failed'; readonly failure: Failure },
    buffers: readonly ArrayBuffer[] = [],
  ): void {
    // After the other side has ended, its answer is dropped.
    if (this.#lost === undefined) this.#post({ ...answer, id }, buffers)
    this.#running.delete(id)
  }
}
