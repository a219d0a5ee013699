/**
 * @module The time that writes take of the thread. Large pieces of work that cannot be cut get turns of the event loop: a body is parsed in one turn and
 * decided on in another, and the items of a batch are spread over as many turns as their bytes need, so that other requests are answered in between.
 * What can be cut is done a slice a turn. Readers give way to writes under way, see `work-queue.ts`.
 */
import type { Charge, Party } from './fair-shares.ts'

/** A slice ends with the first look at the clock after so long. */
export const SLICE_MS = 2
/** A write that takes less is paid for as a request. */
const CHARGED_MS = 0.5

/** One turn takes on so many bytes, or one piece alone. */
const TURN_BYTES = 64 * 1024
/** Smaller pieces cost less than a turn does. */
const SMALL_BYTES = 8 * 1024

interface Waiting {
  readonly bytes: number
  readonly goOn: () => void
}

export interface TurnEffects {
  readonly nowMs: () => number
  readonly soon: (call: () => void) => void
}

export const realTurns: TurnEffects = {
  nowMs: () => performance.now(),
  soon: (call) => void setImmediate(call),
}

export class WriteTurns {
  readonly #nowMs: TurnEffects['nowMs']
  readonly #soon: TurnEffects['soon']
  #charge: Charge | undefined
  #underWay = 0
  #lastEndedMs = Number.NEGATIVE_INFINITY
  #bytes = 0
  #scheduled = false
  readonly #line: Waiting[] = []

  constructor({ nowMs, soon }: TurnEffects = realTurns) {
    this.#nowMs = nowMs
    this.#soon = soon
  }

  /** A write is under way until the result is called. */
  begin(): () => void {
    this.#underWay += 1
    return () => {
      this.#underWay -= 1
      this.#lastEndedMs = this.#nowMs()
    }
  }

  get underWay(): boolean {
    return this.#underWay > 0
  }

  /** When the last write ended, by the clock of the effects. */
  get lastEndedMs(): number {
    return this.#lastEndedMs
  }

  /** To be called before work on so many bytes: undefined where this turn has room for it, else to be awaited. In the order of the calls. */
  pass(bytes: number): Promise<void> | undefined {
    if (bytes < SMALL_BYTES) return undefined
    this.#schedule()
    if (this.#line.length === 0 && this.#fits(bytes)) {
      this.#bytes += bytes
      return undefined
    }
    return new Promise((goOn) => this.#line.push({ bytes, goOn }))
  }

  /** A later turn, for one slice of work that is cut: no large piece is done in it beside. */
  later(): Promise<void> {
    this.#schedule()
    return new Promise((goOn) => this.#line.push({ bytes: TURN_BYTES, goOn }))
  }

  /**
   * Carries on work that pauses, a slice of it in each turn of the event loop that it gets, and answers what came of it.
   * `party` is who pays for it.
   */
  async inTurns<T>(work: Iterator<void, T>, party?: Party): Promise<T> {
    for (;;) {
      await this.later()
      const slice = (): IteratorReturnResult<T> | undefined => this.#slice(work)
      const ended = party === undefined ? slice() : this.doing(party, slice)
      if (ended !== undefined) return ended.value
    }
  }

  /** Undefined where it has not ended. */
  #slice<T>(work: Iterator<void, T>): IteratorReturnResult<T> | undefined {
    const startedMs = this.#nowMs()
    do {
      const next = work.next()
      if (next.done === true) return next
    } while (this.#nowMs() - startedMs < SLICE_MS)
    return undefined
  }

  /** Who keeps account of what `doing` measures. */
  chargeTo(charge: Charge): void {
    this.#charge = charge
  }

  /** Work of a write, or a slice of it. What takes no longer than any request does is not worth an entry. */
  doing<T>(party: Party, work: () => T): T {
    const startedMs = this.#nowMs()
    try {
      return work()
    } finally {
      const ms = this.#nowMs() - startedMs
      if (ms >= CHARGED_MS) this.#charge?.({ party, kind: 'write', ms })
    }
  }

  #fits(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= TURN_BYTES
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#soon(() => this.#next())
  }

  #next(): void {
    this.#scheduled = false
    this.#bytes = 0
    for (let next = this.#line[0]; next !== undefined && this.#fits(next.bytes); next = this.#line[0]) {
      this.#line.shift()
      this.#bytes += next.bytes
      next.goOn()
    }
    if (this.#bytes > 0) this.#schedule()
  }
}
