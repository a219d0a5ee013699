/** @module When a process leaves a run that has to wait: once all that goes on in the run waits (RUN-64, RUN-230). */

interface Caller {
  readonly callId: string
}

interface LeavingRun {
  /** This process is to leave runs that wait. */
  readonly isAsked: () => boolean
  /** Outcomes are on their way to the code, which may go on. */
  readonly isDelivering: () => boolean
}

export class Leaving {
  readonly #run: LeavingRun
  /** Calls whose code runs, or whose outcome is being recorded. */
  readonly #carriedOut = new Set<string>()
  /** Requests that wait, each with the calls inside which it was made. */
  readonly #waits = new Set<{ readonly callers: readonly Caller[] }>()

  constructor(run: LeavingRun) {
    this.#run = run
  }

  get isAsked(): boolean {
    return this.#run.isAsked()
  }

  /** Carries a call out: the run is not left meanwhile, unless its code waits. */
  async during<T>(callId: string, work: () => Promise<T>): Promise<T> {
    this.#carriedOut.add(callId)
    try {
      return await work()
    } finally {
      this.#carriedOut.delete(callId)
    }
  }

  /** Whether a request that has to wait inside these calls leaves the run now. */
  leaves(callers: readonly Caller[]): boolean {
    if (!this.isAsked || this.#run.isDelivering()) return false
    const waiting = new Set([{ callers }, ...this.#waits].flatMap((each) => each.callers.map(({ callId }) => callId)))
    return [...this.#carriedOut].every((callId) => waiting.has(callId))
  }

  /** Waits inside these calls. */
  async waits(callers: readonly Caller[], pause: () => Promise<void>): Promise<void> {
    const wait = { callers }
    this.#waits.add(wait)
    try {
      await pause()
    } finally {
      this.#waits.delete(wait)
    }
  }
}
