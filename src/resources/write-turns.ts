/**
 * @module Scheduling of the thread's time for writes. Large pieces of work that cannot be interrupted get separate turns of the event loop: a body is parsed
 * in one turn and decided on in another, and the items of a batch are spread over as many turns as their bytes need, so that other requests are answered in
 * between. Tenants take turns in the queue, so that none waits for everything that another sent. Work that can be interrupted runs one slice per turn. Readers
 * yield to writes under way, see `work-queue.ts`.
 */
import { type Charge, FairLine, type InLine, type Party } from './fair-shares.ts'

/** A slice ends at the first clock check after this time. */
export const SLICE_MS = 2
/** A write that takes less is charged only as a request. */
const CHARGED_MS = 0.5

/** One turn handles this many bytes, or a single larger piece. */
const TURN_BYTES = 64 * 1024
/** Smaller pieces cost less than a turn. */
const SMALL_BYTES = 8 * 1024
/** This many small requests take less than a slice; a write takes several turns, and waits for this many requests of another tenant in each. */
export const TURN_REQUESTS = 4
/** After requests of two tenants, they take turns for this time; a single tenant waits for no other. */
const SHARED_MS = 60_000

/** The weight of an entry is in bytes. */
interface Waiting extends InLine {
  readonly goOn: () => void
}

/** The party that work is charged to; without a caller, it is not charged. */
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

  /** Marks a write as under way until the returned function is called. */
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

  /** When the last write ended, by the injected clock. */
  get lastEndedMs(): number {
    return this.#lastEndedMs
  }

  /**
   * To be called before work on `bytes` bytes: undefined if this turn has room for it, otherwise a promise to be awaited. The calls of one tenant keep their
   * order.
   */
  pass(bytes: number, tenant: string): Promise<void> | undefined {
    if (bytes < SMALL_BYTES) return undefined
    this.#schedule()
    if (this.#line.length === 0 && this.#fits(bytes)) {
      this.#bytes += bytes
      return undefined
    }
    return new Promise((goOn) => this.#line.push({ tenant, weight: bytes, goOn }))
  }

  /** A later turn for one slice of interruptible work, with no other large piece in it. */
  later(tenant: string): Promise<void> {
    this.#schedule()
    return new Promise((goOn) => this.#line.push({ tenant, weight: TURN_BYTES, goOn }))
  }

  /** Runs work that pauses, one slice of it in each turn that it gets, and returns its result. */
  async inTurns<T>(work: Iterator<unknown, T>, { tenant, caller }: Payer): Promise<T> {
    for (;;) {
      await this.later(tenant)
      const slice = (): IteratorReturnResult<T> | undefined => this.#slice(work)
      const ended = caller === undefined ? slice() : this.doing({ tenant, caller }, slice)
      if (ended !== undefined) return ended.value
    }
  }

  /** Undefined if the work has not ended. */
  #slice<T>(work: Iterator<unknown, T>): IteratorReturnResult<T> | undefined {
    const startedMs = this.#nowMs()
    do {
      const next = work.next()
      if (next.done === true) return next
    } while (this.#nowMs() - startedMs < SLICE_MS)
    return undefined
  }

  /** Sets the account for the time that `doing` measures. */
  chargeTo(charge: Charge): void {
    this.#charge = charge
  }

  /** Runs a write, or a slice of one. Time below that of an ordinary request is not recorded. */
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
 * Concurrent requests begin a few per turn of the event loop, and tenants take turns: a tenant with many connections delays another one by a few requests, not
 * by everything that it has sent.
 */
export class RequestTurns {
  readonly #effects: TurnEffects
  /** Each entry has the same weight. */
  readonly #line = new FairLine<Waiting>()
  #waiting = 0
  #begun = 0
  #scheduled = false
  #lastTenant: string | undefined
  #sharedUntilMs = Number.NEGATIVE_INFINITY

  constructor(effects: TurnEffects = realTurns) {
    this.#effects = effects
  }

  /** To be called before a request is handled: undefined if it may begin in this turn, otherwise a promise to be awaited. */
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
