import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addMoney, fromNano, subtractMoney, toNano } from '../../schemas/money.ts'
import type { PostReservation } from '../../schemas/requests.ts'
import type { Usage } from '../../schemas/values.ts'
import { decideReservation } from '../../src/domain/budget.ts'
import type { Draft } from '../../src/domain/decision.ts'
import { decideRelease, decideSettleReservation, decideUsage } from '../../src/domain/usage.ts'
import { at, given, id } from '../support/decider.ts'
import { accepted, claimed, ended, reserved, started, used } from '../support/run-events.ts'

const budget = suite('the decision on a budget')

type Decide = Parameters<ReturnType<typeof given>['when']>[0]
const reserve =
  (body: Partial<PostReservation>): Decide =>
  (state, env) =>
    decideReservation(state, { agent: 'a', ...body }, env)
const use =
  (usage: Usage, agent = 'a'): Decide =>
  (state) =>
    decideUsage(state, { agent, usage })
const settle =
  (n: number, usage: Usage): Decide =>
  (state) =>
    decideSettleReservation(state, { reservationId: id(n), body: { usage } })
const release =
  (n: number): Decide =>
  (state) =>
    decideRelease(state, { reservationId: id(n), body: {} })
const expired = { type: 'ReservationExpired', data: { v: 1, reservationId: id(1) } } as const
const limited = (tokens: number) => started({ budget: { tokens } })

budget('spent and reserved together never pass the limit', () => {
  given(limited(100), used(30), reserved(1, 40))
    .when(reserve({ tokens: 30 }))
    .appends(['BudgetReserved', { tokens: 30, agent: 'a' }])
  given(limited(100), used(30), reserved(1, 40))
    .when(reserve({ tokens: 31 }))
    .refused('budget-exceeded', {
      limit: '100',
      spent: '30',
      reserved: '40',
      requested: '31',
      scope: 'run',
      dimension: 'tokens',
    })
    .recorded('BudgetExceeded')
  given(limited(100), used(500))
    .when(reserve({ tokens: 0, cost: '0.00' }))
    .appends('BudgetReserved')
})

budget('an agent is held to its own limit, others are not', () => {
  const run = started({ budget: { agents: { ann: { tokens: 10, cost: '1' } } } })
  given(run)
    .when(reserve({ agent: 'ann', tokens: 11 }))
    .refused('budget-exceeded', { scope: 'agent' })
  given(run)
    .when(reserve({ agent: 'ann', cost: '1.000000001' }))
    .refused('budget-exceeded', { dimension: 'cost' })
  given(run)
    .when(reserve({ agent: 'bob', tokens: 11 }))
    .appends('BudgetReserved')
  given(run)
    .when(reserve({ agent: 'constructor', tokens: 11 }))
    .appends('BudgetReserved')
})

budget('whoever decides on the budget charges what is past its deadline, in the same write, refused or not', () => {
  given(limited(100), reserved(1, 60))
    .when(reserve({ tokens: 40 }), { ms: 62_000 })
    .appends('BudgetReserved')
  given(limited(100), reserved(1, 60))
    .when(reserve({ tokens: 40 }), { ms: 62_001 })
    .appends('ReservationExpired', 'BudgetReserved')
  given(limited(100), reserved(1, 60))
    .when(reserve({ tokens: 41 }), { ms: 62_001 })
    .refused('budget-exceeded', { spent: '60', reserved: '0' })
    .recorded('ReservationExpired', 'BudgetExceeded')
})

budget('a late settle takes the place of the estimate', () => {
  given(limited(100), reserved(1, 60), expired)
    .when(settle(1, { tokens: 10 }))
    .appends(['UsageRecorded', { reservationId: id(1) }])
    .leads((state) => assert.equal([state.spend.tokens, state.reservations[`$${id(1)}`]?.status], [10, 'settled']))
  given(limited(100), reserved(1, 60), expired).when(release(1)).refused('reservation-ended')
})

budget('overshoot is how far the sum stands over, of the run or of the agent', () => {
  const run = started({ budget: { tokens: 100, agents: { ann: { tokens: 10 } } } })
  given(run, used(90))
    .when(use({ tokens: 10 }))
    .appends(['UsageRecorded', { overshoot: undefined as never }])
  given(run, used(90))
    .when(use({ tokens: 15 }))
    .appends(['UsageRecorded', { overshoot: { tokens: 5, cost: '0' } }])
  given(run)
    .when(use({ tokens: 15 }, 'ann'))
    .appends(['UsageRecorded', { overshoot: { tokens: 5, cost: '0' } }])
  given(run, reserved(1, 60), expired)
    .when(settle(1, { tokens: 100 }))
    .appends(['UsageRecorded', { overshoot: undefined as never }])
})

budget("one currency a run: the budget's, else the first one named; usage without one is in it", () => {
  const euro = started({ budget: { cost: { limit: '5', currency: 'EUR' } } })
  given(euro)
    .when(reserve({ cost: '1', currency: 'USD' }))
    .refused('currency-mismatch', { expected: 'EUR', actual: 'USD' })
  given(started(), used(1, { usage: { tokens: 1, cost: '1', currency: 'USD' } }))
    .when(reserve({ cost: '1', currency: 'EUR' }))
    .refused('currency-mismatch')
  given(euro)
    .when(use({ tokens: 1, cost: '1' }))
    .appends(['UsageRecorded', { usage: { tokens: 1, cost: '1', currency: 'EUR' } }])
})

budget('after the end nothing is reserved, and all is recorded', () => {
  given(started(), reserved(1, 5), ended('RunCompleted'))
    .when(reserve({ tokens: 1 }))
    .refused('run-ended')
  given(started(), reserved(1, 5), ended('RunCompleted'))
    .when(settle(1, { tokens: 1 }))
    .appends('UsageRecorded')
  given(started(), reserved(1, 5), ended('RunCompleted')).when(release(1)).appends('BudgetReleased')
  given(started(), ended('RunCompleted'))
    .when(use({ tokens: 1 }))
    .appends('UsageRecorded')
})

budget("a deadline counts from the stream's own time where the clock lags", () => {
  given([50_000, started()])
    .when(reserve({ tokens: 1, deadlineMs: 1_000 }), { ms: 0 })
    .appends(['BudgetReserved', { deadline: at(51_000) }])
})

budget(
  'tokens of an envelope count unless its own agent, or nobody in particular, made a model call since its last one',
  () => {
    const spent = (...events: readonly Draft[]) => given(...events).state().spend.tokens
    const hand = (step: number, agent: string) => accepted(step, {}, { agent, tokens: 10 })
    const model = (n: number, agent?: string) =>
      claimed(n, { phase: 'model', ...(agent === undefined ? {} : { agent }) })
    assert.is(spent(started(), hand(1, 'ann')), 10)
    assert.is(spent(started(), model(1, 'ann'), hand(1, 'ann')), 0)
    assert.is(spent(started(), model(1, 'ann'), hand(1, 'bob'), hand(2, 'ann')), 10)
    assert.is(spent(started(), model(1, 'ann'), hand(1, 'ann'), hand(2, 'ann')), 10)
    assert.is(spent(started(), model(1), hand(1, 'ann'), hand(2, 'ann')), 10)
  },
)

const amount = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 17n }), fc.boolean())
  .map(([nano, negative]) => fromNano(negative ? -nano : nano))

budget('money adds up exactly, negative amounts and zeros too', () => {
  const signed = (text: string) => (text.startsWith('-') ? -toNano(text.slice(1)) : toNano(text))
  fc.assert(
    fc.property(amount, amount, (a, b) => {
      assert.is(signed(addMoney(a, b)), signed(a) + signed(b))
      assert.is(signed(subtractMoney(a, b)), signed(a) - signed(b))
      assert.is(subtractMoney(addMoney(a, b), b), fromNano(signed(a)))
    }),
  )
  assert.is(addMoney('0', '-0.25'), '-0.25')
})

budget.run()
