import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ResolveCall, SettleCall } from '../../schemas/requests.ts'
import { decideRenew, decideResolve, decideSettle } from '../../src/domain/settle.ts'
import { at, digestOf, given, id } from '../support/decider.ts'
import { called, claimed, ended, inDoubt, reserved, rollingBack, started, undoing } from '../support/run-events.ts'

const settling = suite('the end of a claim')

type Decide = Parameters<ReturnType<typeof given>['when']>[0]
const settle =
  (n: number, body: Partial<SettleCall> = { result: 1 }): Decide =>
  (state, env) =>
    decideSettle(state, { callId: id(n), body: { fence: 1, ...body } }, env)
const renew =
  (n: number): Decide =>
  (state, env) =>
    decideRenew(state, { callId: id(n), body: { fence: 1 } }, env)
const resolve =
  (n: number, outcome: ResolveCall['outcome']): Decide =>
  (state, env) =>
    decideResolve(state, { callId: id(n), body: { outcome, evidence: 'x' } }, env)
const retried = [started(), claimed(1), inDoubt(1), claimed(1, { fence: 2, attempt: 2 })] as const

settling('result, error, doubt and what could not be recorded are each an event of their own', () => {
  const open = [started(), claimed(1)] as const
  given(...open)
    .when(settle(1))
    .appends(['ToolCallSucceeded', { callId: id(1), fence: 1, result: 1 }])
  given(...open)
    .when(settle(1, { result: null }))
    .appends(['ToolCallSucceeded', { result: null }])
  given(...open)
    .when(settle(1, { error: { message: 'x' } }))
    .appends('ToolCallFailed')
  given(...open)
    .when(settle(1, { unknown: { reason: 'x' } }))
    .appends(['ToolCallInDoubt', { cause: 'outcome-unknown' }])
  given(...open)
    .when(settle(1, { unrecorded: { reason: 'x' } }))
    .appends(
      ['ToolCallSucceeded', { unrecorded: { reason: 'x' } }],
      ['ResultNotRecorded', { callId: id(1), reason: 'x' }],
    )
})

settling('the fence decides who may settle, and not the clock', () => {
  given(started(), claimed(1)).when(settle(1), { ms: 9_000_000 }).appends('ToolCallSucceeded')
  given(started(), claimed(1), inDoubt(1)).when(settle(1), { ms: 9_000_000 }).appends('ToolCallSucceeded')
  given(...retried)
    .when(settle(1, { fence: 2, result: 1 }))
    .appends('ToolCallSucceeded')
  given(started(), claimed(1))
    .when(settle(1, { fence: 2, result: 1 }))
    .refused('stale-fence')
    .recorded()
  given(started()).when(settle(1)).refused('call-not-found')
})

settling('what a newer fence refuses is kept, and marks the call', () => {
  const outcome = { callId: id(1), fence: 1, status: 'succeeded', digest: digestOf(1) }
  given(...retried)
    .when(settle(1))
    .refused('stale-fence', { expected: 1, actual: 2 })
    .recorded(['RequestRefused', { lateOutcome: outcome }])
    .leads((state) => assert.is(state.calls[`$${id(1)}`]?.possiblyTwice, true))
})

settling('a settled call has its outcome for good', () => {
  given(started(), ...called(1))
    .when(settle(1, { error: { message: 'x' } }))
    .is('recorded-call')
})

settling(
  'usage settles the reservation of the claim; without usage it is returned, unless the outcome is not known',
  () => {
    const open = [started(), reserved(9, 50, { callId: id(1) }), claimed(1, { reservationId: id(9) })] as const
    given(...open)
      .when(settle(1, { result: 1, usage: { tokens: 7 } }))
      .appends(['UsageRecorded', { reservationId: id(9) }], 'ToolCallSucceeded')
    given(...open)
      .when(settle(1))
      .appends(['BudgetReleased', { reservationId: id(9) }], 'ToolCallSucceeded')
    given(...open)
      .when(settle(1, { error: { message: 'x' } }))
      .appends('BudgetReleased', 'ToolCallFailed')
    given(...open)
      .when(settle(1, { unknown: { reason: 'x' } }))
      .appends('ToolCallInDoubt')
    given(...open, inDoubt(1))
      .when(resolve(1, 'not-executed'))
      .appends('BudgetReleased', 'ToolCallResolved')
    given(...open, inDoubt(1))
      .when(resolve(1, 'executed'))
      .appends('ToolCallResolved')
  },
)

settling('a renewal doubles the lease, up to ten minutes, and never revives one that is over', () => {
  given(started(), claimed(1))
    .when(renew(1), { ms: 30_000 })
    .appends(['ToolCallLeaseRenewed', { leaseMs: 120_000, leaseUntil: at(150_000) }])
  given(started(), claimed(1, { leaseMs: 400_000 }))
    .when(renew(1))
    .appends(['ToolCallLeaseRenewed', { leaseMs: 600_000 }])
  given(started(), claimed(1))
    .when(renew(1), { ms: 70_000 })
    .appends(['ToolCallInDoubt', { cause: 'lease-expired' }])
  given(started(), claimed(1), inDoubt(1)).when(renew(1)).refused('call-in-doubt')
  given(started(), ...called(1))
    .when(renew(1))
    .is('recorded-call')
})

settling('after the end a lease is renewed for what is undone, and for nothing else', () => {
  given(started(), claimed(1), ended('RunFailed')).when(renew(1)).refused('run-ended')
  given(started(), ...called(1), ended('RunFailed'), rollingBack(), undoing(2, 1))
    .when(renew(2))
    .appends('ToolCallLeaseRenewed')
})

settling('only a doubt is resolved, and a lease that is over is one', () => {
  given(started(), claimed(1)).when(resolve(1, 'executed')).refused('call-not-in-doubt')
  given(started(), ...called(1))
    .when(resolve(1, 'executed'))
    .refused('call-not-in-doubt')
  given(started(), claimed(1))
    .when(resolve(1, 'executed'), { ms: 70_000 })
    .appends('ToolCallInDoubt', 'ToolCallResolved')
  const open = [started(), claimed(1), inDoubt(1)] as const
  for (const [outcome, status] of [
    ['executed', 'succeeded'],
    ['not-executed', 'failed'],
    ['compensated', 'compensated'],
  ] as const) {
    given(...open)
      .when(resolve(1, outcome))
      .appends(['ToolCallResolved', { outcome, evidence: 'x' }])
      .leads((state) => assert.is(state.calls[`$${id(1)}`]?.status, status))
  }
})

settling('a doubtful compensation resolved as not executed has failed; the rollback ends with that', () => {
  given(started(), ...called(1), rollingBack(), undoing(2, 1), {
    type: 'CompensationInDoubt',
    data: { v: 1, callId: id(2), fence: 1, cause: 'outcome-unknown', compensates: id(1) },
  })
    .when(resolve(2, 'not-executed'))
    .appends('ToolCallResolved', ['RunCompensated', { status: 'COMPENSATION_FAILED', failed: [id(1)] }])
})

settling.run()
