/**
 * @module The time that writes take of the thread. Large pieces of work that cannot be cut get turns of the event loop: a body is parsed in one turn and
 * decided on in another, and the items of a batch are spread over as many turns as their bytes need, so that other requests are answered in between.
 * Tenants take turns in the line, so that none waits for all that another one sent. What can be cut is done a slice a turn. Readers give way to writes under way, see `work-queue.ts`.
 */
import { type Charge, FairLine, type InLine, type Party } from './fair-shares.ts'

/** A slice ends with the first look at the clock after so long. */
export const SLICE_MS = 2
/** A write that takes less is paid for as a request. */
const CHARGED_MS = 0.5

/** One turn takes on so many bytes, or one piece alone. */
const TURN_BYTES = 64 * 1024
/** Smaller pieces cost less than a turn does. */
const SMALL_BYTES = 8 * 1024
/** So many small requests take less than a slice does; a write takes some turns, and waits for so many of another tenant in each. */
export const TURN_REQUESTS = 4
/** For so long after two tenants have asked, they take turns; a tenant that is alone waits for nobody. */
const SHARED_MS = 60_000

/** Its weight is in bytes. */
interface Waiting extends InLine {
  readonly goOn: () => void
}

/** Who does something: without a caller nobody pays for it. */
export type Payer = Pick<Party, 'tenant'> & Partial<Party>

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
  readonly #line = new FairLine<Waiting>()

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

  /** To be called before work on so many bytes: undefined where this turn has room for it, else to be awaited. Of one tenant in the order of the calls. */
  pass(bytes: number, tenant: string): Promise<void> | undefined {
    if (bytes < SMALL_BYTES) return undefined
    this.#schedule()
    if (this.#line.length === 0 && this.#fits(bytes)) {
      this.#bytes += bytes
      return undefined
    }
    return new Promise((goOn) => this.#line.push({ tenant, weight: bytes, goOn }))
  }

  /** A later turn, for one slice of work that is cut: no large piece is done in it beside. */
  later(tenant: string): Promise<void> {
    this.#schedule()
    return new Promise((goOn) => this.#line.push({ tenant, weight: TURN_BYTES, goOn }))
  }

  /** Carries on work that pauses, a slice of it in each turn of the event loop that it gets, and answers what came of it. */
  async inTurns<T>(work: Iterator<unknown, T>, { tenant, caller }: Payer): Promise<T> {
    for (;;) {
      await this.later(tenant)
      const slice = (): IteratorReturnResult<T> | undefined => this.#slice(work)
      const ended = caller === undefined ? slice() : this.doing({ tenant, caller }, slice)
      if (ended !== undefined) return ended.value
    }
  }

  /** Undefined where it has not ended. */
  #slice<T>(work: Iterator<unknown, T>): IteratorReturnResult<T> | undefined {
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
    for (;;) {
      const next = this.#line.shift(({ weight }) => this.#fits(weight))
      if (next === undefined) break
      this.#bytes += next.weight
      next.goOn()
    }
    if (this.#bytes > 0) this.#schedule()
  }
}

/**
 * Requests that come at once begin a few in each turn of the event loop, and tenants take turns: one that asks on many connections makes another
 * one wait for a few requests, not for all that it has sent.
 */
export class RequestTurns {
  readonly #effects: TurnEffects
  /** Each weighs the same. */
  readonly #line = new FairLine<Waiting>()
  #waiting = 0
  #begun = 0
  #scheduled = false
  #lastTenant: string | undefined
  #sharedUntilMs = Number.NEGATIVE_INFINITY

  constructor(effects: TurnEffects = realTurns) {
    this.#effects = effects
  }

  /** To be called before a request is handled: undefined where it may begin in this turn, else to be awaited. */
  enter(tenant: string): Promise<void> | undefined {
    const nowMs = this.#effects.nowMs()
    if (tenant !== (this.#lastTenant ?? tenant)) this.#sharedUntilMs = nowMs + SHARED_MS
    this.#lastTenant = tenant
    if (nowMs > this.#sharedUntilMs && this.#waiting === 0) return undefined
    this.#schedule()
    if (this.#waiting === 0 && this.#begun < TURN_REQUESTS) {
      this.#begun += 1
      return undefined
    }
    this.#waiting += 1
    return new Promise((goOn) => this.#line.push({ tenant, weight: 1, goOn }))
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#effects.soon(() => this.#next())
  }

  #next(): void {
    this.#scheduled = false
    this.#begun = 0
    for (; this.#waiting > 0 && this.#begun < TURN_REQUESTS; this.#begun += 1) {
      this.#waiting -= 1
      this.#line.shift()?.goOn()
    }
    if (this.#begun > 0) this.#schedule()
  }
}
