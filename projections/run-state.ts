/**
 * @module The state of a run: what decisions are made on. JSON throughout, so that it can be cached, and free of results and
 * payloads but for the established context: it does not grow with what agents record (STR-6).
 */
import type { CallStatus } from '../schemas/call-status.ts'
import type { EventBody } from '../schemas/events.ts'
import type { ForkBranch, JoinStrategy, OnDiscard } from '../schemas/fork.ts'
import type { JsonObject } from '../schemas/json.ts'
import type { Move } from '../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../schemas/policy.ts'
import type { RunStatus } from '../schemas/run-status.ts'
import type { BudgetLimits, ManifestBody, OnUnknown, Phase } from '../schemas/values.ts'
import type { ApprovalState } from './approval-state.ts'
import type { SuspectState } from './suspect-state.ts'
import type { HeldSignal, WaitState } from './wait-state.ts'

export const RUN_PROJECTION_VERSION = 14

/** SHA-256 over the JCS bytes of `{}`: the context of a run that has not been handed anything. */
export const EMPTY_CONTEXT_DIGEST = 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'

/** Refusals are recorded at most this often in a window of `REFUSAL_WINDOW_MS`. */
export const REFUSALS_PER_WINDOW = 20

/** Names come from callers; the mark keeps `__proto__` and integer-like names from meaning anything to an object. */
export type Slots<T> = { [name: string]: T }
export const safeKey = (name: string): string => `$${name}`

const UNDOING: ReadonlySet<CallStatus> = new Set<CallStatus>([
  'compensating',
  'compensated',
  'compensation-failed',
  'compensation-unknown',
])

/** A rollback has taken the call in hand: its status tells how far that is. */
export function isUndoing(status: CallStatus): boolean {
  return UNDOING.has(status)
}

export interface CallState {
  readonly callId: string
  readonly key: string
  readonly tool: string
  readonly phase: Phase
  readonly argsDigest: string
  readonly onUnknown: OnUnknown
  readonly generation: number
  readonly agent?: string
  readonly scope?: string
  readonly occurrence?: number
  readonly group?: string
  readonly parentCall?: string
  readonly compensate?: EventBody<'ToolCallClaimed'>['compensate']
  readonly compensateUnknown?: boolean
  readonly compensateFailed?: boolean
  readonly compensates?: string
  /** Revision of the latest claim, where the arguments stand. */
  claimRevision: number
  /** Revision of the latest outcome, where the result or the error stands. */
  outcomeRevision?: number
  status: CallStatus
  attempt: number
  fence: number
  leaseMs: number
  leaseUntil: string
  /** Who holds the lease, until it ends. */
  owner?: string
  /** A resume ended the lease. */
  takenOver?: true
  reservationId?: string
  /** The approval that it uses up, where it needed one. */
  approvalId?: string
  /** A late settle under an older fence arrived: its effect may have happened twice. */
  possiblyTwice?: boolean
  /** In doubt when last heard of, also while it is being undone: its outcome is still welcome. */
  unknownOutcome?: boolean
  /** Undone as far as it can be: some of it stands. */
  leftStanding?: true
  /** Somebody resolved how it ended: the outcome on record is theirs. */
  resolved?: true
  /** A failed compensation that its caller will try again. */
  willRetry?: boolean
}

export interface ReservationState {
  readonly reservationId: string
  readonly agent: string
  readonly tokens: number
  readonly cost: string
  readonly deadline: string
  readonly callId?: string
  status: 'open' | 'settled' | 'released' | 'expired'
}

/** Totals of a run or an agent. `cost` and `reservedCost` are decimal strings. */
export interface Spend {
  tokens: number
  cost: string
  reservedTokens: number
  reservedCost: string
}

/** A place that an agent declared to move, and the step whose handoff says so. */
export interface DeclaredMove extends Pick<Move, 'path' | 'as' | 'by'> {
  readonly reason: string
  readonly agent: string
  readonly step: number
}

/** A context that was established: step 0 is the empty one of RunStarted. */
export interface EstablishedStep {
  readonly step: number
  readonly revision: number
  readonly eventId: string
  readonly agent: string
  readonly context: string
  /** Digest of its event; known from the `prev` of the event after it. */
  digest?: string
}

export interface CompensationState {
  readonly compensationId: string
  readonly scope?: string
  readonly revision: number
  ended: boolean
}

/** `offered`: a valid output that waits for the join. */
export type BranchStatus = 'running' | 'offered' | 'merged' | 'discarded' | 'aborted' | 'failed' | 'refused'

export interface BranchState extends ForkBranch {
  status: BranchStatus
  /** Revision of its report, where its output stands. */
  revision?: number
  /** Digest of the report, by which a repeat is known. */
  report?: string
  output?: string
  confidence?: number
  score?: number
}

export interface ForkState {
  readonly forkId: string
  readonly agent: string
  readonly step: number
  readonly context: string
  readonly parent: string
  readonly join: JoinStrategy
  readonly onDiscard: OnDiscard
  readonly requestDigest: string
  readonly revision: number
  /** In declared order. */
  readonly branches: BranchState[]
  /** Names of the branches with a valid output, in the order in which they came. */
  readonly offers: string[]
  outcome?: EventBody<'ForkJoined'>['outcome']
  joinRevision?: number
}

/** A run that was started from a step of this one. */
interface BranchRun {
  readonly run: string
  readonly atStep: number
  readonly revision: number
}

export interface ManifestState {
  readonly agent: string
  readonly hash: string
  readonly revision: number
  /** Who set it, on whose behalf. */
  readonly setBy: { readonly actor: string; readonly principal?: string }
  readonly manifest: ManifestBody
}

export interface RunState {
  runId: string
  tenant: string
  revision: number
  time: string
  name: string
  actor: string
  principal?: string
  startedAt: string
  tags: readonly string[]
  requestDigest: string
  policy: ResolvedPolicy
  limits: BudgetLimits
  currency?: string
  status: RunStatus
  /** Revision of the event that completed or failed the run. */
  endRevision?: number
  /** The run's keys were given away: nothing may follow. */
  disclosed?: true
  /** Verdict of the last rollback of the whole run. */
  compensation?: EventBody<'RunCompensated'>['status']
  /** Raised by each resume. */
  fence: number
  context: JsonObject
  contextDigest: string
  /** Highest step ever assigned; never reused. */
  step: number
  /** The steps that lead to the context now, oldest first. */
  lineage: EstablishedStep[]
  /** The last accepted handoff, or where the run was started or rolled back to; in a run of 0.1.0, the last SnapshotTaken. */
  snapshot: {
    readonly step: number
    readonly revision: number
    readonly contextDigest: string
    readonly context: JsonObject
  }
  /** What agents declared to move, in the order of their handoffs: made anew with each change. */
  declared: readonly DeclaredMove[]
  /** Changes of accepted handoffs that nothing explained, oldest first; those that were closed as well, as a rollback may open them again. */
  suspects: SuspectState[]
  /** The last verdict of a judge on an accepted handoff. */
  judgement?: Pick<EventBody<'JudgementRecorded'>, 'step' | 'verdict' | 'reason' | 'findings'>
  rejections: number
  rewinds: number
  agents: Slots<true>
  manifests: Slots<ManifestState>
  calls: Slots<CallState>
  /** `phase key` -> callId of its newest generation. */
  callKeys: Slots<string>
  /** Every forward call in order of its first claim. */
  forwardOrder: string[]
  /** Calls claimed or in doubt, in order of claim. */
  openCalls: Slots<true>
  approvals: Slots<ApprovalState>
  /** `phase key` -> the newest approval for it. */
  approvalKeys: Slots<string>
  /** Approvals that somebody can still decide, in order of request. */
  pendingApprovals: Slots<true>
  waits: Slots<WaitState>
  /** Key of the place -> its wait. */
  waitKeys: Slots<string>
  /** Waits that have not ended, oldest first. */
  openWaits: Slots<true>
  /** Signals for waits to come, oldest first. */
  heldSignals: Slots<HeldSignal>
  compensations: CompensationState[]
  forks: Slots<ForkState>
  /** The fork that has not been joined: as long as it is open, nothing else changes the context. */
  openFork?: string
  /** Scope of a branch -> its fork. */
  forkScopes: Slots<string>
  /** Calls that ran and whose results could not be recorded. */
  unrecorded: Slots<true>
  branchOf?: NonNullable<EventBody<'RunStarted'>['branchOf']>
  /** The call of another run that this run is the work of. */
  childOf?: NonNullable<EventBody<'RunStarted'>['childOf']>
  /** Runs that are the work of calls of this one, by the id of the call. */
  children: Slots<string>
  /** Runs that were started from steps of this one. */
  branches: Slots<BranchRun>
  reservations: Slots<ReservationState>
  openReservations: Slots<true>
  spend: Spend
  spendByAgent: Slots<Spend>
  /**
   * Agents that made a model call since their last envelope: its `tokens` are charged already. Model calls of nobody in particular
   * stand under the empty name and count for the next envelope of anybody.
   */
  modelCallers: Slots<true>
  requests: Slots<number>
  refusals: Slots<number>
  refusalTimes: string[]
  signatures: Slots<true>
}

export const zeroSpend = (): Spend => ({ tokens: 0, cost: '0', reservedTokens: 0, reservedCost: '0' })

/** Digest of the event whose context is established now; `headDigest` is the digest of the stream's last event. */
export function establishedDigest(state: RunState, headDigest: string): string {
  return state.lineage.at(-1)?.digest ?? headDigest
}

/** The step whose context is established now; 0 before the first handoff. */
export function lastStep({ lineage }: RunState): number {
  return lineage.at(-1)?.step ?? 0
}

export function callByKey(state: RunState, phase: Phase, key: string): CallState | undefined {
  const callId = state.callKeys[safeKey(`${phase} ${key}`)]
  return callId === undefined ? undefined : state.calls[safeKey(callId)]
}

/** What an agent signed is used once: by its digest, in records of 0.1.0 by the signature itself. */
export function foldSigned(
  state: RunState,
  data: { readonly signature?: string | undefined; readonly signed?: string | undefined },
): void {
  const used = data.signed ?? data.signature
  if (used !== undefined) state.signatures[safeKey(used)] = true
}
