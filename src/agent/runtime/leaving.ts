/** @module When a process leaves a run that has to wait: once all that goes on in the run waits (RUN-64, RUN-230). */

interface Caller {
  readonly callId: string
}

/** A request under way: a call, from when the code asks for it until it is over, or a rollback. */
export interface Going {
  /** Set once the call is carried out. */
  callId?: string
}

interface WaitingRequest {
  /** The calls inside which it was made. */
  readonly callers: readonly Caller[]
  /** The call that waits, for an approval. */
  readonly own?: Going
}

/** The run around a run within it, and the calls of that run inside which the inner one goes on. */
export interface Outer {
  readonly leaving: Leaving
  readonly callers: readonly Caller[]
  readonly isCarried: boolean
  readonly ownRuns: Set<string>
  /** Ids of the run and of the runs around it. */
  readonly runs: readonly string[]
}

interface LeavingRun {
  /** This process is to leave runs that wait. */
  readonly isAsked: () => boolean
  /** Something is on its way to the code, which may go on then. */
  readonly isBusy: () => boolean
  readonly outer: Outer | undefined
}

export class Leaving {
  readonly #run: LeavingRun
  readonly #going = new Set<Going>()
  readonly #waits = new Set<WaitingRequest>()

  constructor(run: LeavingRun) {
    this.#run = run
  }

  get isAsked(): boolean {
    return this.#run.isAsked()
  }

  /** Carries a request out: the run is not left meanwhile, unless it waits, or code inside of it does. */
  async during<T>(work: (going: Going) => Promise<T>): Promise<T> {
    const going: Going = {}
    this.#going.add(going)
    try {
      return await work(going)
    } finally {
      this.#going.delete(going)
    }
  }

  /** Whether a request that has to wait leaves the run now. */
  leaves(wait: WaitingRequest): boolean {
    return this.isAsked && this.#allWaits(wait)
  }

  /** Whether all that goes on in the run waits, and in the runs around it, if this request does. */
  #allWaits(wait: WaitingRequest): boolean {
    const { isBusy, outer } = this.#run
    if (isBusy()) return false
    const waits = [wait, ...this.#waits]
    const calls = new Set(waits.flatMap(({ callers }) => callers.map(({ callId }) => callId)))
    const own = new Set(waits.map((each) => each.own))
    const isWaiting = (each: Going): boolean => own.has(each) || (each.callId !== undefined && calls.has(each.callId))
    return [...this.#going].every(isWaiting) && (outer === undefined || outer.leaving.#allWaits(outer))
  }

  /** Waits. A run within a run that waits to be left holds the outer one up no longer. */
  async waits(wait: WaitingRequest, pause: () => Promise<void>): Promise<void> {
    const { outer } = this.#run
    this.#waits.add(wait)
    try {
      await (outer !== undefined && this.isAsked ? outer.leaving.waits(outer, pause) : pause())
    } finally {
      this.#waits.delete(wait)
    }
  }
}
