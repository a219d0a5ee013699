/** @module One side of the exchange between a thread and its owner: calls that are answered once, and those that nobody answers. Both sides are alike. */
import { type ErrorKind, errorOf, type Failure, failureOf } from './failure.ts'

/** What a side can be asked: an interface of functions, of which values pass as structured clones. */
export type Calls<C> = Readonly<Record<keyof C, (...args: never[]) => unknown>>

type Args<C extends Calls<C>, K extends keyof C> = Parameters<C[K]>
type Answer<C extends Calls<C>, K extends keyof C> = Awaited<ReturnType<C[K]>>

/** An answer whose buffers are handed over and not copied. */
export class Transfer<T> {
  readonly value: T
  readonly buffers: readonly ArrayBuffer[]

  constructor(value: T, buffers: readonly ArrayBuffer[]) {
    this.value = value
    this.buffers = buffers
  }
}

type Given<T> = T | Transfer<T>

/** Of a side that can be asked nothing. */
export type NoCalls = Readonly<Record<never, () => void>>

/** What a side does when it is asked. The signal is aborted where nobody waits for the answer any more. */
export type Handlers<C extends Calls<C>> = {
  readonly [K in keyof C]: (
    ...args: [...Args<C, K>, signal: AbortSignal]
  ) => Given<Answer<C, K>> | Promise<Given<Answer<C, K>>>
}

export type Message =
  /** Without `id` nobody waits for an answer. */
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

/** `Asked`: what the other side can be asked; `Answered`: what this one can. */
export class Peer<Asked extends Calls<Asked>, Answered extends Calls<Answered>> {
  readonly #post: Post
  readonly #errors: readonly ErrorKind[]
  readonly #waiting = new Map<number, Waiting>()
  readonly #running = new Map<number, Running>()
  #handlers: ReadonlyMap<string, Handler> | undefined
  /** What arrived before this side could be asked. */
  #early: Message[] = []
  #lost: Error | undefined
  #lastId = 0

  constructor(post: Post, errors: readonly ErrorKind[] = []) {
    this.#post = post
    this.#errors = errors
  }

  /** What was asked before waits until then. */
  serve(handlers: Handlers<Answered>): void {
    this.#handlers = new Map(Object.entries(handlers) as [string, Handler][])
    for (const message of this.#early.splice(0)) this.receive(message)
  }

  /** Calls whose answers are waited for. */
  get pending(): number {
    return this.#waiting.size
  }

  /** Rejects with the error of the other side, with the signal's reason once it is aborted, and where the other side is gone. */
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

  /** What nobody waits for: lost with the other side, and not answered by it. */
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

  /** The other side is gone: whoever waits for it is refused, and what it still says is not heard. */
  lose(error: Error): void {
    this.#lost ??= error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  /** Stops what runs for the other side; resolves when nothing does. */
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
    // One that throws ends the thread: its failure would be lost.
    if (id === undefined) return void handler(...args, signal)
    this.#running.set(id, running)
    const failed = (error: unknown): void =>
      this.#answer(id, { kind: 'failed', failure: failureOf(error, this.#errors) })
    try {
      const given = handler(...args, signal)
      // What is there at once is answered in the same turn.
      if (given instanceof Promise) running.over = given.then((value) => this.#done(id, value)).catch(failed)
      else this.#done(id, given)
    } catch (error) {
      failed(error)
    }
  }

  /** Throws where the answer is nothing that can pass. */
  #done(id: number, given: unknown): void {
    if (given instanceof Transfer) this.#answer(id, { kind: 'done', value: given.value }, given.buffers)
    else this.#answer(id, { kind: 'done', value: given })
  }

  #answer(
    id: number,
    answer: { readonly kind: 'done'; readonly value: unknown } | { readonly kind: 'failed'; readonly failure: Failure },
    buffers: readonly ArrayBuffer[] = [],
  ): void {
    // An answer that came too late would go to a thread that is no more.
    if (this.#lost === undefined) this.#post({ ...answer, id }, buffers)
    this.#running.delete(id)
  }
}
