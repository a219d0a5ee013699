/** @module A run's row in the run list: a separate small fold, so that the list is built in one pass over all streams. */
import type { RunEventType } from '../schemas/events.ts'
import { eachOf, type FoldTable, foldBy, ignore } from './fold-table.ts'
import type { RecordedEvent } from './projection.ts'
import { type BudgetState, foldBudget, isOnBudget } from './run-budget.ts'
import { type DueState, dueAt, evolveDue, isInDue, startedDue } from './run-due.ts'
import { type Slots, safeKey, zeroSpend } from './run-state.ts'

export const RUN_ROW_PROJECTION = 'run-list'
export const RUN_ROW_VERSION = 11

export interface RunRowState {
  name: string
  status: string
  tags: readonly string[]
  actor: string
  /** The principal for whom the actor started the run, if different. */
  principal?: string
  startedAt: string
  updatedAt: string
  revision: number
  step: number
  rejections: number
  calls: number
  /** Approvals that can still be decided. */
  approvals: Slots<true>
  /** Set if an accepted handoff raised suspects, some of which may be open. */
  suspect?: true
  /** Open waits for a signal or a time. */
  waits: Slots<true>
  /** Outcome of the last rollback of the whole run. */
  compensation?: string
  /** Calls without an outcome, except model calls: the end of each lease, or `IN_DOUBT`. */
  open: Slots<string>
  /** Number of entries in `open`. */
  openCount: number
  /** Set if calls beyond `OPEN_MAX` were not tracked individually; some of them may be open. */
  openMore?: true
  /** When a worker may carry the run on. */
  due: DueState
  budget: BudgetState
}

const IN_DOUBT = ''

/** Limit of tracked open calls, because a row is rewritten as a whole at each change. */
const OPEN_MAX = 10_000

/** Undefined until RunStarted: a stream that begins with another event is not a run. */
export function evolveRunRow(row: RunRowState | undefined, event: RecordedEvent): RunRowState | undefined {
  if (event.type === 'RunStarted') return startedRow(event)
  if (row === undefined) return undefined
  row.revision = event.header.revision
  row.updatedAt = event.header.time
  foldBudget(row.budget, event)
  foldBy(COUNT_FOLDS, row, event)
  evolveDue(row.due, event)
  return row
}

function startedRow(event: Extract<RecordedEvent, { type: 'RunStarted' }>): RunRowState {
  const { data, header } = event
  const currency = data.budget?.cost?.currency
  return {
    name: data.name,
    status: 'open',
    tags: data.tags,
    actor: header.actor,
    ...(header.principal !== undefined && { principal: header.principal }),
    startedAt: header.time,
    updatedAt: header.time,
    revision: header.revision,
    step: data.branchOf?.atStep ?? 0,
    rejections: 0,
    calls: 0,
    approvals: {},
    waits: {},
    open: {},
    openCount: 0,
    due: startedDue(event),
    budget: {
      agents: {},
      ...(currency === undefined ? {} : { currency }),
      modelCallers: {},
      openReservations: {},
      refusals: {},
      refusalTimes: [],
      reservations: {},
      spend: zeroSpend(),
      spendByAgent: {},
    },
  }
}

const COUNT_FOLDS = {
  ...ignore('RunStarted', 'RunResumed', 'RunLeft', 'RunCarried'),
  ...ignore(
    'RunBranched',
    'ChildRunStarted',
    'RedactionChanged',
    'RunKeyDisclosed',
    'ManifestRegistered',
    'RequestRefused',
  ),
  ...ignore(
    'JudgementRecorded',
    'SuspectReviewed',
    'SignalPassedOver',
    'SnapshotTaken',
    'ResultNotRecorded',
    'CompensationStarted',
  ),
  ...ignore('BudgetReserved', 'UsageRecorded', 'BudgetReleased'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap'),
  ...eachOf(endCall, 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallResolved'),
  ...eachOf(endCall, 'CompensationSucceeded', 'CompensationFailed'),
  ...ignore('ReservationExpired', 'BudgetExceeded', 'ForkStarted', 'BranchOffered', 'BranchReceived', 'ForkJoined'),
  ...eachOf(doubtCall, 'ToolCallInDoubt', 'CompensationInDoubt'),
  ToolCallLeaseRenewed: (row, { callId, leaseUntil }) => {
    if (row.open[safeKey(callId)] !== undefined) row.open[safeKey(callId)] = leaseUntil
  },
  EnvelopeAccepted: (row, { step, agent, findings, suspectsTotal }) => {
    row.step = step
    if (suspectsTotal !== undefined || findings?.some(({ suspect }) => suspect === true)) row.suspect = true
    row.budget.agents[safeKey(agent)] = true
  },
  EnvelopeRejected: (row, { agent }) => {
    row.rejections += 1
    row.budget.agents[safeKey(agent)] = true
  },
  RunRewound: (row, { toStep }) => {
    row.step = toStep
  },
  ApprovalRequested: (row, { approvalId, agent }) => {
    row.approvals[safeKey(approvalId)] = true
    if (agent !== undefined) row.budget.agents[safeKey(agent)] = true
  },
  ApprovalGranted: (row, { approvalId, complete }) => {
    if (complete) delete row.approvals[safeKey(approvalId)]
  },
  ApprovalDenied: (row, { approvalId }) => {
    delete row.approvals[safeKey(approvalId)]
  },
  ApprovalWithdrawn: (row, { approvalId }) => {
    row.approvals[safeKey(approvalId)] = true
  },
  ApprovalExpired: (row, { approvalId }) => {
    delete row.approvals[safeKey(approvalId)]
  },
  WaitStarted: (row, { waitId }) => {
    row.waits[safeKey(waitId)] = true
  },
  SignalReceived: (row, { waitId }) => {
    if (waitId !== undefined) delete row.waits[safeKey(waitId)]
  },
  WaitEnded: (row, { waitId }) => {
    delete row.waits[safeKey(waitId)]
  },
  ToolCallClaimed: (row, { attempt, agent, callId, phase, compensates, leaseUntil }) => {
    if (attempt === 1) row.calls += 1
    if (phase !== 'model') openCall(row, callId, leaseUntil)
    // From now on the compensation is the open call.
    if (compensates !== undefined) endCall(row, { callId: compensates })
    if (agent !== undefined) row.budget.agents[safeKey(agent)] = true
  },
  RunCompleted: (row) => {
    row.status = 'completed'
    // Completion waited for every call except model calls.
    delete row.openMore
  },
  RunFailed: (row) => {
    row.status = 'failed'
  },
  RunCompensated: (row, { status }) => {
    row.status = 'compensated'
    row.compensation = status
  },
} satisfies FoldTable<RunRowState>

function openCall(row: RunRowState, callId: string, leaseUntil: string): void {
  const isKnown = row.open[safeKey(callId)] !== undefined
  if (!isKnown && row.openCount >= OPEN_MAX) {
    row.openMore = true
    return
  }
  row.open[safeKey(callId)] = leaseUntil
  if (!isKnown) row.openCount += 1
}

function doubtCall(row: RunRowState, { callId }: { readonly callId: string }): void {
  if (row.open[safeKey(callId)] !== undefined) row.open[safeKey(callId)] = IN_DOUBT
}

function endCall(row: RunRowState, { callId }: { readonly callId: string }): void {
  if (row.open[safeKey(callId)] === undefined) return
  delete row.open[safeKey(callId)]
  row.openCount -= 1
}

/** When a worker may carry the run on; undefined while it waits for somebody, and after its end. */
export function dueAtOf({ status, due, open, approvals, waits }: RunRowState): string | undefined {
  if (status !== 'open') return undefined
  let leaseUntil: string | undefined
  for (const until of Object.values(open))
    if (until !== IN_DOUBT && (leaseUntil === undefined || until > leaseUntil)) leaseUntil = until
  return dueAt(due, { leaseUntil, waits: Object.keys(approvals).length + Object.keys(waits).length })
}

/** Until when the run is left to the worker that carries it, if one does. */
export function carriedUntilOf(row: RunRowState): string | undefined {
  return row.due.holdMs === undefined || row.due.left !== undefined ? undefined : dueAtOf(row)
}

/** Calls that may be open; at least one if some are not tracked individually. */
export function openCallsOf({ openCount, openMore }: RunRowState): number {
  return Math.max(openCount, openMore === true ? 1 : 0)
}

/** Of the tracked calls: the number in doubt, and the earliest lease end of the others. */
export function leasesOf({ open }: RunRowState): { readonly inDoubtCalls: number; readonly leaseUntil?: string } {
  let inDoubtCalls = 0
  let leaseUntil: string | undefined
  for (const until of Object.values(open)) {
    if (until === IN_DOUBT) inDoubtCalls += 1
    else if (leaseUntil === undefined || until < leaseUntil) leaseUntil = until
  }
  return { inDoubtCalls, ...(leaseUntil !== undefined && { leaseUntil }) }
}

/** Whether the row needs only the call's id from the body, which may hold a large result. */
export function endsCall(type: RunEventType): boolean {
  return COUNT_FOLDS[type] === endCall
}

/** Whether the row reads the body of events of this type; of other types it reads only the header. */
export function isInRow(type: RunEventType): boolean {
  return type === 'RunStarted' || COUNT_FOLDS[type] !== null || isInDue(type) || isOnBudget(type)
}
