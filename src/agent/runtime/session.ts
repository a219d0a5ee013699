/** @module One run in this process: its counters, its active calls, its recorded history, and the reason it stopped. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ExtendPolicy } from '../../../projections/extend.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { VALUE_MAX_BYTES } from '../../../schemas/value-forms.ts'
import { LedgerError, UnreachableError } from '../../client/errors.ts'
import { ClaimQueue } from '../calls/claim-queue.ts'
import type { Claimed } from '../calls/lease.ts'
import type { ToolRegistry } from '../calls/tool-spec.ts'
import { AgentError } from '../errors.ts'
import { ForkBook } from '../fork/fork-book.ts'
import { lostNamesFault, type NewWork } from '../history/lost-names.ts'
import type { Outrunning, RecordedHistory, RequestedCall } from '../history/recorded-history.ts'
import { ConversationBook } from '../models/conversation-book.ts'
import type { PriceTable } from '../models/price-table.ts'
import { type Judge, Judging } from '../pipeline/judge.ts'
import { Pipeline } from '../pipeline/pipeline.ts'
import { noHandoffs } from '../pipeline/recorded-handoffs.ts'
import { type TokenCounter, tokenCounter } from '../pipeline/token-counter.ts'
import { isCovered } from '../saga/outcome.ts'
import { PartsFirst } from '../streams/parts-first.ts'
import { checkPlace } from './check-place.ts'
import type { Connection, Reads } from './connection.ts'
import type { Expected, HeldRequest } from './held-requests.ts'
import { Leaving, type Outer } from './leaving.ts'
import { OutcomeOrder } from './outcome-order.ts'
import type { RunOptions } from './run-options.ts'

export interface SessionOptions {
  readonly runId: string
  /** Recorded start time of the run. */
  readonly startedAt?: string
  readonly registry: ToolRegistry
  /** Absent in a replay: nothing is live, and everything comes from the recorded history. */
  readonly live?: { readonly connection: Connection; readonly fence: number }
  readonly history?: RecordedHistory
  /** Where a replay reads values that are stored outside the events; a live session uses its connection. */
  readonly values?: Reads
  readonly signal?: AbortSignal
  /** Size of the largest value that the ledger accepts; default 8 MiB. */
  readonly valueMaxBytes?: number | undefined
  /** Tools whose calls are claimed before they run (`true`: all), as the ledger says; default: all. */
  readonly claimFirst?: true | readonly string[] | undefined
  /** Policy of a new run; a recorded run has its own in the history. */
  readonly policy?: ExtendPolicy
  readonly counter?: () => Promise<TokenCounter>
  readonly prices?: PriceTable | undefined
  readonly judge?: Judge | undefined
  readonly whenOwned?: RunOptions['whenOwned'] | undefined
  /** Default `wait`. */
  readonly whenWaiting?: 'wait' | 'leave' | undefined
  /** Once it is aborted, the run is left as with `leave`. */
  readonly leaving?: AbortSignal | undefined
  /** The run that this one goes on within. */
  readonly outer?: Outer | undefined
  /** A worker carries the run. */
  readonly isCarried?: boolean
  /** Told when the code makes no request that the record waits for, and when it goes on. */
  readonly onStalled?: ((isStalled: boolean) => void) | undefined
}

/** The place in the code that makes a request. */
interface Place {
  readonly scope?: string | undefined
  readonly ancestors: readonly { readonly callId: string; readonly claim?: () => Promise<void> }[]
  readonly branch?: { readonly scope: string; readonly signal: AbortSignal; readonly forks: readonly object[] }
}

interface OngoingWork {
  readonly name: string
  /** Aborted when the work is no longer awaited; its end is then ignored. */
  readonly abandoned?: AbortSignal | undefined
  /** The caller already reads the result in parts, so that a later failure may reach no promise that the code still reads. */
  readonly isEarly?: boolean
  /** A wait has no effect of its own, so one that is not awaited is no mistake. */
  readonly isWait?: boolean
}

const isAbandoned = ({ abandoned }: OngoingWork): boolean => abandoned?.aborted === true

export class Session {
  readonly runId: string
  readonly startedAt: string
  readonly registry: ToolRegistry
  readonly live: { readonly connection: Connection; readonly claims: ClaimQueue; readonly fence: number } | undefined
  readonly history: RecordedHistory | undefined
  /** Delivery order of the outcomes of the code's requests. */
  readonly order: OutcomeOrder
  readonly values: Reads | undefined
  readonly signal: AbortSignal | undefined
  readonly valueMaxBytes: number
  /** Tools whose calls are claimed before they run; undefined: all. */
  #claimFirst: Set<string> | undefined
  readonly pipeline: Pipeline
  readonly judging: Judging
  readonly forks: ForkBook
  readonly counter: () => Promise<TokenCounter>
  readonly leaving: Leaving
  /** Default for nested runs: what a call does that has to wait for an approval, a signal or a time. */
  readonly whenWaiting: 'wait' | 'leave'
  /** Prices of model calls, as configured. */
  readonly prices: PriceTable | undefined
  /** Default for nested runs: what they do about leases of another owner. */
  readonly whenOwned: RunOptions['whenOwned'] | undefined
  /** Ids of runs within this one, or within the run around it, that this process carries on. */
  readonly ownRuns: Set<string>
  /** Ids of this run and of the runs around it. */
  readonly runs: readonly string[]
  /** Answers of `run.patched` by scope and id, so that every caller gets the same one. */
  readonly patches = new Map<string, Promise<boolean> | boolean>()
  /** Keys of calls whose result was returned to a caller. */
  readonly answered = new Set<string>()
  /** Keys of calls that this process has begun. */
  readonly begun = new Set<string>()
  /** Calls with an author-defined key that were served from the record, with the digest of the arguments of their first request. */
  readonly served = new Map<string, string>()
  /** Values that could not be recorded, kept for the compensation that needs them. */
  readonly unrecorded = new Map<string, unknown>()
  /** Original arguments of calls from which the policy redacted a part. */
  readonly redactedArgs = new Map<string, Json>()
  /** Recorded model requests, which later requests continue. */
  readonly conversations = new ConversationBook()
  /** Occurrence counts by scope, then by request. */
  readonly #counts = new Map<string, Map<string, number>>()
  readonly #joinable = new Map<string, Promise<unknown>>()
  readonly #underWay = new Map<Promise<unknown>, OngoingWork>()
  /** Results that the code already reads in parts and that are not recorded yet. */
  readonly parts = new PartsFirst()
  /** Calls whose outcome this process does not know, by id. */
  readonly doubts = new Map<string, Pick<Claimed, 'callId' | 'fence'>>()
  /** A worker carries the run, or the run that it goes on within. */
  readonly isCarried: boolean
  readonly #behind = new Set<Promise<unknown>>()
  #halted: Error | undefined
  /** Every error that reported the halt; concurrent work may receive several. */
  readonly #halts = new WeakSet<Error>()
  /** Ids of calls and scopes of branches inside which such an error was thrown. */
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
    leaving,
    outer,
    valueMaxBytes = VALUE_MAX_BYTES,
    claimFirst = true,
    isCarried = false,
    onStalled,
  }: SessionOptions) {
    this.isCarried = isCarried || outer?.isCarried === true
    this.whenOwned = whenOwned
    this.ownRuns = outer?.ownRuns ?? new Set()
    this.runId = runId
    this.runs = [...(outer?.runs ?? []), runId]
    this.startedAt = recollection?.run.startedAt ?? startedAt ?? ''
    this.registry = registry
    this.history = recollection
    this.values = values
    this.signal = signal
    this.valueMaxBytes = valueMaxBytes
    this.#claimFirst = claimFirst === true ? undefined : new Set(claimFirst)
    this.order = new OutcomeOrder(
      {
        unmadeBefore: (place) => recollection?.unmadeBefore(place),
        isFree: () => this.#isFree,
        isOver: () => this.#isBodyOver,
        isStopped: () => this.#stopped !== undefined || this.#closed,
        neverMade: (unmade) => recollection?.neverRequested(unmade) ?? new TypeError('there is a record'),
        stuck: (fault) => this.halt(fault),
        leaving,
        placeOf: (answer) => this.indexOf(answer),
        onStalled,
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
    this.leaving = new Leaving({
      isAsked: () => whenWaiting === 'leave' || leaving?.aborted === true,
      // What is undone behind the code after its end lets the run end; a wait does not.
      isBusy: () => this.order.isBusy || (this.#isBodyOver && this.#behind.size > 0),
      outer,
    })
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

  /** Like `ownRuns`, if the run was taken over; otherwise undefined. */
  get takenOver(): Set<string> | undefined {
    return this.whenOwned === 'take-over' ? this.ownRuns : undefined
  }

  get fence(): number {
    return this.live?.fence ?? 1
  }

  /** Whether the ledger records calls of this tool that ran without a claim. */
  mayRunUnclaimed(tool: string): boolean {
    return this.#claimFirst?.has(tool) === false
  }

  /** Calls of these tools, or of all, are claimed from now on. */
  claimsFirst(tools: readonly string[] | undefined): void {
    if (tools === undefined) this.#claimFirst = undefined
    for (const tool of tools ?? []) this.#claimFirst?.add(tool)
  }

  /** How often this was requested in this scope before. */
  occurrence(scope: string | undefined, what: string): number {
    const counts = this.#counts.get(scope ?? '') ?? new Map<string, number>()
    const count = counts.get(what) ?? 0
    this.#counts.set(scope ?? '', counts.set(what, count + 1))
    return count
  }

  /** Whether this life has requested anything at or below this scope. */
  hasRequestedIn(scope: string): boolean {
    return [...this.#counts.keys()].some((counted) => isCovered(scope, counted))
  }

  /** A tool is retried: requests at or below this scope are counted from zero, as in the previous attempt. */
  restart(scope: string): void {
    for (const counted of this.#counts.keys()) {
      if (counted === scope || counted.startsWith(`${scope}/`)) this.#counts.delete(counted)
    }
  }

  /** Marks the call as requested if the record holds it; undefined if there is no record. */
  expect(requested: RequestedCall): Expected | undefined {
    const expected = this.history?.expect(requested)
    if (expected?.isHeld === true) this.order.served()
    else if (expected !== undefined) this.order.plan()
    return expected
  }

  /** A call has ended: everything recorded inside it up to event `after` counts as requested. */
  ended(callId: string, inside: (scope: string) => boolean, after?: number): void {
    this.history?.ended(callId, after)
    this.pipeline.passedOver(inside, after ?? Number.POSITIVE_INFINITY)
    this.forks.passedOver(inside, after ?? Number.POSITIVE_INFINITY)
  }

  /** Everything recorded in these scopes counts as requested, because the scopes are served as a whole. */
  passedOver(covers: (scope: string) => boolean): void {
    this.history?.passedOver(covers)
    this.pipeline.passedOver(covers, Number.POSITIVE_INFINITY)
    this.forks.passedOver(covers, Number.POSITIVE_INFINITY)
    this.order.served()
  }

  /**
   * Delays a new request while the record holds what the code has yet to request, outside of calls, or at the place of a request inside one: concurrent code may
   * be about to request that. Throws if it never does; nothing new was executed then. Work that may depend on parts of a result waits until they are recorded
   * (RUN-186).
   */
  async mayGoLive(place: Place, work: NewWork): Promise<void> {
    await this.parts.recorded({ ancestors: place.ancestors, scope: work.scope }, work.name)
    this.mustBeActive()
    const isNew = this.live !== undefined && work.expected?.isHeld !== true && place.ancestors.length === 0
    const held: HeldRequest = {
      isUnmade: () => (isNew && this.#isOutrun()) || this.#liveFault(work) !== undefined,
      fault: () => this.#liveFault(work) ?? this.#outrunBy(work),
      callers: place.ancestors,
      forks: place.branch?.forks,
      signal: place.branch?.signal ?? this.signal,
    }
    // The record of a completed run has every request of its code.
    const isComplete = this.live === undefined && this.history?.run.end?.kind === 'completed'
    while (held.isUnmade()) {
      if (isComplete) throw this.halt(held.fault())
      await this.order.hold(held).catch((fault) => {
        throw this.#stopped ?? this.halt(fault)
      })
      held.signal?.throwIfAborted()
      this.mustBeActive()
    }
    for (const { claim } of place.ancestors) await claim?.()
  }

  /** Whether what the code requests in this scope is carried out now: the record holds nothing of it. */
  isNewIn(scope: string): boolean {
    return this.live !== undefined && this.history?.holdsWithin(scope) !== true
  }

  #liveFault(work: NewWork): Error | undefined {
    const { history } = this
    if (history === undefined) return undefined
    const { first } = work.expected ?? {}
    if (first?.isUnmade() === true) return first.fault()
    // A replay has nothing but the record; the caller reports what it does not hold.
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
    return faultOf(() => {
      this.history?.mustHaveInherited()
      this.pipeline.mustBeSpent({ until })
      this.forks.mustBeSpent({ until })
    })
  }

  /** Whether the record holds something, outside of calls, that the code has yet to request: in the run, or in a branch. */
  #isOutrun(branch?: string): boolean {
    const { history, pipeline, forks } = this
    if (history === undefined) return false
    const within = { isCounted: (scope?: string) => history.isOutside(scope) && isCovered(branch, scope) }
    return history.isOutrun(branch) || pipeline.isLeft(within) || forks.isLeft(within)
  }

  /**
   * The body has returned, or it or a branch has thrown (`throws`): concurrent code may still request what the record holds. The divergence, which halts the
   * run, if it never does (RUN-245, RUN-250).
   */
  async neverRequested(throws?: string, branch?: Place['branch']): Promise<Error | undefined> {
    const { within, signal } = { within: branch?.scope, signal: branch?.signal ?? this.signal }
    const isUnmade = (): boolean => this.#isOutrun(within)
    const does = `throws (${throws})`
    const fault = (): Error =>
      throws === undefined
        ? this.#unspentFault()
        : this.#outrunFault({ does, so: 'nothing was undone', actual: { throws: does }, within })
    let diverged: Error | undefined
    while (this.#stopped === undefined && signal?.aborted !== true && isUnmade())
      await this.order
        .hold({ isUnmade, fault, callers: [], forks: branch?.forks, isEnd: true, signal })
        .catch((never) => {
          if (this.#stopped === undefined) diverged = this.halt(never)
        })
    return diverged
  }

  #outrunBy({ what, name, scope, expected }: NewWork): Error {
    const actual = { what, name, scope: scope ?? null }
    return this.#outrunFault({ does: `asks for ${name}`, so: 'nothing new was run', actual, stack: expected?.stack })
  }

  #outrunFault(outrunning: Outrunning): Error {
    return this.history?.outrun(outrunning) ?? this.#unspentFault()
  }

  #unspentFault(): Error {
    return faultOf(() => this.mustBeSpent()) ?? new TypeError('nothing comes first')
  }

  /** Throws if recorded calls or handoffs were never requested, which means that the code took another path. */
  mustBeSpent(): void {
    this.history?.mustBeSpent()
    this.pipeline.mustBeSpent()
    this.forks.mustBeSpent()
  }

  /** The reason why the run cannot continue in this process although it has not ended: nothing more is executed, and nothing is rolled back. */
  get halted(): Error | undefined {
    return this.#halted
  }

  halt<E extends Error>(error: E): E {
    this.#halted ??= error
    this.#halts.add(error)
    this.order.plan()
    return error
  }

  get #isFree(): boolean {
    return this.#stopped !== undefined || this.signal?.aborted === true
  }

  get #stopped(): Error | undefined {
    return this.#halted ?? this.#failed
  }

  /** Runs work at a place of the code. If it throws an error that reported the halt, the ends of the enclosing calls and of the branch are no outcomes. */
  async workAt<T>({ ancestors, branch, scope }: Place, work: () => Promise<T>): Promise<T> {
    checkPlace(scope)
    try {
      return await work()
    } catch (error) {
      if (this.#isHalt(error)) {
        for (const { callId } of ancestors) this.#heldUp.add(callId)
        if (branch !== undefined) this.#heldUp.add(branch.scope)
        // Code that catches everything and asks again leaves others their turn.
        await nextTurn()
      }
      throw error
    }
  }

  /** Whether the run is halted and the call (by id) or the branch (by scope) has received that error: the end of its code is then no outcome. */
  isHeldUp(place: string, error?: unknown): boolean {
    return this.#halted !== undefined && (this.#heldUp.has(place) || this.#isHalt(error))
  }

  /** The code of this call ended with an error that halts the run. */
  holdUp(callId: string, error: Error): void {
    this.#heldUp.add(callId)
    this.halt(error)
  }

  #isHalt(error: unknown): boolean {
    return error instanceof Error && this.#halts.has(error)
  }

  /** The run must be rolled back, even if its body catches the error. */
  fail<E extends Error>(error: E): E {
    this.#failed ??= error
    this.order.plan()
    return error
  }

  /**
   * Waits in place of a request on a replay that was still in progress when the code of the run threw. The recorded code never saw its outcome, so this code
   * does not see one either; code that waits for it has diverged.
   */
  async underWayAtTheEnd({ ancestors: callers }: Place, fault: () => Error): Promise<never> {
    await this.order.hold({ isUnmade: () => true, fault, callers, signal: this.signal }).catch((never) => {
      throw this.halt(never)
    })
    return new Promise<never>(() => undefined)
  }

  get failed(): Error | undefined {
    return this.#failed
  }

  /** Position of an answer's last event in the record as read back: after the inherited events. */
  indexOf(answer: JsonObject): number {
    return (this.history?.run.inherited?.until ?? 0) + numberOf(answer, 'revision') + 1
  }

  /** Number of this run's own events up to this position; 0 in what it inherits. */
  ownEventsUpTo(place: number): number {
    return Math.max(0, place - (this.history?.run.inherited?.until ?? 0))
  }

  /** No call may start after the body of the run has ended. */
  close(): void {
    this.#closed = true
    this.order.plan()
  }

  get isClosed(): boolean {
    return this.#closed
  }

  mustBeActive(): void {
    if (this.#stopped !== undefined) throw this.#stopped
    if (this.#closed) throw new AgentError('no-active-run', `the run ${this.runId} is over`, { runId: this.runId })
  }

  /** Starts a call, or joins an equal one that is active. */
  joined<T>(key: string, what: OngoingWork | string, start: () => Promise<T>): Promise<T> {
    const running = this.#joinable.get(key)
    if (running !== undefined) return running as Promise<T>
    const call = this.tracked(
      what,
      start().finally(() => this.#joinable.delete(key)),
    )
    this.#joinable.set(key, call)
    return call
  }

  /** Work that the end of the run waits for. */
  tracked<T>(what: OngoingWork | string, work: Promise<T>): Promise<T> {
    const tracked = work.finally(() => this.#underWay.delete(tracked))
    this.#underWay.set(tracked, typeof what === 'string' ? { name: what } : what)
    // A caller that awaits it gets the failure; otherwise `settled` finds it.
    tracked.catch(() => undefined)
    return tracked
  }

  /** Background work: the run ends only after it, and an error in it halts the run. */
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

  /** Names of active calls that the code may have forgotten to await. */
  get underWay(): readonly string[] {
    return [...this.#underWay.values()].flatMap((each) => (isAbandoned(each) || each.isWait ? [] : each.name))
  }

  /** Whether the code of the run has ended and only waits are left. Their ends are no longer needed, so they are given up. */
  get waitsOnly(): boolean {
    if (!this.#isBodyOver || this.#behind.size > 0) return false
    return [...this.#underWay.values()].every(({ isWait }) => isWait === true)
  }

  /**
   * Resolves when no call is active, and waits are given up. Failures of calls that the code let go of (for example, in a race) are ignored; the first failure of
   * a call whose result the code already reads in parts is returned.
   */
  async settled(): Promise<unknown> {
    this.#isBodyOver = true
    this.order.plan()
    let failure: unknown
    for (;;) {
      if (this.#underWay.size + this.#behind.size === 0) {
        // Code that has just been given an outcome may go on.
        await nextTurn()
        if (this.#underWay.size + this.#behind.size === 0) return failure
      }
      if (this.waitsOnly) {
        this.order.look()
        // What follows the end of one may be more than waits.
        await Promise.race([...this.#underWay.keys()].map((wait) => wait.catch(() => undefined)))
        continue
      }
      const going = [...this.#underWay].filter(([, { isWait }]) => isWait !== true)
      for (const [i, result] of (await Promise.allSettled(going.map(([call]) => call))).entries()) {
        const [, what] = going[i] ?? []
        const isTold = what?.isEarly !== true || isAbandoned(what)
        if (result.status === 'rejected' && !isTold) failure ??= result.reason
      }
      await Promise.allSettled(this.#behind)
    }
  }
}

function faultOf(check: () => void): Error | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new TypeError(String(error))
  }
}

/** The connection of a live session; throws for a replay. */
export function liveOf(session: Session): NonNullable<Session['live']> {
  if (session.live === undefined) throw new AgentError('replay-diverged', 'a replay carries nothing out')
  return session.live
}

/** Returns the answer. If the ledger is unreachable or cannot serve the request now, the error also halts the run. */
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
