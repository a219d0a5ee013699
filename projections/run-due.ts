/** @module When a worker may carry a run on: a part of its row in the run list (RUN-222). */
import type { EventBody, RunEventType } from '../schemas/events.ts'
import type { StuckState } from '../schemas/run-status.ts'
import { LATEST_MS } from '../schemas/value-forms.ts'
import { eachOf, type FoldTable, foldBy, ignore } from './fold-table.ts'
import type { RecordedEvent } from './projection.ts'
import { type Slots, safeKey } from './run-state.ts'

/** Times are RFC 3339 in UTC, as `Date` writes them, so that they compare as texts. */
export interface DueState {
  /** The run executes a call of this run, and is carried on with it. */
  parent?: string
  /** The run branches off another one, and only the code of its branch can carry it on. */
  isBranch?: true
  /** Latest fence. */
  fence: number
  /** Version of the code that the first worker of the run had. */
  version?: string
  /** Set while a worker executes the run: how long the run is left to it after each of its events, in milliseconds. */
  holdMs?: number
  /** Until when the run is left to the code that carries it, without the leases of its open calls. */
  heldUntil: string
  /** Set while no process executes the run. `started`: none has yet. `at`: the time from which a worker may take it, unless the run waits. */
  left?: { readonly because: 'started' | EventBody<'RunLeft'>['because']; readonly at: string }
  stuck?: StuckState
  /** The first time since the last resume that something from outside may let the run continue. */
  woken?: string
  /** The first time at which a run within this run may continue. */
  childWakes?: string
  /** Ends of open waits and of approvals that were not used, by id. */
  timers: Slots<string>
  /** Number of resumes in a row after which the code recorded nothing. */
  idleLives?: number
  /** Number of resumes in a row for a run within this run whose time, by the clock of the resume, had not come. */
  earlyLives?: number
  /** A rollback of the whole run was begun while no process executed the run. */
  isUndone?: true
}

/** Without an event or a lease for this long, the process that carries a run without a worker is considered to be gone. */
const SILENT_MS = 10 * 60_000
/** The limit of `SILENT_MS` after the end of a wait, which such a process polls for. */
const SILENT_AFTER_WAIT_MS = 60_000
/** A lease, or the hold of a worker, that ended this long ago was not renewed by anybody: the clocks of two processes differ by less. */
const GRACE_MS = 2_000
/** Times after the last one, and what is no time, count as that one. */
const NEVER = new Date(LATEST_MS).toISOString()
/**
 * A ledger whose clock is ahead of the one that writes lists a run before its time; its worker finds that it still waits, and leaves it. After so many lives in
 * which nothing was recorded, a time of the run counts only after a pause, which doubles.
 */
const IDLE_LIVES = 2
const IDLE_PAUSE_MS = 100
const IDLE_PAUSE_MAX_MS = 10_000

export function startedDue({ data, header }: Extract<RecordedEvent, { type: 'RunStarted' }>): DueState {
  return {
    fence: 1,
    heldUntil: after(header.time, SILENT_MS),
    timers: {},
    ...(data.childOf !== undefined && { parent: data.childOf.run }),
    ...(data.branchOf !== undefined && { isBranch: true as const }),
    ...(data.after !== undefined && { left: { because: 'started', at: after(data.after, 0) } }),
  }
}

interface Kind {
  /** Appended by the code that carries the run alone, and so holds it. */
  readonly isOwn: boolean
  /** The code did something. */
  readonly isProgress: boolean
  /** A run may be due because of it, before the time that was known. */
  readonly mayMakeDue: boolean
  /** Workers may carry one run less after it: it ended or was left, or a program without a hold resumed it. */
  readonly mayMakeRoom: boolean
}

const NOTHING = { isOwn: false, isProgress: false, mayMakeDue: false, mayMakeRoom: false } as const satisfies Kind
const COMES = { ...NOTHING, mayMakeDue: true } as const satisfies Kind
const OF_OTHERS = NOTHING
const PROGRESS = { ...NOTHING, isOwn: true, isProgress: true } as const satisfies Kind
const BEGINS = { ...PROGRESS, mayMakeDue: true } as const satisfies Kind
const ENDS = { ...PROGRESS, mayMakeRoom: true } as const satisfies Kind
const HELD = { ...NOTHING, isOwn: true } as const satisfies Kind
const TAKEN = { ...HELD, mayMakeRoom: true } as const satisfies Kind
const LEFT = { ...TAKEN, mayMakeDue: true } as const satisfies Kind

const KINDS = {
  ...eachOf(COMES, 'SignalReceived', 'ApprovalGranted', 'ApprovalDenied', 'ToolCallResolved'),
  ...eachOf(OF_OTHERS, 'ApprovalWithdrawn', 'SuspectReviewed', 'RedactionChanged', 'RunBranched', 'RunKeyDisclosed'),
  ...eachOf(OF_OTHERS, 'RequestRefused'),
  // The end of a wait or of an approval may be met by others first.
  ...eachOf(BEGINS, 'RunStarted', 'WaitEnded', 'ApprovalExpired'),
  ...eachOf(LEFT, 'RunLeft'),
  ...eachOf(TAKEN, 'RunResumed'),
  ...eachOf(HELD, 'RunCarried'),
  ...eachOf(PROGRESS, 'ManifestRegistered', 'EnvelopeAccepted', 'EnvelopeRejected', 'JudgementRecorded'),
  ...eachOf(PROGRESS, 'SnapshotTaken', 'RunRewound', 'ApprovalRequested', 'WaitStarted', 'SignalPassedOver'),
  ...eachOf(PROGRESS, 'ToolCallClaimed', 'ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed'),
  ...eachOf(PROGRESS, 'ToolCallInDoubt', 'ResultNotRecorded', 'ToolDefinitionsSeen', 'CaptureGap'),
  ...eachOf(PROGRESS, 'CompensationStarted', 'CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt'),
  ...eachOf(PROGRESS, 'BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'ReservationExpired', 'BudgetExceeded'),
  ...eachOf(PROGRESS, 'ForkStarted', 'BranchOffered', 'BranchReceived', 'ForkJoined', 'ChildRunStarted'),
  ...eachOf(ENDS, 'RunCompleted', 'RunFailed', 'RunCompensated'),
} satisfies { readonly [T in RunEventType]: Kind }

/** Whether an event of this type may make a run due before the time that was known. A type of a later version does not. */
export function mayMakeDue(type: string): boolean {
  return kindOf(type)?.mayMakeDue === true
}

/** Whether workers that carry as many runs of a tenant as they may can carry one more after an event of this type. */
export function mayMakeRoom(type: string): boolean {
  return kindOf(type)?.mayMakeRoom === true
}

function kindOf(type: string): Kind | undefined {
  const kinds: Readonly<Record<string, Kind>> = KINDS
  return Object.hasOwn(kinds, type) ? kinds[type] : undefined
}

const DUE_FOLDS = {
  ...ignore('RunStarted', 'RunCarried', 'RedactionChanged', 'ManifestRegistered', 'EnvelopeAccepted'),
  ...ignore('EnvelopeRejected', 'JudgementRecorded', 'SuspectReviewed', 'SnapshotTaken', 'RunRewound'),
  ...ignore('ApprovalWithdrawn', 'SignalPassedOver', 'ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed'),
  ...ignore('ToolCallInDoubt', 'ResultNotRecorded', 'ToolDefinitionsSeen', 'CaptureGap'),
  ...ignore('CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt', 'BudgetReserved', 'UsageRecorded'),
  ...ignore('BudgetReleased', 'ReservationExpired', 'BudgetExceeded', 'ForkStarted', 'BranchOffered'),
  ...ignore('BranchReceived', 'ForkJoined', 'RequestRefused', 'RunBranched', 'ChildRunStarted'),
  ...ignore('RunCompleted', 'RunFailed', 'RunCompensated', 'RunKeyDisclosed'),
  RunResumed: (due, data, { time }) => resume(due, data, time),
  RunLeft: (due, data, { time }) => leave(due, data, time),
  WaitStarted: (due, { waitId, until }) => {
    if (until !== undefined) due.timers[safeKey(waitId)] = after(until, 0)
  },
  WaitEnded: (due, { waitId, outcome }, { time }) => endTimer(due, waitId, { time, isSeen: outcome === 'signalled' }),
  SignalReceived: (due, { waitId }, { time }) => {
    if (waitId === undefined) return
    delete due.timers[safeKey(waitId)]
    wake(due, time)
  },
  ApprovalRequested: (due, { approvalId, expiresAt }) => {
    due.timers[safeKey(approvalId)] = after(expiresAt, 0)
  },
  ApprovalGranted: (due, { complete }, { time }) => {
    if (complete) wake(due, time)
  },
  ApprovalDenied: (due, { approvalId }, { time }) => {
    delete due.timers[safeKey(approvalId)]
    wake(due, time)
  },
  ApprovalExpired: (due, { approvalId }, { time }) => endTimer(due, approvalId, { time, isSeen: false }),
  ToolCallClaimed: (due, { approvalId }) => {
    if (approvalId !== undefined) delete due.timers[safeKey(approvalId)]
  },
  ToolCallResolved: (due, _, { time }) => wake(due, time),
  CompensationStarted: (due, { scope }, { time }) => {
    if (scope === undefined) undo(due, time)
  },
} satisfies FoldTable<DueState>

/** Whether the body of events of this type is read; of others it is only the header. */
export function isInDue(type: RunEventType): boolean {
  return DUE_FOLDS[type] !== null
}

export function evolveDue(due: DueState, event: RecordedEvent): void {
  const { type, header } = event
  const { isOwn, isProgress }: Kind = KINDS[type] ?? PROGRESS
  if (isOwn) due.heldUntil = after(header.time, due.holdMs ?? SILENT_MS)
  if (isProgress) goOn(due, header.time)
  foldBy(DUE_FOLDS, due, event)
}

/** The code recorded something. Code without a worker lives in its process, and has met what came before. */
function goOn(due: DueState, time: string): void {
  delete due.idleLives
  delete due.earlyLives
  if (due.holdMs !== undefined || due.left !== undefined) return
  delete due.woken
  if (due.childWakes !== undefined && due.childWakes <= time) delete due.childWakes
}

/**
 * The time of a wait or of an approval came, and the first command that met it says so. That may be one from outside, such as a signal that came too late, and
 * the code must learn of it as well. `isSeen`: only the code itself can have ended it. What came before the last resume is no longer among the timers.
 */
function endTimer(
  due: DueState,
  id: string,
  { time, isSeen }: { readonly time: string; readonly isSeen: boolean },
): void {
  const isTimer = due.timers[safeKey(id)] !== undefined
  delete due.timers[safeKey(id)]
  if (isTimer && !isSeen) wake(due, time)
}

/** Somebody rolls back a run that was left: if they do not finish, a worker does, as with any run that is carried without one. */
function undo(due: DueState, time: string): void {
  if (due.left === undefined) return
  delete due.left
  delete due.holdMs
  due.isUndone = true
  due.heldUntil = after(time, SILENT_MS)
}

function resume(due: DueState, { fence, holdMs, version }: EventBody<'RunResumed'>, time: string): void {
  due.fence = fence
  if (isEarly(due, time)) due.earlyLives = (due.earlyLives ?? 0) + 1
  else delete due.earlyLives
  if (holdMs === undefined) delete due.holdMs
  else due.holdMs = holdMs
  if (version !== undefined) due.version ??= version
  due.heldUntil = after(time, holdMs ?? SILENT_MS)
  delete due.left
  delete due.woken
  due.idleLives = (due.idleLives ?? 0) + 1
  // What has ended by now is seen by the code that resumes; a wait that it no longer makes must not wake it again.
  if (due.childWakes !== undefined && due.childWakes <= time) delete due.childWakes
  for (const [id, until] of Object.entries(due.timers)) if (until <= time) delete due.timers[id]
}

/** Whether a run that was left is resumed for a run within it only, and the clock of the resume is before the time at which that may continue. */
function isEarly({ left, woken, childWakes, timers }: DueState, time: string): boolean {
  if (left?.because !== 'waiting' || woken !== undefined || childWakes === undefined || childWakes <= time) return false
  return Object.values(timers).every((until) => until > time)
}

function leave(due: DueState, data: EventBody<'RunLeft'>, time: string): void {
  const { because } = data
  const stuck = stuckIn(data)
  due.left = { because, at: after(stuck?.until ?? time, 0) }
  if (stuck === undefined) {
    delete due.stuck
    return
  }
  due.stuck = stuck
  // The code could not go on although this had come.
  delete due.woken
  delete due.childWakes
}

/** The state that a run is left in as stuck; undefined if it is left for another reason. */
export function stuckIn({ error, attempts, since, until }: EventBody<'RunLeft'>): StuckState | undefined {
  if (error === undefined || attempts === undefined || since === undefined || until === undefined) return undefined
  return { ...error, attempts, since, until }
}

function wake(due: DueState, time: string): void {
  due.woken = earlier(due.woken, time)
}

/** A run within the run may continue at that time. */
export function wakeParent(due: DueState, time: string): void {
  due.childWakes = earlier(due.childWakes, time)
}

/** The first time at which something that the run waits for may let it continue. */
export function wakesAt({ woken, childWakes, timers }: DueState): string | undefined {
  return first(woken, childWakes, ...Object.values(timers))
}

/**
 * The time from which a worker may carry an open run on; undefined while it waits for somebody. `leaseUntil`: when the last lease of its calls ends. `waits`:
 * number of open waits and approvals.
 */
export function dueAt(
  due: DueState,
  { leaseUntil, waits }: { leaseUntil: string | undefined; waits: number },
): string | undefined {
  const { left, parent, isBranch, isUndone, heldUntil, holdMs, woken, childWakes, idleLives, earlyLives } = due
  if (parent !== undefined || isBranch === true) return undefined
  const wakes = wakesAt(due)
  if (left?.because === 'waiting') {
    const timer = first(...Object.values(due.timers))
    return first(woken, paused(childWakes, earlyLives, left.at), paused(timer, idleLives, left.at))
  }
  if (left?.because === 'stuck') return first(left.at, woken, childWakes)
  if (left !== undefined) return left.at
  const leased = leaseUntil === undefined ? undefined : after(leaseUntil, GRACE_MS)
  if (holdMs !== undefined) return last(after(heldUntil, GRACE_MS), leased)
  if (isUndone === true) return leased ?? heldUntil
  // Code without a worker may wait in its process, and renews the leases of its calls there.
  const came = waits === 0 ? first(woken, childWakes) : wakes
  if (waits > 0 && came === undefined) return undefined
  return last(leased ?? heldUntil, came === undefined ? undefined : after(came, SILENT_AFTER_WAIT_MS))
}

/** A time at which a run that was left may continue; after `lives` in a row that found nothing to do, not before a pause. */
function paused(time: string | undefined, lives: number | undefined, leftAt: string): string | undefined {
  if (time === undefined || lives === undefined || lives <= IDLE_LIVES) return time
  const pauseMs = Math.min(IDLE_PAUSE_MAX_MS, IDLE_PAUSE_MS * 2 ** (lives - IDLE_LIVES - 1))
  return last(time, after(leftAt, pauseMs))
}

function first(...times: readonly (string | undefined)[]): string | undefined {
  return times.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined)
}

const earlier = (known: string | undefined, time: string): string =>
  known !== undefined && known < time ? known : time
const last = (a: string, b: string | undefined): string => (b !== undefined && b > a ? b : a)

/**
 * Total, because records that somebody else added to the store may hold times that are none, and must not stop the list. A year of five digits would come first
 * as a text.
 */
function after(time: string, ms: number): string {
  const at = new Date(Date.parse(time) + ms)
  return at.getTime() <= LATEST_MS ? at.toISOString() : NEVER
}
