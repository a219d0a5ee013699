/** @module The work that a runtime has begun: its ledger is closed after that work, not underneath it (RUN-230 to RUN-232). */
import { AsyncLocalStorage } from 'node:async_hooks'
import { AgentError } from '../errors.ts'

/** How long a close waits before it says for what. */
const TOLD_AFTER_MS = 10_000
const NAMES_MAX = 5

/** The work whose code is running, of whatever runtime. One for all: on Node 22 each storage costs every promise of the process, for good. */
const inside = new AsyncLocalStorage<Work>()

interface Work {
  /** The runtime, or the worker, that began it. */
  readonly owner: object
  readonly name: string
  readonly within: Work | undefined
  isOver: boolean
}

function workHere(owner: object, name: string): Work {
  let within = inside.getStore()
  while (within?.isOver === true) within = within.within
  return { owner, name, within, isOver: false }
}

/** Begins work of an owner that would wait for it if it were to stop. */
export function asWorkOf<T>(owner: object, name: string, start: () => Promise<T>): Promise<T> {
  const work = workHere(owner, name)
  return inside.run(work, start).finally(() => {
    work.isOver = true
  })
}

/** Whether the running code belongs to work of this owner that is still going on. */
export function isInWorkOf(owner: object): boolean {
  for (let work = inside.getStore(); work !== undefined; work = work.within)
    if (work.owner === owner && !work.isOver) return true
  return false
}

export class UnderWay {
  readonly #place: string
  readonly #going = new Map<Work, Promise<unknown>>()
  readonly #stops = new Set<() => unknown>()
  #closed: Promise<void> | undefined

  /** `place`: location of the ledger, for messages. */
  constructor(place: string) {
    this.#place = place
  }

  /** Begins work that a close waits for. `closed` if the runtime was closed, except for what work that is still going on asks for. */
  begin<T>(name: string, start: () => Promise<T>): Promise<T> {
    if (this.#isShut) return Promise.reject(this.#closedError())
    const work = workHere(this, name)
    return this.#until(work, inside.run(work, start))
  }

  /** Begins work that continues until it is stopped, which a close does. Throws `closed`. */
  beginUntilStopped<W extends { readonly done: Promise<void>; stop(): Promise<void> }>(
    name: string,
    start: () => W,
  ): W {
    if (this.#isClosed) throw this.#closedError()
    const work = workHere(this, name)
    const started = inside.run(work, start)
    const stop = (): unknown => started.stop().catch(() => undefined)
    this.#stops.add(stop)
    this.#until(work, started.done)
      .catch(() => undefined)
      .finally(() => this.#stops.delete(stop))
    return started
  }

  /** A question that a close does not wait for: `closed` in place of what a closed store throws. */
  async read<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#isShut) throw this.#closedError()
    return ask().catch((error) => {
      throw this.#isClosed ? this.#closedError(error) : error
    })
  }

  /** Like `read`, for a sequence of items. */
  async *readItems<T>(ask: () => AsyncIterable<T>): AsyncGenerator<T, void> {
    if (this.#isShut) throw this.#closedError()
    try {
      yield* ask()
    } catch (error) {
      throw this.#isClosed ? this.#closedError(error) : error
    }
  }

  get #isClosed(): boolean {
    return this.#closed !== undefined
  }

  /**
   * Stops workers, waits for all work, and then disposes of the ledger, once. `leave` makes runs that only wait end here. Work that closes its own runtime would
   * wait for itself: `recursive-call`.
   */
  close(dispose: () => PromiseLike<void>, leave?: () => void): Promise<void> {
    if (isInWorkOf(this)) {
      const message = `${this.#place} is closed by code that runs in it, and neither would end: close it after the run`
      return Promise.reject(new AgentError('recursive-call', message))
    }
    this.#closed ??= this.#allOver().then(dispose)
    leave?.()
    return this.#closed
  }

  async #allOver(): Promise<void> {
    for (const stop of this.#stops) stop()
    const telling = setTimeout(() => this.#tell(), TOLD_AFTER_MS).unref()
    // Work under way may begin more of it.
    while (this.#going.size > 0) await Promise.allSettled(this.#going.values())
    clearTimeout(telling)
  }

  #until<T>(work: Work, going: Promise<T>): Promise<T> {
    const end = going.finally(() => {
      work.isOver = true
      this.#going.delete(work)
    })
    this.#going.set(work, end)
    return end
  }

  #closedError(cause?: unknown): AgentError {
    return new AgentError('closed', `${this.#place} was closed`, {}, cause === undefined ? undefined : { cause })
  }

  /** Work that goes on may still ask. */
  get #isShut(): boolean {
    return this.#isClosed && !isInWorkOf(this)
  }

  #tell(): void {
    const names = [...this.#going.keys()].map(({ name }) => name)
    const more = names.length > NAMES_MAX ? `, and ${names.length - NAMES_MAX} more` : ''
    process.emitWarning(
      `${this.#place} is closed once what it has under way is over: ${names.slice(0, NAMES_MAX).join(', ')}${more}. A run that only waits is left by close().`,
      { code: 'COUNTERSIGN_CLOSING' },
    )
  }
}
