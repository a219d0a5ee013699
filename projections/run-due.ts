/** @module When a worker may carry a run on: a part of its row in the run list (RUN-222). */
import type { EventBody } from '../schemas/events.ts'
import { stuckIn } from './run.ts'
import type { RecordedEvent } from './projection.ts'
import { type Slots, type StuckState, safeKey } from './run-state.ts'

/** Times are RFC 3339 in UTC, as `Date` writes them, so that they compare as texts. */
export interface DueState {
  /** The run executes a call of this run, and is carried on with it. */
  parent?: string
  /** Latest fence. */
  fence: number
  /** Version of the code that the first worker of the run had. */
  version?: string
  /** How long the run is left to the code that carries it, after each of its events, in milliseconds. */
  holdMs: number
  /** Whether that code is a worker's, which leaves the run when it waits. */
  isWorker?: true
  /** Until when the run is left to that code, without the leases of its open calls. */
  heldUntil: string
  left?: { readonly because: 'waiting' | 'stopped'; readonly at: string }
  stuck?: StuckState
  /** The first time since the last resume that something from outside may let the run continue. */
  woken?: string
  /** The first time at which a run within this run may continue. */
  childWakes?: string
  /** Ends of open waits and approvals, by id. */
  timers: Slots<string>
}

/** The time that code which is not a worker's is given between two events. */
const QUIET_MS = 60_000

export function startedDue({ data, header }: Extract<RecordedEvent, { type: 'RunStarted' }>): DueState {
  return {
    fence: 1,
    holdMs: QUIET_MS,
    heldUntil: after(header.time, QUIET_MS),
    timers: {},
    ...(data.childOf !== undefined && { parent: data.childOf.run }),
    ...(data.after !== undefined && { left: { because: 'stopped', at: data.after } }),
  }
}

/** Events from outside the code that carries the run. */
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
])

export function evolveDue(due: DueState, event: RecordedEvent): void {
  const { type, data, header } = event
  if (!FROM_OUTSIDE.has(type)) due.heldUntil = after(header.time, due.holdMs)
  switch (type) {
    case 'RunResumed':
      return resume(due, data, header.time)
    case 'RunLeft':
      return leave(due, data, header.time)
    case 'ToolCallClaimed':
    case 'ToolCallLeaseRenewed':
      if (data.leaseUntil > due.heldUntil) due.heldUntil = data.leaseUntil
      return
    case 'WaitStarted':
      if (data.until !== undefined) due.timers[safeKey(data.waitId)] = data.until
      return
    case 'WaitEnded':
      delete due.timers[safeKey(data.waitId)]
      return
    case 'SignalReceived':
      if (data.waitId === undefined) return
      delete due.timers[safeKey(data.waitId)]
      return wake(due, header.time)
    case 'ApprovalRequested':
      due.timers[safeKey(data.approvalId)] = data.expiresAt
      return
    case 'ApprovalGranted':
      return data.complete ? wake(due, header.time) : undefined
    case 'ApprovalDenied':
    case 'ApprovalExpired':
      delete due.timers[safeKey(data.approvalId)]
      return wake(due, header.time)
    case 'ToolCallResolved':
      return wake(due, header.time)
    default:
      return
  }
}

function resume(due: DueState, { fence, holdMs, version }: EventBody<'RunResumed'>, time: string): void {
  due.fence = fence
  due.holdMs = holdMs ?? QUIET_MS
  if (holdMs === undefined) delete due.isWorker
  else due.isWorker = true
  if (version !== undefined) due.version ??= version
  due.heldUntil = after(time, due.holdMs)
  delete due.left
  delete due.woken
  delete due.childWakes
  // What has ended by now is seen by the code that resumes; a wait that it no longer makes must not wake it again.
  for (const [id, until] of Object.entries(due.timers)) if (until <= time) delete due.timers[id]
}

function leave(due: DueState, data: EventBody<'RunLeft'>, time: string): void {
  const { because } = data
  const stuck = stuckIn(data)
  if (stuck === undefined) delete due.stuck
  else due.stuck = stuck
  due.left = { because: because === 'waiting' ? because : 'stopped', at: stuck?.until ?? time }
}

function wake(due: DueState, time: string): void {
  if (due.woken === undefined || time < due.woken) due.woken = time
}

/** A run within the run may continue at that time. */
export function wakeParent(due: DueState, time: string): void {
  if (due.childWakes === undefined || time < due.childWakes) due.childWakes = time
}

/** The first time at which something that the run waits for may let it continue. */
export function wakesAt({ woken, childWakes, timers }: DueState): string | undefined {
  const times = [...Object.values(timers), woken, childWakes].filter((time) => time !== undefined)
  return times.length === 0 ? undefined : times.reduce((a, b) => (b < a ? b : a))
}

/**
 * The time from which a worker may carry an open run on; undefined while it waits for somebody. `leaseUntil`: when the last lease of its calls ends. `waits`:
 * number of open waits and approvals.
 */
export function dueAt(due: DueState, { leaseUntil = '', waits }: { leaseUntil?: string; waits: number }): string | undefined {
  const { left, parent, heldUntil, isWorker, holdMs } = due
  if (parent !== undefined) return undefined
  const wakes = wakesAt(due)
  if (left?.because === 'waiting') return wakes
  if (left !== undefined) return left.at
  const until = later(heldUntil, leaseUntil)
  // Code that is not a worker's may wait in its process, and continues there.
  if (isWorker === true || waits === 0) return until
  return wakes === undefined ? undefined : later(until, after(wakes, holdMs))
}

const later = (a: string, b: string): string => (a > b ? a : b)
const after = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString()
