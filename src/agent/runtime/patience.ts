/** @module How long a resume or a replay waits for a recorded request that the code does not make (RUN-172). */

/** Without progress of the code for this long, a recorded request that it has not made is considered never to be made. */
export const DIVERGES_AFTER_MS = 30_000
/** The limit while calls are being executed: the code may be waiting for parts of their results. */
const BESIDE_WORK_MS = 600_000
const WARN_AFTER_MS = 5_000

/** The missing request. */
export interface Awaited {
  /** Whether calls are being executed whose partial results the code may be waiting for. */
  readonly isBesideWork: () => boolean
  /** The divergence, for the warning and for `giveUp`. */
  readonly fault: () => Error
  readonly giveUp: (fault: Error) => void
}

export class Patience {
  readonly #giveUpMs: number
  readonly #warnMs: number
  #awaited: Awaited | undefined
  #since = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isWarned = false

  constructor(giveUpMs = DIVERGES_AFTER_MS, warnMs = WARN_AFTER_MS) {
    this.#giveUpMs = giveUpMs
    this.#warnMs = warnMs
  }

  /** Starts the timer. Until `stop`, further calls are ignored. */
  start(awaited: Awaited): void {
    if (this.#awaited !== undefined) return
    this.#awaited = awaited
    this.restart()
  }

  /** The code has made progress: the wait starts over. */
  restart(): void {
    if (this.#awaited === undefined) return
    this.#since = performance.now()
    this.#plan()
  }

  stop(): void {
    this.#awaited = undefined
    clearTimeout(this.#timer)
  }

  #plan(): void {
    clearTimeout(this.#timer)
    const waitedMs = performance.now() - this.#since
    const next = !this.#isWarned && waitedMs < this.#warnMs ? this.#warnMs : this.#giveUpMs
    // While calls are being executed, the limit is checked again at this interval.
    const waitMs = next > waitedMs ? next - waitedMs : this.#giveUpMs
    this.#timer = setTimeout(() => this.#look(), Math.min(waitMs, this.#giveUpMs))
  }

  #look(): void {
    const awaited = this.#awaited
    if (awaited === undefined) return
    // A timer may fire a millisecond early.
    const waitedMs = performance.now() - this.#since + 1
    const patienceMs = awaited.isBesideWork() ? Math.max(this.#giveUpMs, BESIDE_WORK_MS) : this.#giveUpMs
    if (waitedMs >= patienceMs) {
      awaited.giveUp(awaited.fault())
      return
    }
    if (waitedMs >= this.#warnMs) this.#warn(awaited.fault())
    this.#plan()
  }

  #warn({ message }: Error): void {
    if (this.#isWarned) return
    this.#isWarned = true
    const [first = ''] = message.split('\n')
    process.emitWarning(
      `what the record holds is waited for, and is a divergence after ${this.#giveUpMs} ms: ${first}. Where work of the code's own takes so long, make a call or run.once(name, fn) of it, have each branch in run.scope(name, fn), or raise divergesAfterMs of open or connect`,
      { code: 'COUNTERSIGN_WAITS_FOR_CODE' },
    )
  }
}
