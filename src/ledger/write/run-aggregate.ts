/**
 * @module A run kept folded in memory. Its state runs ahead of the disk: a decision may build on appends that still wait. When one of
 * them fails the cached run is dead, and whoever built on it decides again from what the store holds.
 */
import { randomInt } from 'node:crypto'
import { eachOf } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import { evolveRun } from '../../../projections/run.ts'
import type { RunState } from '../../../projections/run-state.ts'
import type { RunEventType } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { type Evidence, emptyEvidence, evidenceBytes } from '../../domain/validator/evidence.ts'
import { weigh, weighAfter } from '../../resources/memory-budget.ts'
import type { MemberTexts } from '../../signing/canonical-json.ts'
import type { Append, AppendResult, EventStore } from '../../store/event-store.ts'
import { RecentAnswers } from './recent-answers.ts'
import { foldResults } from './recorded-results.ts'

/** The chain's end: what the next event is linked to. */
export interface Head {
  readonly revision: number
  readonly digest: string
  readonly time: string
  readonly ringIndex: number
}

/** What a run takes beside its context and evidence, before its first event. */
const RUN_BYTES = 8_192

/** What comes after it comes in the same turn, behind what waits already. */
const SETTLED = Promise.resolve()

/** Where a run stands that has no append under way. */
export interface RunEnd {
  readonly dead: boolean
  readonly revision: number
}

/** Of the established context, and of that and the one of the last snapshot together. */
interface Weighed {
  readonly context: JsonObject | undefined
  readonly snapshot: JsonObject | undefined
  readonly contextBytes: number
  readonly bytes: number
}

function weighedAfter(before: Weighed, context: JsonObject | undefined, snapshot: JsonObject | undefined): Weighed {
  const isFirst = context === undefined || before.context === undefined
  const contextBytes = isFirst ? weigh(context) : weighAfter(context, before.context, before.contextBytes)
  return { context, snapshot, contextBytes, bytes: contextBytes + (context === snapshot ? 0 : weigh(snapshot)) }
}

type AppendStore = Pick<EventStore, 'append' | 'exclusive'>

export type FollowedResult =
  | AppendResult
  /** Not handed over: an append that it was built on failed. */
  | { readonly kind: 'not-sent' }

export class RunAggregate {
  readonly tenant: string
  readonly runId: string
  readonly stream: string
  state: RunState | undefined
  evidence: Evidence = emptyEvidence(randomInt(2 ** 31))
  head: Head | undefined
  /** Revision up to which a cached fold of this run is kept. */
  cachedRevision = -1
  /** Of the state but for its contexts: estimated event by event, and set right whenever the whole state is measured. */
  stateBytes = RUN_BYTES
  /** What the cache of runs counts it as. */
  keptBytes = 0
  readonly answers = new RecentAnswers()
  /** Of the context, where it was written by this process. */
  memberTexts: MemberTexts | undefined
  #weighed: Weighed = { context: undefined, snapshot: undefined, contextBytes: 0, bytes: 0 }
  /** Until it resolves, a decision on this run is being made in pieces, and no other may be begun. */
  paused: Promise<void> | undefined
  /** Called by itself, soon after the last append under way is settled, where no other is under way by then. It is passed what it needs, and need not ask back. */
  onIdle: ((end: RunEnd) => void) | undefined
  #dead = false
  readonly #underWay = new Set<Promise<FollowedResult>>()
  /** The append that was handed over last. */
  #last: Promise<FollowedResult> | undefined

  constructor(tenant: string, runId: string) {
    this.tenant = tenant
    this.runId = runId
    this.stream = runStream(tenant, runId)
  }

  get dead(): boolean {
    return this.#dead
  }

  get idle(): boolean {
    return this.#underWay.size === 0
  }

  get revision(): number {
    return this.head?.revision ?? -1
  }

  /** An upper estimate of the memory this run takes; of a context only what is new in it is walked. */
  get bytes(): number {
    const { context, snapshot } = this.state ?? {}
    if (context !== this.#weighed.context || snapshot?.context !== this.#weighed.snapshot)
      this.#weighed = weighedAfter(this.#weighed, context, snapshot?.context)
    return (
      this.stateBytes +
      this.#weighed.bytes +
      evidenceBytes(this.evidence) +
      this.answers.bytes +
      (this.memberTexts?.bytes ?? 0)
    )
  }

  fold(event: RecordedEvent): void {
    const context = this.state?.context
    this.state = evolveRun(this.state, event)
    this.stateBytes += stateBytesOf(event)
    const { policy } = this.state
    // The rules of relay ask nothing of it.
    if (policy.base === 'relay' && policy.ungrounded === 'off') return
    foldResults(this.evidence, event, { state: this.state, before: context ?? {} })
  }

  /**
   * Hands an append over and follows it to its outcome; anything but `appended` ends this cached run. It is handed over while those before it
   * still wait only to a store which nobody else writes: elsewhere another writer's event may stand in the place of the one that failed, and
   * what was built on that one would be appended to a stranger's, its link broken for good.
   */
  append(store: AppendStore, append: Append): Promise<FollowedResult> {
    const earlier = store.exclusive === true || this.idle ? undefined : this.#last
    const settled = (earlier === undefined ? store.append(append) : this.#inTurn(earlier, store, append)).then(
      (result) => {
        this.#settled(settled, result.kind === 'appended')
        return result
      },
      (error: unknown) => {
        this.#settled(settled, false)
        throw error
      },
    )
    this.#underWay.add(settled)
    this.#last = settled
    return settled
  }

  /** In one step: a run that seems idle before it is known to be dead would take an append onto what was never written. */
  #settled(settled: Promise<FollowedResult>, appended: boolean): void {
    this.#underWay.delete(settled)
    if (!appended) this.#dead = true
    if (this.onIdle !== undefined && this.idle) void SETTLED.then(() => this.#sayIdle())
  }

  #sayIdle(): void {
    if (this.idle) this.onIdle?.({ dead: this.#dead, revision: this.revision })
  }

  /** After the one before it, which came after all others. */
  async #inTurn(earlier: Promise<FollowedResult>, store: AppendStore, append: Append): Promise<FollowedResult> {
    await earlier.catch(() => undefined)
    return this.#dead ? { kind: 'not-sent' } : store.append(append)
  }

  /** Resolves once everything the state holds now is durable: true; or false where some of it never will be. */
  async durable(): Promise<boolean> {
    // Answers may come out of order: each is waited for.
    if (!this.#dead) await Promise.allSettled(this.#underWay)
    return !this.#dead
  }

  /** Holds decisions up until the result is called. */
  pause(): () => void {
    let goOn = (): void => {}
    this.paused = new Promise((resolve) => {
      goOn = resolve
    })
    return () => {
      this.paused = undefined
      goOn()
    }
  }

  /** Ends this cached run: nothing is decided on it any more. */
  kill(): void {
    this.#dead = true
  }

  /** Resolves when no append is under way: only then may the stream be loaded again. */
  async drained(): Promise<void> {
    while (!this.idle) await Promise.allSettled(this.#underWay)
  }
}

// What an event leaves in the state of its run, in bytes of memory.
const EVENT_BYTES = 300
const CALL_BYTES = 1_500

/** `whole`: beside what any event leaves, the body itself. */
const LEFT_BYTES = {
  ...eachOf(0, 'UsageRecorded', 'ToolCallLeaseRenewed', 'SnapshotTaken'),
  ...eachOf(0, 'ToolDefinitionsSeen', 'CaptureGap'),
  ...eachOf(CALL_BYTES, 'ToolCallClaimed', 'CompensationStarted'),
  ...eachOf(
    'whole',
    'RedactionChanged',
    'ApprovalDenied',
    'JudgementRecorded',
    'SuspectReviewed',
    'ManifestRegistered',
    'ForkStarted',
  ),
  ...eachOf(
    EVENT_BYTES,
    'RunStarted',
    'RunResumed',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunCompensated',
  ),
  ...eachOf(EVENT_BYTES, 'RunKeyDisclosed', 'RequestRefused', 'EnvelopeAccepted', 'EnvelopeRejected', 'RunRewound'),
  ...eachOf(EVENT_BYTES, 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved'),
  ...eachOf(EVENT_BYTES, 'ResultNotRecorded', 'CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt'),
  ...eachOf(CALL_BYTES, 'ApprovalRequested', 'WaitStarted'),
  ...eachOf(
    EVENT_BYTES,
    'ApprovalGranted',
    'ApprovalWithdrawn',
    'ApprovalExpired',
    'SignalReceived',
    'SignalPassedOver',
    'WaitEnded',
  ),
  ...eachOf(EVENT_BYTES, 'BudgetReserved', 'BudgetReleased', 'ReservationExpired', 'BudgetExceeded'),
  ...eachOf(EVENT_BYTES, 'BranchOffered', 'BranchReceived', 'ForkJoined'),
} satisfies Record<RunEventType, number | 'whole'>

/** Arguments, results and payloads do not stay in the state; what an agent registers does, whole. */
export function stateBytesOf({ type, data }: RecordedEvent): number {
  const left = LEFT_BYTES[type]
  return left === 'whole' ? EVENT_BYTES + weigh(data) : left
}
