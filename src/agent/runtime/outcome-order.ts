/** @module The order in which outcomes are delivered to the code: the recorded order, the same live, on resume and on replay (RUN-170). */
import { setImmediate as nextTurn } from 'node:timers'
import type { Json } from '../../../schemas/json.ts'
import { pause } from '../../client/transport.ts'
import { linkedSignal, onAbort } from '../../resources/linked-signal.ts'
import { LedgerRefused } from '../errors.ts'
import type { Connection, Problem, Reply } from './connection.ts'
import { type HeldRequest, HeldRequests } from './held-requests.ts'
import { Patience } from './patience.ts'

/** The state of the run that the queue needs. */
export interface OrderedRun {
  /** A recorded request that comes before this position and that the code has not made yet. */
  readonly unmadeBefore: (place: number) => string | undefined
  /** Nothing is held back any more: the run is halted here. */
  readonly isFree: () => boolean
  /** The code of the run has ended: outcomes wait no longer for requests that it has not made. */
  readonly isOver: () => boolean
  /** The run is halted here. */
  readonly isStopped: () => boolean
  /** The divergence if the code never makes a request that is recorded before the outcome it waits for. */
  readonly neverMade: (unmade: string) => Error
  /** Halts the run with this divergence and returns it. */
  readonly stuck: (fault: Error) => Error
  /** Position of an answer's last event in the record. */
  readonly placeOf: (answer: Extract<Reply, { ok: true }>['body']) => number
  /** Told when nothing but a missing request is waited for, and when that is over. */
  readonly onStalled?: ((isStalled: boolean) => void) | undefined
  /** Aborted once this process leaves runs that only wait. */
  readonly leaving?: AbortSignal | undefined
  /** Whether the record holds requests of the code that it has not made yet. */
  readonly isOutrun: () => boolean
  readonly abortAsThen?: OrderedAbort | undefined
}

/** The abort of a replay, at the place where the code of the record was aborted. */
export interface OrderedAbort {
  /** Number of events that the code knew of then. */
  readonly after: number
  /** The code had not begun. */
  readonly isFirst: boolean
  readonly controller: AbortController
  readonly reason: unknown
}

/** One request, from its start until its outcome is delivered. */
export interface Turn {
  /** The request is being executed; its outcome comes after all that are recorded. */
  live(): void
  /** The outcome may precede every other; nothing is delivered until this is known. */
  looking(): void
  /** The outcome is recorded; `place` is the number of events up to and including it. */
  recorded(place: number): void
  /** Like `recorded`, for a refusal. */
  recordedRefusal(place: number): void
  /** The ledger has just answered with the outcome. `end`: revision of its event, if the answer gives that beside a later one. */
  answered(answer: Extract<Reply, { ok: true }>['body'], end?: Json): void
  /** The ledger refused the request; `revision` is that of the event that records the refusal, if any. */
  refused(revision: number | undefined): void
  /** Like `refused`, for a request of code. A body that the ledger did not accept (`invalid-body`) is not recorded, and is refused again on every replay. */
  refusedWith(problem: Pick<Problem, 'code' | 'revision'>): void
  /** The outcome precedes all those that have not been delivered. */
  repeated(): void
  /** Like `repeated`, for an outcome that is recorded and that the code has not been given before; where it is recorded is not known. */
  untold(): void
}

export interface HandedOver {
  /** The caller reads parts of the result before the outcome is known, and gets the outcome when it arrives. */
  readonly isEarly?: boolean
  /** Replaces a recorded outcome, which the code had received before all its later requests. */
  readonly isAgain?: boolean | undefined
  /** The code may have had an outcome without the ledger, before it made requests that the record holds: this one does not wait for them. */
  readonly isHad?: boolean | undefined
}

type State = 'looking' | 'live' | 'known'

class OneTurn implements Turn {
  state: State
  place = 0
  /** What the code knows of the record with this outcome: the number of events; infinite if the ledger did not tell where the outcome is. */
  upTo = 0
  /** Answers in flight when this one arrived; their outcomes may precede it. */
  before: readonly Promise<unknown>[] = []
  /** Set once the outcome is available. */
  handOver: { readonly now: () => void; readonly never: (error: Error) => void } | undefined
  readonly #order: OutcomeOrder
  readonly #isEarly: boolean
  readonly #isAgain: boolean
  readonly isHad: boolean
  /** Number of refusals in a row when the request was made, and with this one. */
  readonly refusedBefore: number
  refusedInARow = 0
  /** Number of outcomes without a known place that the code had been given when it made the request. */
  readonly untoldBefore: number

  constructor(order: OutcomeOrder, state: State, { isEarly = false, isAgain = false, isHad = false }: HandedOver) {
    this.#order = order
    this.refusedBefore = order.refusedInARow
    this.untoldBefore = order.untold
    this.#isEarly = isEarly
    this.#isAgain = isAgain
    this.isHad = isHad
    this.state = isEarly ? 'live' : state
  }

  live(): void {
    this.#becomes('live')
    this.before = []
  }

  looking(): void {
    this.#becomes('looking')
  }

  recorded(place: number, upTo = place): void {
    this.place = this.#isAgain ? 0 : place
    this.upTo = upTo
    this.#becomes('known')
  }

  recordedRefusal(place: number): void {
    this.refusedInARow = this.refusedBefore + 1
    this.recorded(place)
  }

  answered(answer: Extract<Reply, { ok: true }>['body'], end?: Json): void {
    // Of what was recorded before the request, the ledger does not tell where.
    if (typeof answer.revision !== 'number') {
      this.untold()
      return
    }
    const { placeOf } = this.#order.run
    this.#came(placeOf(end === undefined ? answer : { revision: end }), placeOf(answer))
  }

  refused(revision: number | undefined): void {
    this.refusedInARow = this.refusedBefore + 1
    if (revision === undefined) this.#came(this.#order.lastPlace + UNTOLD, Number.POSITIVE_INFINITY)
    else this.#came(this.#order.run.placeOf({ revision }))
  }

  refusedWith({ code, revision }: Pick<Problem, 'code' | 'revision'>): void {
    if (UNREAD.has(code)) this.repeated()
    else this.refused(revision)
  }

  repeated(): void {
    this.#came(0)
  }

  untold(): void {
    this.#came(0, Number.POSITIVE_INFINITY)
  }

  #came(place: number, upTo = place): void {
    this.recorded(place, upTo)
    this.before = this.#order.cameIn(place)
  }

  #becomes(state: State): void {
    if (!this.#isEarly) this.state = state
    this.#order.plan()
  }
}

const UNREAD: ReadonlySet<string> = new Set(['invalid-body', 'policy-invalid'])

/** A program that makes a request again after each refusal would let the record grow for ever (RUN-201). */
const REFUSED_IN_A_ROW_MAX = 1_000

/** Offset of a position after the last known event and before the next one. */
const UNTOLD = 0.5

export class OutcomeOrder {
  readonly run: OrderedRun
  /** Number of recorded events that requests may be served from. */
  readonly #past: number | undefined
  readonly #patience: Patience
  readonly #held: HeldRequests
  readonly #turns = new Set<OneTurn>()
  readonly #onTheWay = new Set<Promise<unknown>>()
  /** Callbacks of requests that poll for a decision of others; each polls again before an outcome that arrived meanwhile is delivered. */
  readonly #waits = new Set<() => void>()
  #answers = 0
  #given = 0
  /** The last outcome without a known place is not followed yet by one of a request that was made after it. */
  #isUntold = false
  /** Number of outcomes without a known place that the code has been given. */
  untold = 0
  #isPlanned = false
  /** Number of refusals that the code was handed one after another, with nothing else between, each before it made its next request. */
  refusedInARow = 0
  /** Position of the last event that this process knows of. */
  lastPlace: number

  /** `recorded`: number of recorded events that requests may be served from; undefined if there are none. */
  constructor(run: OrderedRun, recorded: number | undefined, divergesAfterMs?: number) {
    this.run = run
    this.#past = recorded
    this.lastPlace = recorded ?? 0
    this.#patience = new Patience(divergesAfterMs, run.onStalled)
    this.#held = new HeldRequests(new Patience(divergesAfterMs, run.onStalled), () => this.#isBesideWork)
  }

  /** Executes a request and delivers its outcome in its turn. An error before anything was recorded, such as an unrecordable argument, is thrown at once. */
  async inOrder<T>(work: (turn: Turn) => Promise<T>, how: HandedOver = {}): Promise<T> {
    if (this.refusedInARow >= REFUSED_IN_A_ROW_MAX) throw this.run.stuck(refusedTooOften())
    const turn = new OneTurn(this, this.#past === undefined ? 'live' : 'looking', how)
    this.#turns.add(turn)
    try {
      return await work(turn)
    } finally {
      await this.#turnOf(turn).finally(() => {
        this.#turns.delete(turn)
        this.plan()
      })
    }
  }

  /** The code of a replay is about to begin. */
  begins(): void {
    const abort = this.#abortToCome
    if (abort?.isFirst === true && !this.run.isOutrun()) abort.controller.abort(abort.reason)
    this.plan()
  }

  /** Wraps the connection so that its answers in flight are tracked here. */
  heard(connection: Connection): Connection {
    const noted = <T>(asked: Promise<T>): Promise<T> => {
      this.#onTheWay.add(asked)
      const over = (): void => void this.#onTheWay.delete(asked)
      asked.then(over, over)
      return asked
    }
    return {
      ...connection,
      execute: (runId, command, options) => {
        const asked = connection.execute(runId, command, options)
        return command.kind === 'renew' ? asked : noted(asked)
      },
      batch: (runId, commands) => noted(connection.batch(runId, commands)),
    }
  }

  /** Registers an outcome that has arrived; returns the answers in flight to wait for before it is delivered. */
  cameIn(place: number): readonly Promise<unknown>[] {
    this.lastPlace = Math.max(this.lastPlace, Math.floor(place))
    this.#answers += 1
    for (const look of this.#waits) look()
    return [...this.#onTheWay]
  }

  /** Requests that poll or are held look again now. */
  look(): void {
    for (const look of this.#waits) look()
    this.plan()
  }

  /** Whether an answer is on its way, or an outcome has arrived that the code has not been given. */
  get isBusy(): boolean {
    return this.#onTheWay.size > 0 || [...this.#turns].some(({ state }) => state === 'known')
  }

  /**
   * Position of the last outcome that the code has been given: what it asks for now, it asks for knowing that one. Too large a number if that is not known,
   * which the ledger lowers to the number of events that there are.
   */
  get given(): number {
    return this.#isUntold ? Number.MAX_SAFE_INTEGER : this.#given
  }

  /** Number of outcomes that have arrived. */
  get answers(): number {
    return this.#answers
  }

  /**
   * For a request that polls for a decision of others: waits until the next poll is due, or this process leaves the run. Returns at once if another outcome has
   * arrived since the last poll (`answers` at that time); that outcome is delivered only after this poll. Rejects if the signal is aborted.
   */
  async untilNextLook(
    turn: Turn,
    { waitMs, answers, signal }: { waitMs: number; answers: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    if (answers < this.#answers) return turn.looking()
    turn.live()
    let look = (): void => undefined
    const woken = new Promise<void>((resolve) => {
      look = () => {
        turn.looking()
        resolve()
      }
    })
    this.#waits.add(look)
    const over = new AbortController()
    const { leaving } = this.run
    const unheard = leaving && onAbort(leaving, look)
    try {
      await Promise.race([woken, pause(waitMs, linkedSignal(over.signal, signal))])
    } finally {
      this.#waits.delete(look)
      unheard?.()
      over.abort()
    }
  }

  /** Holds a live request that must come after recorded ones; see `HeldRequests`. */
  hold(request: HeldRequest): Promise<void> {
    this.plan()
    return this.#held.hold(request)
  }

  /** The code has made a request that the record holds. */
  served(): void {
    this.#held.progress()
    this.plan()
  }

  /** Whether calls are being executed, other than held requests and the calls that contain them. */
  get #isBesideWork(): boolean {
    return [...this.#turns].filter(({ state }) => state === 'live').length > this.#held.turns
  }

  /** Schedules the next delivery for when the code is idle, that is, once it has made every request that follows from the previous outcome. */
  plan(): void {
    this.#patience.stop()
    const isIdle = this.#turns.size === 0 && this.#held.isEmpty
    if (this.#isPlanned || (isIdle && this.#abortToCome === undefined)) return
    this.#isPlanned = true
    nextTurn(() => {
      this.#isPlanned = false
      if (this.run.isStopped()) for (const look of this.#waits) look()
      this.#held.look(this.run.isStopped())
      if (this.#abortsNow()) this.plan()
      else this.#handOverNext()
    })
  }

  /** The code of a replay is still to be aborted. */
  get isToBeAborted(): boolean {
    return this.#abortToCome !== undefined
  }

  get #abortToCome(): OrderedAbort | undefined {
    const { abortAsThen: abort } = this.run
    return abort?.controller.signal.aborted === true ? undefined : abort
  }

  /** Aborts the code once it has made all its requests, and has been handed all that it had been handed before. */
  #abortsNow(): boolean {
    const abort = this.#abortToCome
    if (abort === undefined || this.run.isStopped() || this.run.isOutrun()) return false
    for (const { state, place } of this.#turns)
      if (state === 'looking' || (state === 'known' && place <= abort.after)) return false
    abort.controller.abort(abort.reason)
    return true
  }

  async #turnOf(turn: OneTurn): Promise<void> {
    if (turn.state !== 'known') {
      // The caller of a stream has its outcome, or it has none.
      if (turn.upTo > 0) this.#noteRefusals(turn)
      return
    }
    if (turn.before.length > 0) await Promise.allSettled(turn.before)
    await new Promise<void>((now, never) => {
      turn.handOver = { now, never }
      this.plan()
    })
  }

  #handOverNext(): void {
    const next = this.#next()
    if (next?.handOver === undefined) return
    const isFree = this.run.isFree() || this.run.isOver()
    const unmade = isFree || next.isHad ? undefined : this.run.unmadeBefore(next.place)
    if (unmade !== undefined) {
      this.#waitFor(next, unmade)
      return
    }
    this.#turns.delete(next)
    this.#noteGiven(next)
    if (next.place <= (this.#past ?? 0)) this.#held.progress()
    this.#noteRefusals(next)
    next.handOver.now()
    this.plan()
  }

  #noteRefusals({ refusedInARow }: OneTurn): void {
    this.refusedInARow = refusedInARow === 0 ? 0 : Math.max(this.refusedInARow, refusedInARow)
  }

  #noteGiven({ place, upTo, untoldBefore }: OneTurn): void {
    if (upTo === Number.POSITIVE_INFINITY) {
      this.untold += 1
      this.#isUntold = true
      return
    }
    this.#given = Math.max(this.#given, upTo)
    // What the code asked for after an outcome is recorded after it.
    if (untoldBefore === this.untold && place > (this.#past ?? 0)) this.#isUntold = false
  }

  /** Undefined if the next outcome is not known yet. */
  #next(): OneTurn | undefined {
    const isFree = this.run.isFree()
    let next: OneTurn | undefined
    for (const turn of this.#turns) {
      if (isFree && turn.handOver === undefined) continue
      if (turn.state === 'looking') return undefined
      if (turn.state === 'known' && (next === undefined || turn.place < next.place)) next = turn
    }
    return next
  }

  #waitFor(turn: OneTurn, unmade: string): void {
    this.#patience.start({
      isBesideWork: () => this.#isBesideWork,
      fault: () => this.run.neverMade(unmade),
      giveUp: (fault) => turn.handOver?.never(this.run.stuck(fault)),
    })
  }
}

function refusedTooOften(): Error {
  return new LedgerRefused({
    code: 'refusals-exhausted',
    detail: `this run was refused ${REFUSED_IN_A_ROW_MAX} times in a row; it stays open, and nothing is undone: let its code end, or wait, where it catches a refusal, and resume it`,
    evidence: { refusals: REFUSED_IN_A_ROW_MAX },
  })
}
