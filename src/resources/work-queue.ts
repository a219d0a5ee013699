/**
 * @module Sharing of the thread's time among readers. They work in slices of a few milliseconds, one at a time; the next slice goes to the party that has used
 * least: first among tenants, then among the callers of a tenant. During writes, readers pause between their slices, so that a write waits for one slice at
 * most.
 */

import { type Charge, least, leastUsed, type Party, putLast, type Work } from './fair-shares.ts'
import { RequestTurns, realTurns, SLICE_MS, type TurnEffects, WriteTurns } from './write-turns.ts'

/** During writes, readers pause for this many times the length of their last slice. */
const REST_FACTOR = 4
/** Upper limit of the pause, however long a piece of work took. */
const REST_MAX_MS = 100
/** Readers yield to a write under way for this many slices; then a reader continues anyway, since writes may never end. */
const GIVE_WAY_FACTOR = 8
/** After a write, its writer will probably write again within this time. */
const WRITING_MS = 20

/** The reader has disconnected: its work ends, since no client waits for the answer. */
export class ReaderLeftError extends Error {
  readonly code = 'reader-left'

  constructor() {
    super('the reader has left')
    this.name = 'ReaderLeftError'
  }
}

/** One reader's handle on the queue. */
export interface Pace {
  /**
   * To be called between two small pieces of work: undefined while the slice lasts, otherwise a promise to be awaited. Throws `ReaderLeftError`, or rejects
   * with it, once the reader has left.
   */
  turn(): Promise<void> | undefined
  /** Whether the reader has left. */
  readonly isOver: boolean
  /** To be called when the reader has left. */
  leave(): void
}

export interface WorkEffects extends TurnEffects {
  readonly later: (call: () => void, ms: number) => void
}

const realEffects: WorkEffects = { ...realTurns, later: (call, ms) => void setTimeout(call, ms) }

interface Slice {
  readonly pace: ReaderPace
  readonly startedMs: number
}

/** Time used by a tenant, and its waiting turns. A tenant that returns gets no credit for the time when it asked for nothing. */
interface Share {
  used: number
  /** Waiting turns of all its callers. */
  waiting: number
  readonly callers: Map<string, CallerShare>
}

interface CallerShare {
  used: number
  readonly waiting: Turn[]
}

/** Several turns of one reader may wait at the same time. */
interface Turn {
  readonly pace: ReaderPace
  readonly goOn: () => void
}

export class WorkQueue {
  /** Writes; readers pause between their slices while any is under way. */
  readonly writes: WriteTurns
  /** Turns in which requests begin. */
  readonly requests: RequestTurns
  readonly #effects: WorkEffects
  readonly #shares = new Map<string, Share>()
  #waiting = 0
  #current: Slice | undefined
  #scheduled = false
  #notBeforeMs = 0
  #slices = 0
  #workedMs = 0
  #charge: Charge | undefined

  constructor(effects: WorkEffects = realEffects) {
    this.#effects = effects
    this.writes = new WriteTurns(effects)
    this.requests = new RequestTurns(effects)
  }

  /** Number of turns that wait for a slice. */
  get waiting(): number {
    return this.#waiting
  }

  /** Number of tenants and callers whose use is remembered. */
  get parties(): number {
    let callers = 0
    for (const share of this.#shares.values()) callers += share.callers.size
    return this.#shares.size + callers
  }

  /** Number of slices given so far, and the time used in them. */
  get worked(): { readonly slices: number; readonly ms: number } {
    return { slices: this.#slices, ms: this.#workedMs }
  }

  /** `isGone` is checked before each slice: the work of a reader whose connection is gone ends. */
  begin(party: Party, isGone: () => boolean = () => false): Pace {
    return new ReaderPace(this, party, isGone)
  }

  /** Sets the account for the work of each party: slices of readers, and the time of writes. */
  chargeTo(charge: Charge): void {
    this.#charge = charge
    this.writes.chargeTo(charge)
  }

  /** Records work that another thread did. */
  charge(work: Work): void {
    this.#charge?.(work)
  }

  /** To be called only by `ReaderPace`. */
  turnOf(pace: ReaderPace): Promise<void> | undefined {
    const current = this.#current
    if (current?.pace === pace && this.#effects.nowMs() - current.startedMs < SLICE_MS) return undefined
    if (current?.pace === pace) this.#endSlice()
    return new Promise((resolve, reject) => {
      this.#enqueue({ pace, goOn: () => (pace.isOver ? reject(new ReaderLeftError()) : resolve()) })
      this.#schedule()
    })
  }

  #enqueue(turn: Turn): void {
    const { tenant, caller } = turn.pace.party
    const share = this.#shares.get(tenant) ?? { used: leastUsed(this.#shares), waiting: 0, callers: new Map() }
    const own = share.callers.get(caller) ?? { used: leastUsed(share.callers), waiting: [] }
    own.waiting.push(turn)
    share.waiting += 1
    this.#waiting += 1
    putLast(this.#shares, tenant, share, (each) => each.waiting > 0)
    putLast(share.callers, caller, own, (each) => each.waiting.length > 0)
  }

  /** Charges the tenant and the caller, and lets writers go first for a while. */
  #endSlice(): void {
    if (this.#current === undefined) return
    const { pace, startedMs } = this.#current
    this.#current = undefined
    const nowMs = this.#effects.nowMs()
    const ms = nowMs - startedMs
    this.#workedMs += ms
    this.#charge?.({ party: pace.party, kind: 'read', ms })
    this.#notBeforeMs = nowMs + Math.min(REST_FACTOR * ms, REST_MAX_MS)
    const share = this.#shares.get(pace.party.tenant)
    const own = share?.callers.get(pace.party.caller)
    if (share !== undefined) share.used += ms
    if (own !== undefined) own.used += ms
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting === 0) return
    this.#scheduled = true
    const waitMs = this.#restMs()
    if (waitMs <= 0) this.#effects.soon(() => this.#tick())
    else this.#effects.later(() => this.#tick(), Math.max(1, Math.floor(waitMs)))
  }

  #restMs(): number {
    const nowMs = this.#effects.nowMs()
    const writing = this.writes.underWay || nowMs - this.writes.lastEndedMs < WRITING_MS
    return writing ? this.#notBeforeMs - nowMs : 0
  }

  #tick(): void {
    this.#scheduled = false
    const nowMs = this.#effects.nowMs()
    const givesWay = this.writes.underWay && nowMs < this.#notBeforeMs + GIVE_WAY_FACTOR * SLICE_MS
    if (givesWay || this.#restMs() > 0) this.#lookAgain()
    else this.#grant()
  }

  #lookAgain(): void {
    this.#scheduled = true
    this.#effects.later(() => this.#tick(), 1)
  }

  #grant(): void {
    const share = least(this.#shares, ({ waiting }) => waiting > 0)
    const caller = share && least(share.callers, ({ waiting }) => waiting.length > 0)
    const turn = caller?.waiting.shift()
    if (share === undefined || turn === undefined) return
    share.waiting -= 1
    this.#waiting -= 1
    this.#slices += 1
    const current = { pace: turn.pace, startedMs: this.#effects.nowMs() }
    this.#current = current
    turn.goOn()
    this.#effects.soon(() => this.#afterGrant(current))
  }

  /** A reader that has not called `turn` again by now waits for something else, such as its client: its slice ends, and the wait is not counted as work. */
  #afterGrant(granted: Slice): void {
    if (this.#current === granted) this.#endSlice()
    // No turn waits: recorded use is forgotten, and all parties start equal.
    if (this.#waiting === 0 && this.#current === undefined) this.#shares.clear()
    this.#schedule()
  }
}

class ReaderPace implements Pace {
  readonly party: Party
  readonly #queue: WorkQueue
  readonly #isGone: () => boolean
  #left = false

  constructor(queue: WorkQueue, party: Party, isGone: () => boolean) {
    this.#queue = queue
    this.party = party
    this.#isGone = isGone
  }

  get isOver(): boolean {
    return this.#left || this.#isGone()
  }

  turn(): Promise<void> | undefined {
    if (this.isOver) throw new ReaderLeftError()
    return this.#queue.turnOf(this)
  }

  leave(): void {
    this.#left = true
  }
}
