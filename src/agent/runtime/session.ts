/** @module One run in this process: its counters, the calls under way, what it remembers of an earlier life, and why it stopped. */
import type { ExtendPolicy } from '../../../projections/extend.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { VALUE_MAX_BYTES } from '../../../schemas/value-forms.ts'
import { LedgerError, UnreachableError } from '../../client/errors.ts'
import { ClaimQueue } from '../calls/claim-queue.ts'
import type { ToolRegistry } from '../calls/tool-spec.ts'
import { AgentError } from '../errors.ts'
import { ForkBook } from '../fork/fork-book.ts'
import { lostNamesFault, type NewWork } from '../history/lost-names.ts'
import type { RecordedHistory, RequestedCall } from '../history/recorded-history.ts'
import { ConversationBook } from '../models/conversation-book.ts'
import type { PriceTable } from '../models/price-table.ts'
import { type Judge, Judging } from '../pipeline/judge.ts'
import { Pipeline } from '../pipeline/pipeline.ts'
import { noHandoffs } from '../pipeline/recorded-handoffs.ts'
import { type TokenCounter, tokenCounter } from '../pipeline/token-counter.ts'
import { PartsFirst } from '../streams/parts-first.ts'
import { checkPlace } from './check-place.ts'
import type { Connection, Reads } from './connection.ts'
import type { HeldRequest, Precedence } from './held-requests.ts'
import { OutcomeOrder } from './outcome-order.ts'
import type { RunOptions } from './run-options.ts'

export interface SessionOptions {
  readonly runId: string
  /** When the run started, as the record says it. */
  readonly startedAt?: string
  readonly registry: ToolRegistry
  /** Absent: nothing is live, everything comes from the recorded history. */
  readonly live?: { readonly connection: Connection; readonly fence: number }
  readonly history?: RecordedHistory
  /** Where a replay reads values that are stored beside the events; a live session asks its connection. */
  readonly values?: Reads
  readonly signal?: AbortSignal
  /** Of the largest value that the ledger takes; default 8 MiB. */
  readonly valueMaxBytes?: number | undefined
  /** Of the policy that a new run is started with; a recorded one tells its own. */
  readonly policy?: ExtendPolicy
  readonly counter?: () => Promise<TokenCounter>
  readonly prices?: PriceTable | undefined
  readonly judge?: Judge | undefined
  readonly whenOwned?: RunOptions['whenOwned'] | undefined
  /** Default `wait`. */
  readonly whenWaiting?: 'wait' | 'leave' | undefined
}

/** Where the code is that requests. */
interface Place {
  readonly scope?: string | undefined
  readonly ancestors: readonly { readonly callId: string }[]
  readonly branch?: { readonly scope: string; readonly signal: AbortSignal }
}

interface OngoingWork {
  readonly name: string
  /** Aborted where nobody waits for it any more: how it ends is no news. */
  readonly abandoned?: AbortSignal | undefined
  /** Its caller has it already: where it fails later, and its caller does not read on, no promise tells of that. */
  readonly isEarly?: boolean
  /** It does nothing by itself: nothing is missing where its end is not awaited. */
  readonly isWait?: boolean
}

const isAbandoned = ({ abandoned }: OngoingWork): boolean => abandoned?.aborted === true

export class Session {
  readonly runId: string
  readonly startedAt: string
  readonly registry: ToolRegistry
  readonly live: { readonly connection: Connection; readonly claims: ClaimQueue; readonly fence: number } | undefined
  readonly history: RecordedHistory | undefined
  /** Of what came of the requests of its code. */
  readonly order: OutcomeOrder
  readonly values: Reads | undefined
  readonly signal: AbortSignal | undefined
  readonly valueMaxBytes: number
  readonly pipeline: Pipeline
  readonly judging: Judging
  readonly forks: ForkBook
  readonly counter: () => Promise<TokenCounter>
  /** What a call does that has to wait for people. */
  readonly whenWaiting: 'wait' | 'leave'
  /** What model calls cost, as the author says. */
  readonly prices: PriceTable | undefined
  /** What the runs within it do about leases of another owner, where they do not say. */
  readonly whenOwned: RunOptions['whenOwned'] | undefined
  /** What `run.patched` answered, by scope and id: the same to everybody. */
  readonly patches = new Map<string, Promise<boolean> | boolean>()
  /** Keys of calls whose result was given to somebody. */
  readonly answered = new Set<string>()
  /** Calls with a key of the author's own that were served from the record: the digest of the arguments that they were first asked for with. */
  readonly served = new Map<string, string>()
  /** Values that could not be recorded, for the compensation that still needs them. */
  readonly unrecorded = new Map<string, unknown>()
  /** Arguments of calls as they were, where the policy left something out of them. */
  readonly redactedArgs = new Map<string, Json>()
  /** Model requests on record, which later ones go on from. */
  readonly conversations = new ConversationBook()
  /** By scope, then by what was requested. */
  readonly #counts = new Map<string, Map<string, number>>()
  readonly #joinable = new Map<string, Promise<unknown>>()
  readonly #underWay = new Map<Promise<unknown>, OngoingWork>()
  /** Results in parts that the code reads already, and that the record does not have yet. */
  readonly parts = new PartsFirst()
  readonly #behind = new Set<Promise<unknown>>()
  #halted: Error | undefined
  /** Each error that said that the run goes no further here: work that goes on side by side meets several. */
  readonly #halts = new WeakSet<Error>()
  /** Ids of calls and scopes of branches inside of which that was met. */
  readonly #heldUp = new Set<string>()
  #failed: Error | undefined
  #isBodyOver = false
  #closed = false

  constructor({
    runId,
    startedAt,
    registry,
    live,
    history: recollection,
    values = live?.connection,
    signal,
    counter,
    policy = { criticalKeys: [] },
    prices,
    judge,
    whenOwned,
    whenWaiting = 'wait',
    valueMaxBytes = VALUE_MAX_BYTES,
  }: SessionOptions) {
    this.whenOwned = whenOwned
    this.runId = runId
    this.startedAt = recollection?.run.startedAt ?? startedAt ?? ''
    this.registry = registry
    this.history = recollection
    this.values = values
    this.signal = signal
    this.valueMaxBytes = valueMaxBytes
    this.order = new OutcomeOrder(
      {
        unmadeBefore: (place) => recollection?.unmadeBefore(place),
        isFree: () => this.#isFree,
        isStopped: () => this.#stopped !== undefined || this.#closed,
        neverMade: (unmade) => recollection?.neverRequested(unmade) ?? new TypeError('there is a record'),
        stuck: (fault) => this.halt(fault),
        placeOf: (answer) => this.indexOf(answer),
      },
      recollection?.run.events,
      registry.divergesAfterMs,
    )
    const connection = live && this.order.heard(live.connection)
    this.live = connection && { connection, claims: new ClaimQueue(connection, runId), fence: live.fence }
    this.counter = counter ?? tokenCounter()
    const inherits = recollection?.run.inherited !== undefined
    const code = live === undefined ? 'replay-diverged' : inherits ? 'branch-diverged' : 'resume-diverged'
    this.forks = new ForkBook(recollection?.run.forks ?? [], code)
    const handoffs = recollection?.run.handoffs ?? noHandoffs(policy)
    this.pipeline = new Pipeline(handoffs, code, () => this.forks.isBehind)
    this.prices = prices
    this.whenWaiting = whenWaiting
    this.judging = new Judging(live === undefined ? undefined : judge, {
      runId,
      signal,
      behind: (work) => this.behind(work),
      isJudged: (step) => this.pipeline.isJudged(step),
      judged: (step) => this.pipeline.judged(step),
      execute: (body) => {
        const { connection, fence } = liveOf(this)
        return reach(this, () => connection.execute(runId, { kind: 'judgement', body: { ...body, runFence: fence } }))
      },
    })
  }

  get fence(): number {
    return this.live?.fence ?? 1
  }

  /** How often this was requested in this scope before. */
  occurrence(scope: string | undefined, what: string): number {
    const counts = this.#counts.get(scope ?? '') ?? new Map<string, number>()
    const count = counts.get(what) ?? 0
    this.#counts.set(scope ?? '', counts.set(what, count + 1))
    return count
  }

  /** A tool starts over: what it asks for below this scope is what its last attempt requested. */
  restart(scope: string): void {
    for (const counted of this.#counts.keys()) {
      if (counted === scope || counted.startsWith(`${scope}/`)) this.#counts.delete(counted)
    }
  }

  /** Takes it for made where the record holds it; else gives what the record holds there and the code has still to request. */
  expect(requested: RequestedCall): Precedence | undefined {
    const { history } = this
    if (history === undefined) return undefined
    const { isHeld, first } = history.expect(requested)
    if (isHeld) this.order.served()
    else this.order.plan()
    return first
  }

  /** A call has ended: what was requested while it ran counts as requested, up to there. */
  ended(callId: string, inside: (scope: string) => boolean, after?: number): void {
    this.history?.ended(callId, after)
    this.pipeline.passedOver(inside, after ?? Number.POSITIVE_INFINITY)
    this.forks.passedOver(inside, after ?? Number.POSITIVE_INFINITY)
  }

  /** What was requested in these scopes counts as requested: they are served as a whole. */
  passedOver(covers: (scope: string) => boolean): void {
    this.history?.passedOver(covers)
    this.pipeline.passedOver(covers, Number.POSITIVE_INFINITY)
    this.forks.passedOver(covers, Number.POSITIVE_INFINITY)
  }

  /**
   * Holds something new while the record holds, still to be requested, calls of its place, calls of names that the code does not have any more, or
   * anything that a branch run inherits: what runs beside it may be about to ask for that. Throws where it never does, and nothing new was run. What may
   * rest on parts of a result waits until the record has them (RUN-186).
   */
  async mayGoLive(place: Place, work: NewWork): Promise<void> {
    await this.parts.recorded({ ancestors: place.ancestors, scope: work.scope }, work.name)
    this.mustBeActive()
    const held: HeldRequest = {
      isUnmade: () => this.#liveFault(work) !== undefined,
      fault: () => this.#liveFault(work) ?? new TypeError('nothing comes first'),
      callers: place.ancestors,
      signal: place.branch?.signal ?? this.signal,
    }
    // A whole record holds all that its code requests.
    const isWhole = this.live === undefined && this.history?.run.end?.kind === 'completed'
    while (held.isUnmade()) {
      if (isWhole) throw this.halt(held.fault())
      await this.order.hold(held).catch((fault) => {
        throw this.#stopped ?? this.halt(fault)
      })
      held.signal?.throwIfAborted()
      this.mustBeActive()
    }
  }

  #liveFault(work: NewWork): Error | undefined {
    const { history } = this
    if (history === undefined) return undefined
    if (work.first?.isUnmade() === true) return work.first.fault()
    // The record is all there is: what it does not hold is told by who asks.
    if (this.live === undefined) return undefined
    const { inherited } = history.run
    const fault = inherited === undefined ? undefined : this.#inheritedFault(inherited.until)
    if (fault !== undefined) return fault
    const lost = history.lostNames(this.registry, work)
    if (lost.length > 0)
      return lostNamesFault(lost, work, inherited === undefined ? 'resume-diverged' : 'branch-diverged')
    return work.what === 'handoff' ? this.pipeline.anotherIn(work) : this.forks.anotherIn(work)
  }

  #inheritedFault(until: number): Error | undefined {
    try {
      this.history?.mustHaveInherited()
      this.pipeline.mustBeSpent(until)
      this.forks.mustBeSpent(until)
      return undefined
    } catch (error) {
      return error instanceof Error ? error : new TypeError(String(error))
    }
  }

  /** Throws where recorded calls or handoffs were never requested: the code took another way. */
  mustBeSpent(): void {
    this.history?.mustBeSpent()
    this.pipeline.mustBeSpent()
    this.forks.mustBeSpent()
  }

  /** Why the run cannot go on in this process, though it has not ended: nothing more runs, nothing is rolled back. */
  get halted(): Error | undefined {
    return this.#halted
  }

  halt<E extends Error>(error: E): E {
    this.#halted ??= error
    this.#halts.add(error)
    this.order.plan()
    return error
  }

  /** No outcome waits for a request any more that the code makes no longer. */
  get #isFree(): boolean {
    return this.#stopped !== undefined || this.#isBodyOver || this.signal?.aborted === true
  }

  get #stopped(): Error | undefined {
    return this.#halted ?? this.#failed
  }

  /**
   * Does work at a place of the code. Where it says that the run goes no further here, whatever the calls and the branch around that place make of it is no
   * outcome.
   */
  async workAt<T>({ ancestors, branch, scope }: Place, work: () => Promise<T>): Promise<T> {
    checkPlace(scope)
    try {
      return await work()
    } catch (error) {
      if (this.#isHalt(error)) {
        for (const { callId } of ancestors) this.#heldUp.add(callId)
        if (branch !== undefined) this.#heldUp.add(branch.scope)
      }
      throw error
    }
  }

  /** The run goes no further here, and the call (its id) or the branch (its scope) has met that: how its code ended is no outcome. */
  isHeldUp(place: string, error?: unknown): boolean {
    return this.#halted !== undefined && (this.#heldUp.has(place) || this.#isHalt(error))
  }

  #isHalt(error: unknown): boolean {
    return error instanceof Error && this.#halts.has(error)
  }

  /** The run cannot end well any more, whatever its body makes of the error: it will be rolled back. */
  fail<E extends Error>(error: E): E {
    this.#failed ??= error
    this.order.plan()
    return error
  }

  get failed(): Error | undefined {
    return this.#failed
  }

  /** Place of an answer's last event in the record, as it would be read: behind what is inherited. */
  indexOf(answer: JsonObject): number {
    return (this.history?.run.inherited?.until ?? 0) + numberOf(answer, 'revision') + 1
  }

  /** No call may start after the body of the run has ended. */
  close(): void {
    this.#closed = true
    this.order.plan()
  }

  mustBeActive(): void {
    if (this.#stopped !== undefined) throw this.#stopped
    if (this.#closed) throw new AgentError('no-active-run', `the run ${this.runId} is over`, { runId: this.runId })
  }

  /** Carries a call out; an equal one that is under way is joined. */
  joined<T>(key: string, what: OngoingWork | string, start: () => Promise<T>): Promise<T> {
    const running = this.#joinable.get(key)
    if (running !== undefined) return running as Promise<T>
    const call = start().finally(() => {
      this.#joinable.delete(key)
      this.#underWay.delete(call)
    })
    this.#joinable.set(key, call)
    this.#underWay.set(call, typeof what === 'string' ? { name: what } : what)
    // Whoever awaits it learns of a failure; one that nobody awaits is found by `settled`.
    call.catch(() => undefined)
    return call
  }

  /** Work that goes on while the code does: the run ends after it. What keeps it from its end halts the run. */
  behind<T>(work: () => Promise<T>): Promise<T> {
    const going = work()
    this.#behind.add(going)
    going.then(
      () => this.#behind.delete(going),
      (error: unknown) => {
        this.#behind.delete(going)
        this.halt(error instanceof Error ? error : new TypeError(String(error)))
      },
    )
    return going
  }

  /** Tools whose calls have not ended, and which the code may have forgotten. */
  get underWay(): readonly string[] {
    return [...this.#underWay.values()].flatMap((each) => (isAbandoned(each) || each.isWait ? [] : each.name))
  }

  /**
   * Resolves when no call is under way. A failure among those that were is the code's to handle, which let go of it (it lost a race); of one that the code
   * has parts of already, the first is given.
   */
  async settled(): Promise<unknown> {
    this.#isBodyOver = true
    this.order.plan()
    let failure: unknown
    while (this.#underWay.size + this.#behind.size > 0) {
      const going = [...this.#underWay]
      for (const [i, result] of (await Promise.allSettled(going.map(([call]) => call))).entries()) {
        const [, what] = going[i] ?? []
        const isTold = what?.isEarly !== true || isAbandoned(what)
        if (result.status === 'rejected' && !isTold) failure ??= result.reason
      }
      await Promise.allSettled(this.#behind)
    }
    return failure
  }
}

/** The connection of a live session; a replay has none. */
export function liveOf(session: Session): NonNullable<Session['live']> {
  if (session.live === undefined) throw new AgentError('replay-diverged', 'a replay carries nothing out')
  return session.live
}

/** An answer, or an error that also halts the run where the ledger is out of reach, or cannot do now what it is asked for. */
export async function reach<T>(session: Session, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof UnreachableError || error instanceof LedgerError) session.halt(error)
    throw error
  }
}

export const textOf = (body: JsonObject, name: string): string => String(body[name] ?? '')
export const numberOf = (body: JsonObject, name: string): number => Number(body[name] ?? 0)
