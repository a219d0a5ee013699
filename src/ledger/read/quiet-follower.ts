/**
 * @module Schedules the passes in which a view follows the store: on request, and while nothing is appended, or continuously if another thread runs
 * them. The write path pays nothing for it.
 */

import type { Followed } from '../followed.ts'

/** Time without appends after which views are updated, in milliseconds; the next append interrupts the pass. */
const QUIET_MS = 2_000

export interface FollowerOptions {
  /** Number of appends handed to the store so far; while it does not change, there is time for passes. */
  readonly appendsSoFar: () => number
  readonly followed: Followed
  /** Whether background passes are allowed at the moment. */
  readonly inLulls?: () => boolean
  /** Whether passes run on another thread, so that they need not wait for a pause in appends. */
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
  /** Whether the current pass runs to its end. */
  #isComplete = false

  /** `pass` follows the store to its end, and stops after a page if `goOn` returns false. */
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

  /** Several callers share one pass; a call made during a pass waits for the next one. */
  async catchUp(): Promise<void> {
    const before = this.#catchingUp
    await before?.catch(() => undefined)
    // A check by another caller may have begun in the meantime.
    while (this.#catchingUp !== undefined && !this.#isComplete) await this.#catchingUp.catch(() => undefined)
    await this.#start(() => true, { isComplete: true })
  }

  /** A pass that ends after its first page, or the current pass: it shows that the view belongs to this ledger without following the writers for long. */
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

  /** A background pass runs only while nothing is appended, because folding shares this thread with the writers. */
  #whileQuiet(): void {
    const appends = this.#appendsSoFar()
    const quiet = appends === this.#appendsSeen
    this.#appendsSeen = appends
    if (!quiet || this.#catchingUp !== undefined || !this.#inLulls()) return
    this.#start(() => this.#appendsSoFar() === appends).catch(() => undefined)
  }

  /** Runs regardless of appends: facts that the ledger itself records do not count as appends and have to be followed as well. */
  #allAlong(): void {
    if (this.#catchingUp !== undefined || !this.#inLulls()) return
    this.#start(() => true, { isComplete: true }).catch(() => undefined)
  }

  /** The last pass, until `signal` aborts, so that the next process that opens the view finds it up to date. */
  async finish(signal: AbortSignal): Promise<void> {
    this[Symbol.dispose]()
    if (signal.aborted || !this.#inLulls()) return
    const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    const pass = async (): Promise<void> => {
      await this.#catchingUp?.catch(() => undefined)
      await this.#start(() => !signal.aborted)
    }
    // A view that could not be brought up to date is completed by its next reader.
    await Promise.race([pass().catch(() => undefined), over])
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
