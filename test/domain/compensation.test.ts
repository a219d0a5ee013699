import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compensationPlan, decideCompensation } from '../../src/domain/compensation.ts'
import type { Draft } from '../../src/domain/decision.ts'
import { decideSettle } from '../../src/domain/settle.ts'
import { given, id } from '../support/decider.ts'
import { called, claimed, failed, inDoubt, rollingBack, started, undoing, undone } from '../support/run-events.ts'

const compensation = suite('the decision to roll back')

const plan = (events: readonly Draft[], scope?: string) =>
  compensationPlan(given(started(), ...events).state(), scope).map((group) =>
    group.map((call) => Number(call.callId.slice(-4))),
  )

const plans: readonly [claim: string, events: readonly Draft[], expected: number[][]][] = [
  ['newest first', [...called(1), ...called(2), ...called(3)], [[3], [2], [1]]],
  [
    'in order of claim, not of outcome',
    [claimed(1), claimed(2), ...called(3), { type: 'ToolCallSucceeded', data: { v: 1, callId: id(2), fence: 1 } }],
    [[3], [2]],
  ],
  ['groups side by side', [...called(1), ...called(2, { group: 'g' }), ...called(3, { group: 'g' })], [[3, 2], [1]]],
  [
    'groups of different scopes are different groups',
    [...called(1, { group: 'g', scope: 'a' }), ...called(2, { group: 'g', scope: 'b' })],
    [[2], [1]],
  ],
  ['no failed call', [...called(1), claimed(2), failed(2)], [[1]]],
  ['no call in doubt', [...called(1), claimed(2), inDoubt(2)], [[1]]],
  ['a call in doubt that can be undone all the same', [claimed(1, { compensateUnknown: true }), inDoubt(1)], [[1]]],
  [
    'nothing that needs nothing',
    [...called(1, { compensate: 'not-needed' }), ...called(2, { compensate: 'none' })],
    [],
  ],
  ['no model call', [...called(1, { phase: 'model' })], []],
  [
    'a parent with a compensation answers for its children',
    [
      claimed(1, { compensate: { tool: 'u' } }),
      ...called(2, { parentCall: id(1) }),
      { type: 'ToolCallSucceeded', data: { v: 1, callId: id(1), fence: 1 } },
    ],
    [[1]],
  ],
  [
    'a parent that failed does not',
    [claimed(1, { compensate: { tool: 'u' } }), ...called(2, { parentCall: id(1) }), failed(1)],
    [[2]],
  ],
]
for (const [claim, events, expected] of plans) {
  compensation(`the plan: ${claim}`, () => assert.equal(plan(events), expected))
}

compensation('a scope is itself and the paths below it', () => {
  const events = [
    ...called(1, { scope: 'a' }),
    ...called(2, { scope: 'a/b' }),
    ...called(3, { scope: 'ab' }),
    ...called(4),
  ]
  assert.equal(plan(events, 'a'), [[2], [1]])
  assert.equal(plan(events), [[4], [3], [2], [1]])
})

compensation('a plan looks at each call a few times, however deep its calls are nested (F113)', () => {
  const [chain, leaves] = [200, 300]
  const nested = Array.from({ length: chain }, (_, at) => called(at + 1, at === 0 ? {} : { parentCall: id(at) })).flat()
  const deepest = Array.from({ length: leaves }, (_, at) => called(chain + at + 1, { parentCall: id(chain) })).flat()
  const state = given(started(), ...nested, ...deepest).state()
  let looks = 0
  const calls = new Proxy(state.calls, {
    get: (target, name) => {
      looks += 1
      return Reflect.get(target, name)
    },
  })
  assert.is(compensationPlan({ ...state, calls }, undefined).length, chain + leaves)
  assert.ok(looks <= 4 * (chain + leaves), `${looks} looks at ${chain + leaves} calls`)
})

compensation('the intent is on record with its plan; asked again, nothing is added', () => {
  given(started(), ...called(1))
    .when((state, env) => decideCompensation(state, { reason: 'why' }, env))
    .appends(['CompensationStarted', { reason: 'why', plan: [[id(1)]] }])
  given(started(), ...called(1), rollingBack())
    .when((state, env) => decideCompensation(state, { reason: 'again' }, env))
    .is('as-is')
})

compensation('a call past its deadline is put in doubt before the plan is made', () => {
  given(started(), claimed(1, { compensateUnknown: true }), claimed(2))
    .when((state, env) => decideCompensation(state, { reason: 'x' }, env), { ms: 70_000 })
    .appends('ToolCallInDoubt', 'ToolCallInDoubt', ['CompensationStarted', { plan: [[id(1)]] }])
})

const endings: readonly [status: string, before: readonly Draft[]][] = [
  ['COMPENSATED', []],
  ['PARTLY_COMPENSATED', called(5, { compensate: 'none' })],
  ['COMPENSATED', called(5, { compensate: 'not-needed' })],
  ['IN_DOUBT', [claimed(5), inDoubt(5)]],
]
for (const [status, before] of endings) {
  compensation(`the last verdict ends the rollback: ${status} (${before.length} events before)`, () => {
    given(started(), ...before, ...called(1), ...called(2), rollingBack(), undoing(3, 2), undone(3, 2), undoing(4, 1))
      .when((state, env) => decideSettle(state, { callId: id(4), body: { fence: 1, result: null } }, env))
      .appends('CompensationSucceeded', ['RunCompensated', { status, compensated: [id(2), id(1)] }])
      .leads((state) => assert.equal([state.status, state.compensation], ['compensated', status]))
  })
}

compensation('an action without a verdict, a retry announced or a call in flight keeps it open', () => {
  const settle =
    (more: { result?: null; error?: { message: string }; willRetry?: boolean }) =>
    (state: Parameters<typeof decideSettle>[0], env: Parameters<typeof decideSettle>[2]) =>
      decideSettle(state, { callId: id(4), body: { fence: 1, ...more } }, env)
  given(started(), ...called(1), ...called(2), rollingBack(), undoing(4, 1))
    .when(settle({ result: null }))
    .appends('CompensationSucceeded')
  given(started(), ...called(1), rollingBack(), undoing(4, 1))
    .when(settle({ error: { message: 'x' }, willRetry: true }))
    .appends('CompensationFailed')
  given(started(), ...called(1), claimed(2), rollingBack(), undoing(4, 1))
    .when(settle({ result: null }))
    .appends('CompensationSucceeded')
})

compensation('ten thousand calls are undone without looking at all of them each time', () => {
  const many = Array.from({ length: 10_000 }, (_, n) => called(n + 10)).flat()
  const state = given(started(), ...many, rollingBack(), undoing(3, 10_009)).state()
  let looked = 0
  const counted = new Proxy(state.calls, {
    get: (target, key, receiver) => {
      looked += 1
      return Reflect.get(target, key, receiver)
    },
  })
  const env = {
    nowMs: 0,
    leaseLeftMs: () => 0,
    reservationLeftMs: () => 0,
    actor: 'a',
    newId: () => id(1),
    digestOf: () => '',
    sizeOf: () => 0,
    ledgerId: '',
    headDigest: '',
  }
  decideSettle({ ...state, calls: counted }, { callId: id(3), body: { fence: 1, result: null } }, env)
  assert.ok(looked < 20, `${looked} calls looked at`)
})

compensation.run()
