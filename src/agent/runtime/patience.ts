/** @module How long a resume or a replay waits for a recorded request that the code does not make (RUN-172). */

/** Without progress of the code for this long, a recorded request that it has not made is considered never to be made. */
export const DIVERGES_AFTER_MS = 30_000
/** The limit while calls are being executed: the code may be waiting for parts of their results. */
const BESIDE_WORK_MS = 600_000
const WARN_AFTER_MS = 5_000
/** From then on the code counts as stalled: a worker carries other runs in its place. */
const STALLED_AFTER_MS = 1_000

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
  readonly #onStalled: (isStalled: boolean) => void
  #awaited: Awaited | undefined
  #since = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isWarned = false
  #isStalled = false

  /** `onStalled` is told when nothing but the missing request is waited for, and when that is over. */
  constructor(giveUpMs = DIVERGES_AFTER_MS, onStalled: (isStalled: boolean) => void = () => undefined) {
    this.#giveUpMs = giveUpMs
    this.#onStalled = onStalled
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
    this.#stall(false)
    this.#plan()
  }

  stop(): void {
    this.#awaited = undefined
    this.#stall(false)
    clearTimeout(this.#timer)
  }

  #plan(): void {
    clearTimeout(this.#timer)
    const waitedMs = performance.now() - this.#since
    const steps = [STALLED_AFTER_MS, ...(this.#isWarned ? [] : [WARN_AFTER_MS]), this.#giveUpMs]
    const next = steps.find((ms) => ms > waitedMs)
    // While calls are being executed, the limit is checked again at this interval.
    const waitMs = next === undefined ? this.#giveUpMs : next - waitedMs
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
    this.#stall(waitedMs >= STALLED_AFTER_MS && !awaited.isBesideWork())
    if (waitedMs >= WARN_AFTER_MS) this.#warn(awaited.fault())
    this.#plan()
  }

  #stall(isStalled: boolean): void {
    if (isStalled === this.#isStalled) return
    this.#isStalled = isStalled
    this.#onStalled(isStalled)
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
