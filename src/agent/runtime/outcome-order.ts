/** @module The order in which code is handed what came of its requests: that of the record, the same live, on resume and on replay (RUN-170). */
import { setImmediate as nextTurn } from 'node:timers'
import { pause } from '../../client/transport.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import type { Connection, Problem, Reply } from './connection.ts'
import { type HeldRequest, HeldRequests } from './held-requests.ts'
import { Patience } from './patience.ts'

/** What the queue has to know of the run. */
export interface OrderedRun {
  /** What the record has before this place, and the code has not requested yet. */
  readonly unmadeBefore: (place: number) => string | undefined
  /** Nothing is held back any more: the run goes no further here, or its code has ended. */
  readonly isFree: () => boolean
  /** The run goes no further here. */
  readonly isStopped: () => boolean
  /** The divergence where the code does not make a request that the record has before the outcome that it waits for. */
  readonly neverMade: (unmade: string) => Error
  /** It is one: the run goes no further. */
  readonly stuck: (fault: Error) => Error
  /** Place of an answer's last event in the record. */
  readonly placeOf: (answer: Extract<Reply, { ok: true }>['body']) => number
}

/** One request, from when it is made until its outcome is handed over. */
export interface Turn {
  /** It is being carried out: its outcome comes after all that is recorded. */
  live(): void
  /** It may have an outcome before any other: nothing is handed over until that is known. */
  looking(): void
  /** The outcome is recorded, with so many events. */
  recorded(place: number): void
  /** The ledger has just answered with the outcome. */
  answered(answer: Extract<Reply, { ok: true }>['body']): void
  /** It refused, and may have recorded that. */
  refused(revision: number | undefined): void
  /** The same, of a request of code: what no ledger reads (`invalid-body`) is on no record, and refused again wherever it is said. */
  refusedWith(problem: Pick<Problem, 'code' | 'revision'>): void
  /** It was recorded before all that has not been handed over. */
  repeated(): void
}

export interface HandedOver {
  /** The caller has parts of it before its outcome is there, and gets that when it comes. */
  readonly isEarly?: boolean
  /** It takes the place of an outcome that was recorded: the code had that before all that it requested next. */
  readonly isAgain?: boolean | undefined
}

type State = 'looking' | 'live' | 'known'

class OneTurn implements Turn {
  state: State
  place = 0
  /** Answers on their way when this one came: what they tell may be before it. */
  before: readonly Promise<unknown>[] = []
  /** Set where the outcome is there. */
  handOver: { readonly now: () => void; readonly never: (error: Error) => void } | undefined
  readonly #order: OutcomeOrder
  readonly #isEarly: boolean
  readonly #isAgain: boolean

  constructor(order: OutcomeOrder, state: State, { isEarly = false, isAgain = false }: HandedOver) {
    this.#order = order
    this.#isEarly = isEarly
    this.#isAgain = isAgain
    this.state = isEarly ? 'live' : state
  }

  live(): void {
    this.#becomes('live')
    this.before = []
  }

  looking(): void {
    this.#becomes('looking')
  }

  recorded(place: number): void {
    this.place = this.#isAgain ? 0 : place
    this.#becomes('known')
  }

  answered(answer: Extract<Reply, { ok: true }>['body']): void {
    this.#came(this.#order.run.placeOf(answer))
  }

  refused(revision: number | undefined): void {
    this.#came(revision === undefined ? this.#order.lastPlace + UNTOLD : this.#order.run.placeOf({ revision }))
  }

  refusedWith({ code, revision }: Pick<Problem, 'code' | 'revision'>): void {
    if (UNREAD.has(code)) this.repeated()
    else this.refused(revision)
  }

  repeated(): void {
    this.#came(0)
  }

  #came(place: number): void {
    this.recorded(place)
    this.before = this.#order.cameIn(place)
  }

  #becomes(state: State): void {
    if (!this.#isEarly) this.state = state
    this.#order.plan()
  }
}

const UNREAD: ReadonlySet<string> = new Set(['invalid-body', 'policy-invalid'])

/** Behind the last event that was heard of, and before the next. */
const UNTOLD = 0.5

export class OutcomeOrder {
  readonly run: OrderedRun
  /** How many events are on record that requests may be served from. */
  readonly #past: number | undefined
  readonly #patience: Patience
  readonly #held: HeldRequests
  readonly #turns = new Set<OneTurn>()
  readonly #onTheWay = new Set<Promise<unknown>>()
  /** Waits for what others decide: each looks again before an outcome is handed over that came meanwhile. */
  readonly #waits = new Set<() => void>()
  #answers = 0
  #isPlanned = false
  /** Of the last event that this process has heard of. */
  lastPlace: number

  /** `recorded`: how many events are on record that requests may be served from; undefined where there are none. */
  constructor(run: OrderedRun, recorded: number | undefined, divergesAfterMs?: number) {
    this.run = run
    this.#past = recorded
    this.lastPlace = recorded ?? 0
    this.#patience = new Patience(divergesAfterMs)
    this.#held = new HeldRequests(new Patience(divergesAfterMs), () => this.#isBesideWork)
  }

  /**
   * Carries a request out; what comes of it is handed over in its turn. What was never recorded (an argument that cannot be) is thrown at once.
   */
  async inOrder<T>(work: (turn: Turn) => Promise<T>, how: HandedOver = {}): Promise<T> {
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

  /** The ledger, whose answers on their way are known here. */
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

  /** An outcome has come: what is to be waited for before it is handed over. */
  cameIn(place: number): readonly Promise<unknown>[] {
    this.lastPlace = Math.max(this.lastPlace, Math.floor(place))
    this.#answers += 1
    for (const look of this.#waits) look()
    return [...this.#onTheWay]
  }

  /** Outcomes that came so far. */
  get answers(): number {
    return this.#answers
  }

  /**
   * For who waits for what others decide: until it is time to look again, at once where another outcome has come since the last look (`answers` then), which
   * is handed over only after this one. Rejects where the signal is aborted.
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
    try {
      await Promise.race([woken, pause(waitMs, linkedSignal(over.signal, signal))])
    } finally {
      this.#waits.delete(look)
      over.abort()
    }
  }

  /** For a request that is live, and that the record has others before: as `HeldRequests` says. */
  hold(request: HeldRequest): Promise<void> {
    this.plan()
    return this.#held.hold(request)
  }

  /** The code has made a request that the record holds. */
  served(): void {
    this.#held.progress()
    this.plan()
  }

  /** Calls are carried out: those that are held are not, and those inside of which that is wait for them. */
  get #isBesideWork(): boolean {
    return [...this.#turns].filter(({ state }) => state === 'live').length > this.#held.turns
  }

  /** Once the code is idle: whatever follows from the outcome before has been requested. */
  plan(): void {
    this.#patience.stop()
    if (this.#isPlanned || this.#turns.size === 0) return
    this.#isPlanned = true
    nextTurn(() => {
      this.#isPlanned = false
      this.#held.look(this.run.isStopped())
      this.#handOverNext()
    })
  }

  async #turnOf(turn: OneTurn): Promise<void> {
    if (turn.state !== 'known') return
    if (turn.before.length > 0) await Promise.allSettled(turn.before)
    await new Promise<void>((now, never) => {
      turn.handOver = { now, never }
      this.plan()
    })
  }

  #handOverNext(): void {
    const next = this.#next()
    if (next?.handOver === undefined) return
    const unmade = this.run.isFree() ? undefined : this.run.unmadeBefore(next.place)
    if (unmade !== undefined) {
      this.#waitFor(next, unmade)
      return
    }
    this.#turns.delete(next)
    if (next.place <= (this.#past ?? 0)) this.#held.progress()
    next.handOver.now()
    this.plan()
  }

  /** Undefined where it is not known yet which is the next. */
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
