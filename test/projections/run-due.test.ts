/** When a worker may carry a run on, folded from events alone: the tables below are written by hand from the rules. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RecordedEvent } from '../../projections/projection.ts'
import { wakeParent } from '../../projections/run-due.ts'
import { dueAtOf, evolveRunRow, type RunRowState } from '../../projections/run-row.ts'

const test = suite('when a run is due')

const T0 = Date.UTC(2026, 0, 2)
const at = (seconds: number): string => new Date(T0 + seconds * 1000).toISOString()

type Told = readonly [seconds: number, type: RecordedEvent['type'], data?: object]

/** `childWakes`: when a run within the run may continue, known after the first `events`. */
function rowOf(events: readonly Told[], then: readonly Told[] = [], childWakes?: string): RunRowState {
  const row = folded(undefined, events)
  if (childWakes !== undefined) wakeParent(row.due, childWakes)
  return folded(row, then)
}

function folded(known: RunRowState | undefined, events: readonly Told[]): RunRowState {
  let row = known
  for (const [revision, [seconds, type, data = {}]] of events.entries()) {
    const header = { time: at(seconds), revision, actor: 'alice' }
    row = evolveRunRow(row, { type, data: { v: 1, ...data }, header } as unknown as RecordedEvent)
  }
  assert.ok(row)
  return row
}

/** In seconds from the start; undefined: not due. */
function due(...events: readonly Told[]): number | undefined {
  const time = dueAtOf(rowOf(events))
  return time === undefined ? undefined : (Date.parse(time) - T0) / 1000
}

const POLICY = { policy: {}, tags: [], name: 'order' }
const STARTED: Told = [0, 'RunStarted', POLICY]
const LEFT_TO_WORKERS: Told = [0, 'RunStarted', { ...POLICY, after: at(5) }]
const TAKEN: Told = [10, 'RunResumed', { fence: 2, holdMs: 30_000, version: '1' }]
const claimed = (seconds: number, leaseUntil: number): Told => [
  seconds,
  'ToolCallClaimed',
  { callId: 'c', attempt: 1, phase: 'forward', leaseUntil: at(leaseUntil) },
]
const WAITING: Told = [20, 'RunLeft', { fence: 2, because: 'waiting' }]
const stuck = (seconds: number, attempts: number, until: number): Told => [
  seconds,
  'RunLeft',
  {
    ...{ fence: 2, because: 'stuck', attempts, since: at(20), until: at(until) },
    error: { code: 'resume-diverged', message: 'no' },
  },
]

test('a run that was started for workers is due from its time on, whatever comes for it before (RUN-220)', () => {
  assert.is(due(LEFT_TO_WORKERS), 5)
  assert.is(due(LEFT_TO_WORKERS, [1, 'SignalReceived', { name: 'go', signalId: 's' }]), 5)
})

test('the run of a worker is due two seconds after its hold is over: each event of its code begins the hold anew, others do not (RUN-224, RUN-243)', () => {
  assert.is(due(LEFT_TO_WORKERS, TAKEN), 42)
  assert.is(due(LEFT_TO_WORKERS, TAKEN, [25, 'RunCarried', { fence: 2 }]), 57)
  assert.is(due(LEFT_TO_WORKERS, TAKEN, [25, 'SignalReceived', { name: 'go', signalId: 's' }]), 42)
  assert.is(due(LEFT_TO_WORKERS, TAKEN, claimed(12, 100)), 102)
})

test('a run that waits is due when an approval, a signal, a time or a resolution comes for it (RUN-223)', () => {
  const signal: Told = [15, 'WaitStarted', { waitId: 'w', name: 'go' }]
  const sleep: Told = [15, 'WaitStarted', { waitId: 'w', until: at(300) }]
  const approval: Told = [15, 'ApprovalRequested', { approvalId: 'a', expiresAt: at(900) }]
  const base = [LEFT_TO_WORKERS, TAKEN] as const
  assert.is(due(...base, signal, WAITING), undefined)
  assert.is(due(...base, signal, WAITING, [50, 'SignalReceived', { signalId: 's', waitId: 'w' }]), 50)
  assert.is(due(...base, signal, WAITING, [50, 'SignalReceived', { signalId: 's' }]), undefined)
  assert.is(due(...base, sleep, WAITING), 300)
  assert.is(due(...base, approval, WAITING), 900)
  assert.is(due(...base, approval, WAITING, [60, 'ApprovalGranted', { approvalId: 'a', complete: false }]), 900)
  assert.is(due(...base, approval, WAITING, [60, 'ApprovalGranted', { approvalId: 'a', complete: true }]), 60)
  assert.is(due(...base, approval, WAITING, [60, 'ApprovalDenied', { approvalId: 'a' }]), 60)
  assert.is(due(...base, WAITING, [70, 'ToolCallResolved', { callId: 'c' }]), 70)
})

test('what came between the last look of the code and its leaving is not lost (RUN-223)', () => {
  const signal: Told = [15, 'WaitStarted', { waitId: 'w', name: 'go' }]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, signal, [18, 'SignalReceived', { signalId: 's', waitId: 'w' }], WAITING), 18)
})

test('a wait or an approval whose time came makes the run due, whoever says first that it is over (RUN-223)', () => {
  const until: Told = [15, 'WaitStarted', { waitId: 'w', name: 'go', until: at(300) }]
  const approval: Told = [15, 'ApprovalRequested', { approvalId: 'a', expiresAt: at(300) }]
  const late: readonly Told[] = [
    [310, 'WaitEnded', { waitId: 'w', outcome: 'timed-out' }],
    [310, 'SignalReceived', { name: 'go', signalId: 's' }],
  ]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, until, WAITING, ...late), 310, 'a signal that came too late')
  const expired: Told = [310, 'ApprovalExpired', { approvalId: 'a' }]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, approval, WAITING, expired), 310, 'a decision that came too late')
  const again: Told = [305, 'RunResumed', { fence: 3, holdMs: 30_000 }]
  const left: Told = [311, 'RunLeft', { fence: 3, because: 'waiting' }]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, until, WAITING, again, ...late, left), undefined, 'the code itself met the end')
})

test('an approval that was used wakes nobody at its end (RUN-223)', () => {
  const approval: Told = [15, 'ApprovalRequested', { approvalId: 'a', expiresAt: at(900) }]
  const used: Told = [
    16,
    'ToolCallClaimed',
    { callId: 'c', attempt: 1, phase: 'forward', leaseUntil: at(30), approvalId: 'a' },
  ]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, approval, used, WAITING), undefined)
})

test('a worker whose clock is ahead does not take a run again and again before its time (RUN-223)', () => {
  const sleep: Told = [15, 'WaitStarted', { waitId: 'w', until: at(300) }]
  const lives = (count: number): Told[] =>
    Array.from({ length: count }, (_, n): readonly Told[] => [
      [299.5, 'RunResumed', { fence: 3 + n, holdMs: 30_000 }],
      [299.5, 'RunLeft', { fence: 3 + n, because: 'waiting' }],
    ]).flat()
  // The first life, of TAKEN, recorded the wait.
  assert.is(due(LEFT_TO_WORKERS, TAKEN, sleep, WAITING, ...lives(2)), 300)
  assert.is(due(LEFT_TO_WORKERS, TAKEN, sleep, WAITING, ...lives(6)), 300.3)
  assert.is(due(LEFT_TO_WORKERS, TAKEN, sleep, WAITING, ...lives(100)), 309.5)
  const signal: Told = [299.6, 'SignalReceived', { signalId: 's', waitId: 'v' }]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, sleep, WAITING, ...lives(100), signal), 299.6, 'what comes is not delayed')
})

test('a run within the run whose time comes earlier by the clock that lists is not taken again and again (RUN-242)', () => {
  const lives = (count: number, seconds: number): Told[] =>
    Array.from({ length: count }, (_, n): readonly Told[] => [
      [seconds, 'RunResumed', { fence: 3 + n, holdMs: 30_000 }],
      [seconds, 'RunLeft', { fence: 3 + n, because: 'waiting' }],
    ]).flat()
  const dueAfter = (...then: readonly Told[]): number | undefined => {
    const time = dueAtOf(rowOf([LEFT_TO_WORKERS, TAKEN, WAITING], then, at(300)))
    return time === undefined ? undefined : (Date.parse(time) - T0) / 1000
  }
  assert.is(dueAfter(), 300)
  assert.is(dueAfter(...lives(2, 299.5)), 300)
  assert.is(dueAfter(...lives(6, 299.9)), 300.7)
  assert.is(dueAfter(...lives(100, 299.5)), 309.5)
  const came: Told = [299.6, 'SignalReceived', { signalId: 's', waitId: 'v' }]
  assert.is(dueAfter(...lives(100, 299.5), came), 299.6, 'what comes is not delayed')
  assert.is(
    dueAfter(...lives(100, 299.5), came, ...lives(1, 299.7)),
    300,
    'a life that something came for was not too early',
  )
  assert.is(dueAfter(...lives(100, 299.5), ...lives(1, 300)), undefined, 'the code met the time')
})

test('a refused request of somebody else does not prolong the hold (RUN-224)', () => {
  assert.is(due(LEFT_TO_WORKERS, TAKEN, [25, 'RequestRefused', { code: 'approval-decided' }]), 42)
})

test('a run that somebody rolls back while nobody carries it is finished by a worker if they do not (RUN-227)', () => {
  const signal: Told = [15, 'WaitStarted', { waitId: 'w', name: 'go' }]
  const undone: Told = [100, 'CompensationStarted', { compensationId: 'k', reason: 'stop' }]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, signal, WAITING, undone), 700)
  const ofScope: Told = [100, 'CompensationStarted', { compensationId: 'k', reason: 'stop', scope: 'a' }]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, signal, WAITING, ofScope), undefined)
})

test('a resume takes note of all that has come: the run is not due for it again (RUN-223)', () => {
  const sleep: Told = [15, 'WaitStarted', { waitId: 'w', until: at(300) }]
  const again: Told = [300, 'RunResumed', { fence: 3, holdMs: 30_000 }]
  assert.is(
    due(LEFT_TO_WORKERS, TAKEN, sleep, WAITING, again, [301, 'RunLeft', { fence: 3, because: 'waiting' }]),
    undefined,
  )
})

test('a run that is stuck is left alone until its time, unless something comes for it (RUN-226)', () => {
  assert.is(due(LEFT_TO_WORKERS, TAKEN, stuck(20, 1, 25)), 25)
  assert.is(due(LEFT_TO_WORKERS, TAKEN, stuck(20, 1, 3_600), [50, 'ToolCallResolved', { callId: 'c' }]), 50)
  const before: Told = [15, 'SignalReceived', { signalId: 's', waitId: 'w' }]
  assert.is(
    due(LEFT_TO_WORKERS, TAKEN, before, stuck(20, 1, 3_600)),
    3_600,
    'what the code knew is no reason to try again',
  )
  const retry: Told = [50, 'RunLeft', { fence: 2, because: 'retry' }]
  assert.is(due(LEFT_TO_WORKERS, TAKEN, stuck(20, 1, 3_600), retry), 50)
  assert.is(rowOf([LEFT_TO_WORKERS, TAKEN, stuck(20, 2, 3_600), retry]).due.stuck, undefined)
  assert.is(rowOf([LEFT_TO_WORKERS, TAKEN, stuck(20, 2, 25)]).due.stuck?.attempts, 2)
  assert.is(rowOf([LEFT_TO_WORKERS, TAKEN, stuck(20, 2, 25), TAKEN, WAITING]).due.stuck, undefined)
})

test('a run without a worker is due only after its owner is gone (RUN-227)', () => {
  assert.is(due(STARTED), 600)
  assert.is(due(STARTED, [100, 'RunResumed', { fence: 2 }]), 700)
  assert.is(due(STARTED, claimed(1, 61)), 63, 'nobody renewed the lease')
  assert.is(due(STARTED, claimed(1, 61), [21, 'ToolCallLeaseRenewed', { callId: 'c', leaseUntil: at(81) }]), 83)
  assert.is(due(STARTED, claimed(1, 61), [2, 'ToolCallInDoubt', { callId: 'c', cause: 'left' }]), 602)
  const signal: Told = [15, 'WaitStarted', { waitId: 'w', name: 'go' }]
  assert.is(due(STARTED, signal), undefined, 'it may wait in its process')
  assert.is(due(STARTED, signal, [50, 'SignalReceived', { signalId: 's', waitId: 'w' }]), 615)
  assert.is(due(STARTED, signal, [3_600, 'SignalReceived', { signalId: 's', waitId: 'w' }]), 3_660, 'its process looks')
  assert.is(due(STARTED, [15, 'WaitStarted', { waitId: 'w', until: at(3_600) }]), 3_660)
  const taken: Told = [50, 'SignalReceived', { signalId: 's', waitId: 'w' }]
  assert.is(due(STARTED, signal, taken, [51, 'WaitStarted', { waitId: 'v', name: 'next' }]), undefined, 'it goes on')
})

test('a time beyond the year 9999, or that is none, is no reason to be due now (RUN-227)', () => {
  for (const until of ['9999-12-31T23:59:59.000Z', '+010000-01-01T00:00:00.000Z', 'zzz']) {
    const wait: Told = [15, 'WaitStarted', { waitId: 'w', until }]
    assert.match(dueAtOf(rowOf([STARTED, wait])) ?? '', /^9999-12-31T23:59:59/, until)
    assert.match(dueAtOf(rowOf([LEFT_TO_WORKERS, TAKEN, wait, WAITING])) ?? '', /^9999-12-31T23:59:59/, until)
  }
})

test('runs within runs, branches and runs that have ended are not due (RUN-222)', () => {
  assert.is(due([0, 'RunStarted', { ...POLICY, branchOf: { run: 'first', atStep: 1 } }]), undefined)
  assert.is(due([0, 'RunStarted', { ...POLICY, childOf: { run: 'outer', callId: 'c', depth: 1 } }]), undefined)
  assert.is(due(LEFT_TO_WORKERS, TAKEN, [30, 'RunCompleted']), undefined)
})

test('a run remembers the version of its first worker (RUN-225)', () => {
  const later: Told = [50, 'RunResumed', { fence: 3, holdMs: 30_000, version: '2' }]
  assert.is(rowOf([LEFT_TO_WORKERS, TAKEN, later]).due.version, '1')
})

test.run()
