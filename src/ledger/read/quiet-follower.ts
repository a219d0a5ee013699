/** @module When a view follows the store: whenever it is requested, and while nothing is appended, or where another thread does it, all along. It costs the write path nothing. */

import type { Followed } from '../followed.ts'

/** Quiet for so long, the ledger has time for its views; the next append takes it back. */
const QUIET_MS = 2_000

export interface FollowerOptions {
  /** Appends handed to the store so far: while it stands still, there is time. */
  readonly appendsSoFar: () => number
  readonly followed: Followed
  /** Looked at before a pass that nobody waits for. */
  readonly inLulls?: () => boolean
  /** Passes are made in another thread: nobody has to wait for a lull. */
  readonly isRemote?: () => boolean
}

export class QuietFollower implements Disposable {
  readonly #pass: (goOn: () => boolean) => Promise<void>
  readonly #followed: Followed
  readonly #appendsSoFar: () => number
  readonly #inLulls: () => boolean
  readonly #timer: NodeJS.Timeout
  #appendsSeen = -1
  #catchingUp: Promise<void> | undefined
  /** The pass under way goes on to its end. */
  #isComplete = false

  /** `pass` follows the store to its end, and stops after a page where `goOn` says no. */
  constructor(
    pass: (goOn: () => boolean) => Promise<void>,
    { appendsSoFar, followed, inLulls = () => true, isRemote = () => false }: FollowerOptions,
  ) {
    this.#pass = pass
    this.#followed = followed
    this.#appendsSoFar = appendsSoFar
    this.#inLulls = inLulls
    this.#timer = setInterval(() => (isRemote() ? this.#allAlong() : this.#whileQuiet()), QUIET_MS).unref()
  }

  /** Many callers share one pass; one that came while it ran waits for the next. */
  async catchUp(): Promise<void> {
    const before = this.#catchingUp
    await before?.catch(() => undefined)
    // Somebody else's check may have begun meanwhile.
    while (this.#catchingUp !== undefined && !this.#isComplete) await this.#catchingUp.catch(() => undefined)
    await this.#start(() => true, { isComplete: true })
  }

  /** A pass that ends with its first page, or the one under way: the view is shown to be this ledger's, and nobody is followed for as long as they write. */
  async check(): Promise<void> {
    await this.#start(() => false)
  }

  #start(goOn: () => boolean, { isComplete = false } = {}): Promise<void> {
    if (this.#catchingUp === undefined) {
      this.#isComplete = isComplete
      this.#catchingUp = this.#passNoted(goOn).finally(() => {
        this.#catchingUp = undefined
      })
    }
    return this.#catchingUp
  }

  async #passNoted(goOn: () => boolean): Promise<void> {
    const atItsEnd = this.#followed.passing()
    let hasYielded = false
    await this.#pass(() => {
      const isToGoOn = goOn()
      hasYielded ||= !isToGoOn
      return isToGoOn
    })
    if (!hasYielded) atItsEnd()
  }

  /** A pass that nobody waits for runs only between loads: folding shares this thread with whoever appends. */
  #whileQuiet(): void {
    const appends = this.#appendsSoFar()
    const quiet = appends === this.#appendsSeen
    this.#appendsSeen = appends
    if (!quiet || this.#catchingUp !== undefined || !this.#inLulls()) return
    this.#start(() => this.#appendsSoFar() === appends).catch(() => undefined)
  }

  /** Whether anything was appended or not: what the ledger itself puts on record counts for no append, and is followed, too. */
  #allAlong(): void {
    if (this.#catchingUp !== undefined || !this.#inLulls()) return
    this.#start(() => true, { isComplete: true }).catch(() => undefined)
  }

  /** The last pass of all, as far as it comes until `signal` is aborted: whoever opens the view next finds it where the store ends. */
  async finish(signal: AbortSignal): Promise<void> {
    this[Symbol.dispose]()
    if (signal.aborted || !this.#inLulls()) return
    const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    const pass = async (): Promise<void> => {
      await this.#catchingUp?.catch(() => undefined)
      await this.#start(() => !signal.aborted)
    }
    // A view that could not be brought up to date is completed by whoever asks it next.
    await Promise.race([pass().catch(() => undefined), over])
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
