/**
 * @module A folded run in memory. Its state is ahead of the disk: a decision may build on pending appends. If one of them fails, the cached run is
 * dead, and decisions that built on it are made again from the contents of the store.
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

/** End of the hash chain, to which the next event is linked. */
export interface Head {
  readonly revision: number
  readonly digest: string
  readonly time: string
  readonly ringIndex: number
}

/** Bytes of a run without its context and evidence, before its first event. */
const RUN_BYTES = 8_192

/** A continuation of this promise runs in the same turn, after the microtasks already queued. */
const SETTLED = Promise.resolve()

/** State of a run without pending appends. */
export interface RunEnd {
  readonly dead: boolean
  readonly revision: number
}

/** Sizes of the established context, and of that context together with the context of the last snapshot. */
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
  /** Not handed over, because an append that it was built on failed. */
  | { readonly kind: 'not-sent' }

export class RunAggregate {
  readonly tenant: string
  readonly runId: string
  readonly stream: string
  state: RunState | undefined
  evidence: Evidence = emptyEvidence(randomInt(2 ** 31))
  head: Head | undefined
  /** Revision up to which a fold of this run is cached. */
  cachedRevision = -1
  /** Size of the state without its contexts: estimated event by event, and corrected whenever the whole state is measured. */
  stateBytes = RUN_BYTES
  /** Size with which the cache of runs counts this run. */
  keptBytes = 0
  readonly answers = new RecentAnswers()
  /** Texts of the members of the context, if this process wrote it. */
  memberTexts: MemberTexts | undefined
  #weighed: Weighed = { context: undefined, snapshot: undefined, contextBytes: 0, bytes: 0 }
  /** Until this resolves, a decision that yields on this run is in progress, and no other may begin. */
  paused: Promise<void> | undefined
  /**
   * Called automatically soon after the last pending append has settled, unless another one is pending by then. Its argument has all it needs, so it
   * need not access the run.
   */
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

  /** Upper estimate of the memory of this run in bytes; only new parts of a context are walked. */
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
    // The rules of the relay policy need no evidence.
    if (policy.base === 'relay' && policy.ungrounded === 'off') return
    foldResults(this.evidence, event, { state: this.state, before: context ?? {} })
  }

  /**
   * Hands an append over and follows it to its result; any result but `appended` ends this cached run. An append is handed over while earlier ones
   * are pending only if no other process writes to the store. Otherwise another writer's event may take the place of a failed one, and the next
   * append would follow a foreign event with its link broken for good.
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

  /** In one step: a run that appears idle before it is known to be dead would accept an append after an event that was never written. */
  #settled(settled: Promise<FollowedResult>, appended: boolean): void {
    this.#underWay.delete(settled)
    if (!appended) this.#dead = true
    if (this.onIdle !== undefined && this.idle) void SETTLED.then(() => this.#sayIdle())
  }

  #sayIdle(): void {
    if (this.idle) this.onIdle?.({ dead: this.#dead, revision: this.revision })
  }

  /** Waits for the previous append, which itself waited for all earlier ones. */
  async #inTurn(earlier: Promise<FollowedResult>, store: AppendStore, append: Append): Promise<FollowedResult> {
    await earlier.catch(() => undefined)
    return this.#dead ? { kind: 'not-sent' } : store.append(append)
  }

  /** Resolves to true once everything in the current state is durable, or to false if a part of it never will be. */
  async durable(): Promise<boolean> {
    // Results may arrive out of order, so each one is awaited.
    if (!this.#dead) await Promise.allSettled(this.#underWay)
    return !this.#dead
  }

  /** Blocks decisions until the returned function is called. */
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

  /** Ends this cached run: no further decision is made on it. */
  kill(): void {
    this.#dead = true
  }

  /** Resolves when no append is pending; the stream must not be loaded again before that. */
  async drained(): Promise<void> {
    while (!this.idle) await Promise.allSettled(this.#underWay)
  }
}

// What an event adds to the state of its run, in bytes of memory.
const EVENT_BYTES = 300
const CALL_BYTES = 1_500

/** `whole`: the body itself is added to what any event adds. */
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
    'RunLeft',
    'RunCarried',
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

/** Arguments, results and payloads do not stay in the state; what an agent registers stays in full. */
export function stateBytesOf({ type, data }: RecordedEvent): number {
  const left = LEFT_BYTES[type]
  return left === 'whole' ? EVENT_BYTES + weigh(data) : left
}
