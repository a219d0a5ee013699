/** @module When a worker may carry a run on: a part of its row in the run list (RUN-222). */
import type { EventBody } from '../schemas/events.ts'
import type { StuckState } from '../schemas/run-status.ts'
import type { RecordedEvent } from './projection.ts'
import { type Slots, safeKey } from './run-state.ts'

/** Times are RFC 3339 in UTC, as `Date` writes them, so that they compare as texts. */
export interface DueState {
  /** The run executes a call of this run, and is carried on with it. */
  parent?: string
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
  /** Ends of open waits and approvals, by id. */
  timers: Slots<string>
}

/** Without an event or a lease for this long, the process that carries a run without a worker is considered to be gone. */
const SILENT_MS = 10 * 60_000
/** The same after the end of a wait, which such a process polls for. */
const SILENT_AFTER_WAIT_MS = 60_000
/** A lease that ended this long ago was not renewed by anybody. */
const LEASE_GRACE_MS = 2_000

export function startedDue({ data, header }: Extract<RecordedEvent, { type: 'RunStarted' }>): DueState {
  return {
    fence: 1,
    heldUntil: after(header.time, SILENT_MS),
    timers: {},
    ...(data.childOf !== undefined && { parent: data.childOf.run }),
    ...(data.after !== undefined && { left: { because: 'started', at: data.after } }),
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
])

export function evolveDue(due: DueState, event: RecordedEvent): void {
  const { type, data, header } = event
  if (!FROM_OUTSIDE.has(type)) due.heldUntil = after(header.time, due.holdMs ?? SILENT_MS)
  switch (type) {
    case 'RunResumed':
      return resume(due, data, header.time)
    case 'RunLeft':
      return leave(due, data, header.time)
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
  if (holdMs === undefined) delete due.holdMs
  else due.holdMs = holdMs
  if (version !== undefined) due.version ??= version
  due.heldUntil = after(time, holdMs ?? SILENT_MS)
  delete due.left
  delete due.woken
  delete due.childWakes
  // What has ended by now is seen by the code that resumes; a wait that it no longer makes must not wake it again.
  for (const [id, until] of Object.entries(due.timers)) if (until <= time) delete due.timers[id]
}

function leave(due: DueState, data: EventBody<'RunLeft'>, time: string): void {
  const { because } = data
  const stuck = stuckIn(data)
  due.left = { because, at: stuck?.until ?? time }
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
  due.woken = first(due.woken, time)
}

/** A run within the run may continue at that time. */
export function wakeParent(due: DueState, time: string): void {
  due.childWakes = first(due.childWakes, time)
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
  const { left, parent, heldUntil, holdMs, woken, childWakes } = due
  if (parent !== undefined) return undefined
  const wakes = wakesAt(due)
  if (left?.because === 'waiting') return wakes
  if (left?.because === 'stuck') return first(left.at, woken, childWakes)
  if (left !== undefined) return left.at
  const leased = leaseUntil === undefined ? undefined : after(leaseUntil, LEASE_GRACE_MS)
  if (holdMs !== undefined) return last(heldUntil, leased)
  // Code without a worker may wait in its process, and renews the leases of its calls there.
  const came = waits === 0 ? first(woken, childWakes) : wakes
  if (waits > 0 && came === undefined) return undefined
  return last(leased ?? heldUntil, came === undefined ? undefined : after(came, SILENT_AFTER_WAIT_MS))
}

function first(...times: readonly (string | undefined)[]): string | undefined {
  return times.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined)
}

const last = (a: string, b: string | undefined): string => (b !== undefined && b > a ? b : a)
const after = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString()
