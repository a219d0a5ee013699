/** @module A run's record as the runtime needs it: calls with all outcomes in order, rollbacks, and the end. A pure fold. */
import { eachOf, ignore } from '../../../projections/fold-table.ts'
import type { LedgerErrorCode } from '../../../schemas/error-code.ts'
import type { EventBody, RunEventType } from '../../../schemas/events.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { ANSWERS_TO_CODE, toldRefusal } from '../../../schemas/refused-request.ts'
import type { BudgetLimits, Failure, ValueRef } from '../../../schemas/values.ts'
import { foldForks, type RecordedFork } from '../fork/recorded-forks.ts'
import { foldHandoffs, noHandoffs, type RecordedHandoffs } from '../pipeline/recorded-handoffs.ts'
import type { Problem, RunEvent } from '../runtime/connection.ts'
import { budgetRefusal } from './budget-refusal.ts'
import { isOutcome, OUTCOME_TYPES, outcomeOf, type RecordedOutcome } from './recorded-outcome.ts'
import { endWait, recordedWait, waitOutcome } from './recorded-waits.ts'
import { redactedParts } from './redacted-parts.ts'

export interface RecordedAttempt {
  readonly claimedAt: string
  endedAt?: string
  /** Number of events that had been recorded by then. */
  endedAfter?: number
  /** Undefined if the process died first. */
  outcome?: RecordedOutcome
}

export interface RecordedCall {
  readonly callId: string
  readonly key: string
  readonly tool: string
  readonly phase: 'forward' | 'compensation' | 'model'
  /** The arguments, or a reference to them if they are stored outside the events. */
  readonly args: Json
  readonly argsDigest: string
  readonly compensate: 'none' | 'not-needed' | { readonly tool: string } | undefined
  readonly scope: string | undefined
  readonly occurrence: number
  readonly parentCall: string | undefined
  /** Number of events that had been recorded when the code requested the call. */
  readonly requestedAfter: number
  /** Set if the call was claimed later than it was requested. */
  readonly isLate?: true
  /** The run that the call was made in: a branch, or the run that it branched from. */
  readonly runId: string
  readonly attempts: RecordedAttempt[]
  /** The arguments with which a branch claimed a call that it inherits. */
  again?: Pick<RecordedCall, 'args' | 'argsDigest'>
  /** The result of compensating the call, if that was attempted. */
  undone?: 'compensated' | 'failed' | 'unknown'
  /** When the compensation was recorded, and how many events had been recorded by then. */
  undoneAt?: string
  undoneAfter?: number
  /** The call was undone as far as possible; some of its effects remain. */
  leftStanding?: boolean
}

/** A claim that the budget refused. */
export interface RecordedRefusal {
  readonly refusal: Problem
  /** Number of events that had been recorded with the refusal. */
  readonly after: number
  /** Attempts of the call that had been recorded by then. */
  readonly afterAttempts: number
}

/** A call that was requested, needs an approval and was not made: it has no attempts. */
export interface RecordedApproval {
  readonly call: RecordedCall
  readonly onDenied: 'error' | 'rollback'
  /** Set if the approval was denied or expired, with the number of events that had been recorded with that. */
  refusal?: Problem
  refusedAfter?: number
}

type Denial = { readonly code: LedgerErrorCode; readonly detail: string; readonly comment: string | null }

export interface RecordedRollback {
  readonly scope: string | undefined
  /** Number of events that had been recorded with its start. */
  readonly after: number
  readonly reason: string
  /** For a run within a run: the error that its code ended with. */
  readonly error?: Failure
}

/** Calls and rolled-back scopes among the first `until` events of the run that a branch left. */
interface Inherited {
  readonly until: number
  readonly calls: ReadonlySet<string>
  readonly scopes: ReadonlySet<string>
}

type RecordedEnd =
  | { readonly kind: 'completed'; readonly output: Json; readonly outputRef?: ValueRef }
  | { readonly kind: 'failed'; readonly error: Failure }
  | { readonly kind: 'compensated'; readonly status: EventBody<'RunCompensated'>['status'] }

export interface RecordedRun {
  /** The run whose events are being folded. */
  runId: string
  name: string
  startedAt: string
  input: Json
  /** Budget limits that the run was started with. */
  budget?: BudgetLimits
  /** Reference to the input, if that is stored outside the events. */
  inputRef?: ValueRef
  events: number
  readonly calls: Map<string, RecordedCall>
  /** Forward and model calls by key, oldest generation first. */
  readonly byKey: Map<string, RecordedCall[]>
  readonly refusals: Map<string, readonly RecordedRefusal[]>
  /** Other refusals that the code received, by the digest of the request (`requestMark`). */
  readonly refused: Map<string, readonly Pick<RecordedRefusal, 'refusal' | 'after'>[]>
  /** Calls that waited or wait for an approval and were not made, by key: the newest of each. */
  readonly approvals: Map<string, RecordedApproval>
  /** Waits for signals and times, each represented as a call. */
  readonly waits: Map<string, RecordedCall>
  /** Payloads of signals that arrived before their wait. */
  readonly heldSignals: Map<string, Json>
  /** Parts of the record in which the code had met a doubt that was then left: from there on, the code that has the outcome may go another way. */
  readonly doubts: { readonly from: number; readonly until: number }[]
  readonly rollbacks: RecordedRollback[]
  readonly handoffs: RecordedHandoffs
  readonly forks: RecordedFork[]
  /** Origin of the run, if it is a branch. */
  branchOf?: EventBody<'RunStarted'>['branchOf']
  /** Parts removed by the redaction policy that the code received, or that identify a call. */
  readonly redacted: string[]
  /** Calls that were claimed again after the part that a branch inherits. */
  readonly reclaimed: Set<string>
  /** The part of the parent run's record that is served to a branch. */
  inherited?: Inherited
  end?: RecordedEnd
}

export function newRecord(): RecordedRun {
  return {
    runId: '',
    name: '',
    startedAt: '',
    input: null,
    events: 0,
    calls: new Map(),
    byKey: new Map(),
    refusals: new Map(),
    refused: new Map(),
    approvals: new Map(),
    waits: new Map(),
    heldSignals: new Map(),
    doubts: [],
    rollbacks: [],
    handoffs: noHandoffs({ criticalKeys: [] }),
    forks: [],
    redacted: [],
    reclaimed: new Set(),
  }
}

export async function readRun(events: AsyncIterable<RunEvent>): Promise<RecordedRun> {
  const run = newRecord()
  for await (const event of events) foldEvent(run, event)
  return run
}

/** Folds one event; an event of an unknown type is only counted. */
export function foldEvent(run: RecordedRun, event: RunEvent): void {
  run.events += 1
  if (!Object.hasOwn(FOLDS, event.type)) return
  // `FOLDS` pairs each type with the fold of its own body.
  run.redacted.push(...redactedParts(event.data))
  const fold = FOLDS[event.type as RunEventType] as ((run: RecordedRun, event: RunEvent, data: unknown) => void) | null
  fold?.(run, event, event.data)
}

type FoldOf<T extends RunEventType> = (run: RecordedRun, event: RunEvent, data: EventBody<T>) => void

const handoff = (run: RecordedRun, event: RunEvent): void => foldHandoffs(run.handoffs, event, run.events)
const fork = (run: RecordedRun, event: RunEvent): void => foldForks(run.forks, event, run.events)

const FOLDS = {
  ...ignore('RunResumed', 'RunLeft', 'RunCarried', 'RunBranched', 'ChildRunStarted', 'RedactionChanged'),
  ...ignore('RunKeyDisclosed', 'SnapshotTaken'),
  ...ignore('ToolCallLeaseRenewed', 'ResultNotRecorded', 'BudgetReserved', 'UsageRecorded', 'BudgetReleased'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap'),
  ...ignore('ReservationExpired', 'ApprovalGranted', 'ApprovalWithdrawn', 'SignalPassedOver'),
  ...ignore('SuspectReviewed'),
  ...eachOf(handoff, 'JudgementRecorded', 'ManifestRegistered', 'EnvelopeAccepted', 'EnvelopeRejected', 'RunRewound'),
  ...eachOf(fork, 'ForkStarted', 'BranchOffered', 'BranchReceived', 'ForkJoined'),
  ...eachOf(foldOutcome, ...OUTCOME_TYPES),
  RunStarted: (run, event, { name, input = null, inputRef, branchOf, budget }) => {
    run.name = name
    run.startedAt = event.time
    if (budget !== undefined) run.budget = budget
    run.input = input
    if (inputRef !== undefined) run.inputRef = inputRef
    run.branchOf = branchOf
    handoff(run, event)
  },
  ApprovalRequested: foldRequest,
  ApprovalDenied: (run, _, { approvalId, tool, comment = null }) =>
    refuseApproval(run, approvalId, { code: 'approval-denied', detail: `the approval of ${tool} was denied`, comment }),
  ApprovalExpired: (run, _, { approvalId, tool }) => {
    const detail = `the approval of ${tool} expired`
    refuseApproval(run, approvalId, { code: 'approval-expired', detail, comment: null })
  },
  WaitStarted: (run, { time }, data) => {
    const wait: RecordedCall = recordedWait(data, { runId: run.runId, time, after: run.events })
    run.waits.set(data.waitId, wait)
    run.byKey.set(slotOf('forward', wait.key), [wait])
  },
  SignalReceived: (run, { time }, { signalId, payload, waitId }) => {
    if (waitId === undefined) run.heldSignals.set(signalId, payload)
    else endWait(run.waits.get(waitId), { time, after: run.events, outcome: waitOutcome('signalled', payload) })
  },
  WaitEnded: (run, { time }, { waitId, outcome, signalId = '' }) => {
    const came = waitOutcome(outcome, run.heldSignals.get(signalId))
    endWait(run.waits.get(waitId), { time, after: run.events, outcome: came })
  },
  ToolCallClaimed: foldClaim,
  BudgetExceeded: foldRefusal,
  RequestRefused: (run, _, { code, detail, evidence = {}, fingerprint }) => {
    if (!ANSWERS_TO_CODE.has(code)) return
    const refusal = { code: code as LedgerErrorCode, ...toldRefusal(detail, evidence) }
    run.refused.set(fingerprint, [...(run.refused.get(fingerprint) ?? []), { refusal, after: run.events }])
  },
  CompensationStarted: (run, _, { scope, reason, error }) => {
    run.rollbacks.push({ scope, reason, ...(error && { error }), after: run.events })
  },
  RunCompleted: (run, _, { output = null, outputRef }) => {
    run.end = { kind: 'completed', output, ...(outputRef && { outputRef }) }
  },
  RunFailed: (run, _, { error }) => {
    run.end = { kind: 'failed', error }
  },
  RunCompensated: (run, _, { status }) => {
    run.end = { kind: 'compensated', status }
  },
} satisfies { readonly [T in RunEventType]: FoldOf<T> | null }

function foldRequest(run: RecordedRun, _: RunEvent, data: EventBody<'ApprovalRequested'>): void {
  const { approvalId, key, tool, phase, argsDigest, scope, occurrence = 0, parentCall, onDenied } = data
  const args = data.args ?? { argsRef: (data.argsRef as JsonObject | undefined) ?? null }
  const identity = { callId: approvalId, key, tool, phase, args, argsDigest, scope, occurrence, parentCall }
  run.approvals.set(slotOf(phase, key), {
    call: { ...identity, requestedAfter: run.events, runId: run.runId, compensate: undefined, attempts: [] },
    onDenied,
  })
}

function refuseApproval(run: RecordedRun, approvalId: string, { code, detail, comment }: Denial): void {
  const approval = [...run.approvals.values()].find(({ call }) => call.callId === approvalId)
  if (approval === undefined) return
  approval.refusedAfter = run.events
  approval.refusal = { code, detail, evidence: { approvalId, onDenied: approval.onDenied, comment } }
}

function foldClaim(run: RecordedRun, { time }: RunEvent, data: EventBody<'ToolCallClaimed'>): void {
  run.approvals.delete(slotOf(data.phase, data.key))
  const recorded = run.calls.get(data.callId)
  if (recorded !== undefined) {
    recorded.attempts.push({ claimedAt: time })
    return
  }
  const { callId, key, tool, phase, argsRef, argsDigest, compensate, scope, occurrence = 0 } = data
  const args = data.args ?? { argsRef: (argsRef as JsonObject | undefined) ?? null }
  const inherited = run.byKey.get(slotOf(phase, key))?.find((each) => run.inherited?.calls.has(each.callId))
  if (inherited !== undefined) {
    // A branch retries a call that had failed in the run that it left: the code sees one call.
    run.calls.set(callId, inherited)
    inherited.again ??= { args, argsDigest }
    inherited.attempts.push({ claimedAt: time })
    return
  }
  const parentCall = run.calls.get(data.parentCall ?? '')?.callId ?? data.parentCall
  const identity = { callId, key, tool, phase, args, argsDigest, compensate, scope, occurrence, parentCall }
  const isLate = data.after !== undefined && { isLate: true as const }
  const requested = { requestedAfter: requestedAfter(run, data), ...isLate, runId: run.runId }
  const call: RecordedCall = { ...identity, ...requested, attempts: [{ claimedAt: time }] }
  run.calls.set(callId, call)
  if (phase === 'compensation') return
  const slot = slotOf(phase, key)
  run.byKey.set(slot, [...(run.byKey.get(slot) ?? []), call])
}

/** A call that ran before it was claimed was requested right after the outcome that its code knew then. */
function requestedAfter({ events, inherited }: RecordedRun, { after }: EventBody<'ToolCallClaimed'>): number {
  return after === undefined ? events : Math.min(events, (inherited?.until ?? 0) + after)
}

function foldRefusal(run: RecordedRun, event: RunEvent, exceeded: EventBody<'BudgetExceeded'>): void {
  handoff(run, event)
  const { claim } = exceeded
  if (claim === undefined) return
  const slot = slotOf(claim.phase, claim.key)
  const attempts = run.byKey.get(slot)?.at(-1)?.attempts ?? []
  const refused = { after: run.events, afterAttempts: attempts.length, refusal: budgetRefusal(exceeded) }
  run.refusals.set(slot, [...(run.refusals.get(slot) ?? []), refused])
}

export const slotOf = (phase: string, key: string): string => `${phase} ${key}`

const UNDONE = {
  succeeded: 'compensated',
  failed: 'failed',
  unknown: 'unknown',
  'not-executed': 'failed',
} as const satisfies Record<RecordedOutcome['kind'], RecordedCall['undone']>

function foldOutcome(run: RecordedRun, { type, time, data }: RunEvent): void {
  const call = run.calls.get(String(data.callId))
  const attempt = call?.attempts.at(-1)
  const outcome = outcomeOf(type, data, attempt?.outcome)
  if (call === undefined || attempt === undefined || outcome === undefined) return
  const { endedAfter: from } = attempt
  const wasMet = attempt.outcome?.kind === 'unknown' && attempt.outcome.seen
  if (wasMet && outcome.kind === 'unknown' && !outcome.seen && from !== undefined)
    run.doubts.push({ from, until: run.events })
  attempt.outcome = outcome
  attempt.endedAt = time
  attempt.endedAfter = run.events
  const undone = run.calls.get(String(data.compensates ?? (call.phase === 'compensation' ? call.key : '')))
  const verdict = UNDONE[outcome.kind]
  if (undone !== undefined) {
    undone.undone = verdict
    undone.undoneAt = time
    undone.undoneAfter = run.events
    undone.leftStanding = data.leftStanding === true
  }
  if (type !== 'ToolCallResolved' || data.outcome !== 'compensated') return
  call.undone = 'compensated'
  call.undoneAt = time
  call.undoneAfter = run.events
}

/**
 * Folds the outcome of a call that was claimed within the inherited part of a branch and ended after it: the call must not run again. Later attempts, and
 * compensations of the call, belong to the other run alone.
 */
export function foldLateOutcome(run: RecordedRun, event: RunEvent): void {
  const callId = String(event.data.callId)
  if (event.type === 'ToolCallClaimed') run.reclaimed.add(callId)
  const outcome = run.calls.get(callId)?.attempts.at(-1)?.outcome
  const isOpen = outcome === undefined || outcome.kind === 'unknown'
  const undoesAnother = event.data.compensates !== undefined
  if (isOutcome(event.type) && !undoesAnother && isOpen && !run.reclaimed.has(callId)) foldOutcome(run, event)
}
