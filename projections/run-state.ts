/**
 * @module The state of a run, on which decisions are based. It is plain JSON, so that it can be cached, and contains no results or payloads
 * except the established context, so that it does not grow with the content that agents record (STR-6).
 */
import type { CallStatus } from '../schemas/call-status.ts'
import type { EventBody } from '../schemas/events.ts'
import type { ForkBranch, JoinStrategy, OnDiscard } from '../schemas/fork.ts'
import type { JsonObject } from '../schemas/json.ts'
import type { Move } from '../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../schemas/policy.ts'
import type { RunStatus, StuckState } from '../schemas/run-status.ts'
import type { BudgetLimits, ManifestBody, OnUnknown, Phase } from '../schemas/values.ts'
import type { ApprovalState } from './approval-state.ts'
import type { SuspectState } from './suspect-state.ts'
import type { HeldSignal, WaitState } from './wait-state.ts'

export const RUN_PROJECTION_VERSION = 17

/** SHA-256 over the JCS bytes of `{}`: the context of a run before its first handoff. */
export const EMPTY_CONTEXT_DIGEST = 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'

/** Maximum number of refusals recorded within `REFUSAL_WINDOW_MS`. */
export const REFUSALS_PER_WINDOW = 20

/** Names come from callers; the prefix keeps `__proto__` and integer-like names from having a special meaning in an object. */
export type Slots<T> = { [name: string]: T }
export const safeKey = (name: string): string => `$${name}`

const UNDOING: ReadonlySet<CallStatus> = new Set<CallStatus>([
  'compensating',
  'compensated',
  'compensation-failed',
  'compensation-unknown',
])

/** Whether a rollback has started to undo the call; the status is then that of the rollback. */
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
  /** Revision of the latest claim, whose event holds the arguments. */
  claimRevision: number
  /** Revision of the latest outcome, whose event holds the result or the error. */
  outcomeRevision?: number
  status: CallStatus
  attempt: number
  fence: number
  leaseMs: number
  leaseUntil: string
  /** The process that holds the lease, until the lease ends. */
  owner?: string
  /** A resume ended the lease. */
  takenOver?: true
  reservationId?: string
  /** The approval that the call used, if it needed one. */
  approvalId?: string
  /** A late settle under an older fence arrived: the effect may have happened twice. */
  possiblyTwice?: boolean
  /** The latest outcome is in doubt, even during a compensation, so a later outcome is still accepted. */
  unknownOutcome?: boolean
  /** The call was undone as far as possible, but some effects remain. */
  leftStanding?: true
  /** The recorded outcome comes from a manual resolution. */
  resolved?: true
  /** A failed compensation that its caller will retry. */
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

/** A place that an agent declared as moving, and the step of that handoff. */
export interface DeclaredMove extends Pick<Move, 'path' | 'as' | 'by'> {
  readonly reason: string
  readonly agent: string
  readonly step: number
}

/** An established context; step 0 is the empty one of RunStarted. */
export interface EstablishedStep {
  readonly step: number
  readonly revision: number
  readonly eventId: string
  readonly agent: string
  readonly context: string
  /** Digest of its event, taken from the `prev` of the next event. */
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
  /** Revision of the branch's report, whose event holds the output. */
  revision?: number
  /** Digest of the report, by which a repeated report is recognised. */
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
  /** Names of the branches with a valid output, in order of arrival. */
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
  /** The actor that registered the manifest, and its principal. */
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
  /** The run's keys were disclosed; no event may follow. */
  disclosed?: true
  /** Verdict of the last rollback of the whole run. */
  compensation?: EventBody<'RunCompensated'>['status']
  /** Increased by each resume. */
  fence: number
  /** Version of the code that the first worker of the run had. */
  version?: string
  /** The code of the last worker could not carry the run on. */
  stuck?: StuckState
  /** The fence of the life that was left as stuck; a later one is trying again. */
  stuckFence?: number
  context: JsonObject
  contextDigest: string
  /** Highest step ever assigned; steps are never reused. */
  step: number
  /** The steps that led to the current context, oldest first. */
  lineage: EstablishedStep[]
  /** The last accepted handoff, or the state from which the run was started or to which it was rolled back; in a run of 0.1.0, the last SnapshotTaken. */
  snapshot: {
    readonly step: number
    readonly revision: number
    readonly contextDigest: string
    readonly context: JsonObject
  }
  /** Moves that agents declared, in the order of their handoffs; replaced by a new list at each change. */
  declared: readonly DeclaredMove[]
  /** Unexplained changes of accepted handoffs, oldest first, including closed ones, which a rollback may reopen. */
  suspects: SuspectState[]
  /** A judge's last verdict on an accepted handoff. */
  judgement?: Pick<EventBody<'JudgementRecorded'>, 'step' | 'verdict' | 'reason' | 'findings'>
  rejections: number
  rewinds: number
  agents: Slots<true>
  manifests: Slots<ManifestState>
  calls: Slots<CallState>
  /** `phase key` -> callId of the newest generation. */
  callKeys: Slots<string>
  /** All forward calls in order of their first claim. */
  forwardOrder: string[]
  /** Calls that are claimed or in doubt, in order of claim. */
  openCalls: Slots<true>
  approvals: Slots<ApprovalState>
  /** `phase key` -> id of the newest approval. */
  approvalKeys: Slots<string>
  /** Approvals that can still be decided, in order of request. */
  pendingApprovals: Slots<true>
  waits: Slots<WaitState>
  /** Key of the place -> id of its wait. */
  waitKeys: Slots<string>
  /** Open waits, oldest first. */
  openWaits: Slots<true>
  /** Signals held for later waits, oldest first. */
  heldSignals: Slots<HeldSignal>
  compensations: CompensationState[]
  forks: Slots<ForkState>
  /** The fork that has not been joined; while it is open, nothing else changes the context. */
  openFork?: string
  /** Scope of a branch -> its fork. */
  forkScopes: Slots<string>
  /** Calls that ran but whose results could not be recorded. */
  unrecorded: Slots<true>
  branchOf?: NonNullable<EventBody<'RunStarted'>['branchOf']>
  /** The call of another run that this run executes. */
  childOf?: NonNullable<EventBody<'RunStarted'>['childOf']>
  /** Child runs, by the id of the call that they execute. */
  children: Slots<string>
  /** Runs that were started from steps of this one. */
  branches: Slots<BranchRun>
  reservations: Slots<ReservationState>
  openReservations: Slots<true>
  spend: Spend
  spendByAgent: Slots<Spend>
  /**
   * Agents that made a model call since their last envelope, whose `tokens` are therefore already charged. Model calls without an agent
   * have an empty name and count for the next envelope of any agent.
   */
  modelCallers: Slots<true>
  requests: Slots<number>
  refusals: Slots<number>
  refusalTimes: string[]
  signatures: Slots<true>
}

export const zeroSpend = (): Spend => ({ tokens: 0, cost: '0', reservedTokens: 0, reservedCost: '0' })

/** Digest of the event that established the current context; `headDigest` is the digest of the stream's last event. */
export function establishedDigest(state: RunState, headDigest: string): string {
  return state.lineage.at(-1)?.digest ?? headDigest
}

/** The step that established the current context; 0 before the first handoff. */
export function lastStep({ lineage }: RunState): number {
  return lineage.at(-1)?.step ?? 0
}

export function callByKey(state: RunState, phase: Phase, key: string): CallState | undefined {
  const callId = state.callKeys[safeKey(`${phase} ${key}`)]
  return callId === undefined ? undefined : state.calls[safeKey(callId)]
}

/** Records signed content as used, so that it is accepted only once: by its digest, or in records of 0.1.0 by the signature itself. */
export function foldSigned(
  state: RunState,
  data: { readonly signature?: string | undefined; readonly signed?: string | undefined },
): void {
  const used = data.signed ?? data.signature
  if (used !== undefined) state.signatures[safeKey(used)] = true
}
