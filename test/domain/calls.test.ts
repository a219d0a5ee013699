import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ClaimCall } from '../../schemas/requests.ts'
import { callKey, decideClaim } from '../../src/domain/calls.ts'
import type { Draft } from '../../src/domain/decision.ts'
import { decideClaimOrStep } from '../../src/domain/step.ts'
import { at, digestOf, given, id } from '../support/decider.ts'
import {
  called,
  claimed,
  ended,
  failed,
  inDoubt,
  resumed,
  rollingBack,
  started,
  succeeded,
  undoing,
  undone,
} from '../support/run-events.ts'

const calls = suite('the decision on a claim')

const claim =
  (more: Partial<ClaimCall> = {}) =>
  (state: Parameters<typeof decideClaim>[0], env: Parameters<typeof decideClaim>[2]) =>
    decideClaim(state, { tool: 't', args: {}, key: 'k1', ...more }, env)

/** What a repeat gets, by what the key's last event was (RUN-7). */
const table: readonly [last: string, given: readonly Draft[], then: string][] = [
  ['never asked', [], 'ToolCallClaimed'],
  ['succeeded', called(1), 'recorded-call'],
  ['failed', [claimed(1), failed(1)], 'ToolCallClaimed'],
  ['claimed, lease running', [claimed(1)], 'call-in-progress'],
  ['in doubt', [claimed(1), inDoubt(1)], 'call-in-doubt'],
  ['in doubt, safe to retry', [claimed(1, { onUnknown: 'retry' }), inDoubt(1)], 'ToolCallClaimed'],
  ['compensating', [...called(1), rollingBack('s'), undoing(2, 1)], 'compensating'],
  ['compensated', [...called(1), rollingBack('s'), undoing(2, 1), undone(2, 1)], 'ToolCallClaimed'],
]
for (const [last, events, then] of table) {
  calls(`a key that was last ${last}: ${then} (RUN-7)`, () => {
    const decided = given(started(), ...events).when(claim())
    if (then === 'recorded-call') decided.is('recorded-call')
    else if (then === 'ToolCallClaimed') decided.appends('ToolCallClaimed')
    else decided.refused(then).recorded()
  })
}

calls('a new attempt keeps the call and raises attempt and fence; a new generation is another call', () => {
  given(started(), claimed(1), failed(1))
    .when(claim())
    .appends(['ToolCallClaimed', { callId: id(1), attempt: 2, fence: 2, generation: 1 }])
  given(started(), ...called(1), rollingBack('s'), undoing(2, 1), undone(2, 1))
    .when(claim())
    .appends(['ToolCallClaimed', { callId: id(101), attempt: 1, fence: 1, generation: 2 }])
})

calls(
  "a lease ends two seconds after its deadline, by the later of the clock and the stream's own time (STR-2)",
  () => {
    const one = [started(), claimed(1)] as const
    given(...one)
      .when(claim(), { ms: 62_000 })
      .refused('call-in-progress')
    given(...one)
      .when(claim(), { ms: 62_001 })
      .appends(['ToolCallInDoubt', { cause: 'lease-expired', fence: 1 }])
    given(...one, [62_001, resumed(2)])
      .when(claim(), { ms: 0 })
      .appends('ToolCallInDoubt')
  },
)

calls("a lease lasts from the stream's own time where the clock lags behind it", () => {
  given(started(), [3_600_000, resumed(2)])
    .when(claim({ leaseMs: 1_000 }), { ms: 0 })
    .appends(['ToolCallClaimed', { leaseUntil: at(3_601_000) }])
})

calls('a lease that is over and may be retried ends and starts again in one write', () => {
  given(started(), claimed(1, { onUnknown: 'retry' }))
    .when(claim(), { ms: 70_000 })
    .appends('ToolCallInDoubt', ['ToolCallClaimed', { fence: 2 }])
})

calls('other arguments under the key are refused on record, once', () => {
  const decided = given(started(), claimed(1)).when(claim({ args: { other: 1 } }))
  decided.refused('call-key-reused', { callId: id(1), expected: digestOf({}) }).recorded('RequestRefused')
  decided.leads((state) => assert.is(Object.keys(state.refusals).length, 1))
})

calls('a closed scope, an ended run and a newer owner stop what is new', () => {
  given(started(), rollingBack('a'))
    .when(claim({ scope: 'a/b' }))
    .refused('compensating')
  given(started(), rollingBack('a'))
    .when(claim({ scope: 'ab' }))
    .appends('ToolCallClaimed')
  given(started(), ended('RunFailed')).when(claim()).refused('run-ended')
  given(started(), resumed(2))
    .when(claim({ runFence: 1 }))
    .refused('run-taken-over', { expected: 1, actual: 2 })
  given(started(), resumed(2))
    .when(claim({ runFence: 2 }))
    .appends('ToolCallClaimed')
})

calls('a call that would wait for its own ancestor is refused, an unrelated parent is not', () => {
  const nested = [started(), claimed(1), claimed(2, { parentCall: id(1) })] as const
  given(...nested, failed(1))
    .when(claim({ parentCall: id(2) }))
    .refused('recursive-call', { callId: id(1) })
  given(...nested)
    .when(claim({ key: 'k3', parentCall: id(2) }))
    .appends('ToolCallClaimed')
  given(...nested)
    .when(claim({ key: 'k3', parentCall: id(7) }))
    .refused('call-not-found')
})

calls('a refusal that a claim would record is left to the claim that follows a step (RUN-211)', () => {
  const step = { effects: 'none', after: 0, outcome: { result: 1 } } as const
  const nested = [started(), claimed(1), claimed(2, { parentCall: id(1) }), failed(1)] as const
  const asked: ClaimCall = { tool: 't', args: {}, key: 'k1', parentCall: id(2) }
  given(...nested)
    .when((state, env) => decideClaimOrStep(state, { ...asked, ...step }, env))
    .refused('claim-first')
    .recorded()
  given(...nested)
    .when((state, env) => decideClaimOrStep(state, asked, env))
    .refused('recursive-call', { callId: id(1) })
})

calls('a compensation is of a forward call in a closed scope that happened and can be undone', () => {
  const undo = claim({ tool: 'undo', phase: 'compensation', key: id(1) })
  given(started(), ...called(1))
    .when(undo)
    .refused('not-compensating')
  given(started(), rollingBack()).when(undo).refused('call-not-found')
  given(started(), claimed(1), rollingBack()).when(undo).refused('call-in-progress')
  given(started(), claimed(1), failed(1), rollingBack()).when(undo).refused('not-compensating')
  given(started(), claimed(1), inDoubt(1), rollingBack()).when(undo).refused('call-in-doubt')
  given(started(), claimed(1, { compensateUnknown: true }), inDoubt(1), rollingBack())
    .when(undo)
    .appends('ToolCallClaimed')
  given(started(), ...called(1, { compensate: 'none' }), rollingBack())
    .when(undo)
    .refused('not-compensating')
  given(started(), ...called(1), ended('RunFailed'), rollingBack())
    .when(undo)
    .appends(['ToolCallClaimed', { compensates: id(1), key: id(1), phase: 'compensation' }])
    .leads((state) => assert.is(state.calls[`$${id(1)}`]?.status, 'compensating'))
})

calls('two claims without a key are one call exactly where tool, phase, arguments, scope and occurrence are', () => {
  const base: ClaimCall = { tool: 't', args: { a: 1, b: [2] } }
  const key = callKey(base, digestOf)
  assert.is(callKey({ tool: 't', args: { b: [2], a: 1 }, phase: 'forward' }, digestOf), key)
  const others: ClaimCall[] = [
    { ...base, tool: 'u' },
    { ...base, phase: 'model' },
    { ...base, args: { a: 1, b: [3] } },
    { ...base, scope: 's' },
    { ...base, occurrence: 0 },
  ]
  assert.is(new Set([key, ...others.map((each) => callKey(each, digestOf))]).size, 6)
  assert.is(callKey({ ...base, key: 'mine' }, digestOf), 'mine')
})

calls('what is recorded of a call is what its outcome says, whichever event came last', () => {
  const events = [started(), claimed(1), inDoubt(1), succeeded(1)]
  assert.is(given(...events).state().calls[`$${id(1)}`]?.status, 'succeeded')
  assert.equal(Object.keys(given(...events).state().openCalls), [])
})

calls.run()
