/** @module When a worker may carry a run on: a part of its row in the run list (RUN-222). */
import type { EventBody } from '../schemas/events.ts'
import type { StuckState } from '../schemas/run-status.ts'
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
  /** Set while a worker carries the run: how long the run is left to it after each of its events, in milliseconds. */
  holdMs?: number
  /** Until when the run is left to the code that carries it, without the leases of its open calls. */
  heldUntil: string
  /** Nobody carries the run. `started`: nobody has yet. `at`: the time from which a worker may, unless the run waits. */
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
  /** A rollback of the whole run was begun while nobody carried the run. */
  isUndone?: true
}

/** Without an event or a lease for this long, the process that carries a run without a worker is considered to be gone. */
const SILENT_MS = 10 * 60_000
/** The same after the end of a wait, which such a process polls for. */
const SILENT_AFTER_WAIT_MS = 60_000
/** A lease that ended this long ago was not renewed by anybody. */
const LEASE_GRACE_MS = 2_000
/** Times after this one, and what is no time, count as this one. */
const NEVER_MS = Date.UTC(9999, 11, 31)
const NEVER = new Date(NEVER_MS).toISOString()
/**
 * A worker whose clock is ahead of the ledger's that writes takes a run before its time, finds that it still waits, and leaves it. After so many lives in which
 * nothing was recorded, a time of the run counts only after a pause, which doubles.
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

/** Events that others than the code that carries the run may append. */
const FROM_OUTSIDE: ReadonlySet<string> = new Set<RecordedEvent['type']>([
  'SignalReceived',
  'ApprovalGranted',
  'ApprovalDenied',
  'ApprovalWithdrawn',
  'SuspectReviewed',
  'ToolCallResolved',
  'RedactionChanged',
  'RunBranched',
  'RunKeyDisclosed',
  'RequestRefused',
])

/** Events that show no progress of the code. */
const WITHOUT_PROGRESS: ReadonlySet<string> = new Set<RecordedEvent['type']>(['RunResumed', 'RunLeft', 'RunCarried'])

export function evolveDue(due: DueState, event: RecordedEvent): void {
  const { type, data, header } = event
  if (!FROM_OUTSIDE.has(type)) {
    due.heldUntil = after(header.time, due.holdMs ?? SILENT_MS)
    if (!WITHOUT_PROGRESS.has(type)) goOn(due, header.time)
  }
  switch (type) {
    case 'RunResumed':
      return resume(due, data, header.time)
    case 'RunLeft':
      return leave(due, data, header.time)
    case 'WaitStarted':
      if (data.until !== undefined) due.timers[safeKey(data.waitId)] = after(data.until, 0)
      return
    case 'WaitEnded':
      return endTimer(due, data.waitId, { time: header.time, isSeen: data.outcome === 'signalled' })
    case 'SignalReceived':
      if (data.waitId === undefined) return
      delete due.timers[safeKey(data.waitId)]
      return wake(due, header.time)
    case 'ApprovalRequested':
      due.timers[safeKey(data.approvalId)] = after(data.expiresAt, 0)
      return
    case 'ApprovalGranted':
      return data.complete ? wake(due, header.time) : undefined
    case 'ApprovalDenied':
      delete due.timers[safeKey(data.approvalId)]
      return wake(due, header.time)
    case 'ApprovalExpired':
      return endTimer(due, data.approvalId, { time: header.time, isSeen: false })
    case 'ToolCallClaimed':
      if (data.approvalId !== undefined) delete due.timers[safeKey(data.approvalId)]
      return
    case 'ToolCallResolved':
      return wake(due, header.time)
    case 'CompensationStarted':
      return data.scope === undefined ? undo(due, header.time) : undefined
    default:
      return
  }
}

/** The code recorded something. Code without a worker lives in its process, and has met what came before. */
function goOn(due: DueState, time: string): void {
  delete due.idleLives
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
  const { left, parent, isBranch, isUndone, heldUntil, holdMs, woken, childWakes } = due
  if (parent !== undefined || isBranch === true) return undefined
  const wakes = wakesAt(due)
  if (left?.because === 'waiting') return first(woken, childWakes, timerOf(due, left.at))
  if (left?.because === 'stuck') return first(left.at, woken, childWakes)
  if (left !== undefined) return left.at
  const leased = leaseUntil === undefined ? undefined : after(leaseUntil, LEASE_GRACE_MS)
  if (holdMs !== undefined) return last(heldUntil, leased)
  if (isUndone === true) return leased ?? heldUntil
  // Code without a worker may wait in its process, and renews the leases of its calls there.
  const came = waits === 0 ? first(woken, childWakes) : wakes
  if (waits > 0 && came === undefined) return undefined
  return last(leased ?? heldUntil, came === undefined ? undefined : after(came, SILENT_AFTER_WAIT_MS))
}

/** The first end of a wait or an approval; after lives that found nothing to do, not before a pause. */
function timerOf({ timers, idleLives = 0 }: DueState, leftAt: string): string | undefined {
  const time = first(...Object.values(timers))
  if (time === undefined || idleLives <= IDLE_LIVES) return time
  const pauseMs = Math.min(IDLE_PAUSE_MAX_MS, IDLE_PAUSE_MS * 2 ** (idleLives - IDLE_LIVES - 1))
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
  return at.getTime() <= NEVER_MS ? at.toISOString() : NEVER
}
