import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { PostReservation, StartRun } from '../../schemas/requests.ts'
import { drive, idempotent, ok, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { testLedger } from '../support/test-ledger.ts'

const budget = suite('budget')

async function open(limits: NonNullable<StartRun['budget']> = {}) {
  const test = await testLedger()
  const run = drive(test, 'r')
  await run.start({ budget: limits })
  const reserve = (body: Partial<PostReservation>) => run.do({ kind: 'reserve', body: { agent: 'a', ...body } })
  const settle = (id: unknown, usage: { tokens: number; cost?: string; currency?: string }) =>
    run.do({ kind: 'settle-reservation', reservationId: String(id), body: { usage } })
  return {
    test,
    run,
    reserve,
    settle,
    pass: (ms: number): void => {
      test.clock.nowMs += ms
    },
    [Symbol.asyncDispose]: async () => {
      await verifiedFold(test, 'r')
      assert.is((await replayed(test.ledger, 'r')).verdict, 'VERIFIED')
      await test[Symbol.asyncDispose]()
    },
  }
}

budget('32 agents that reserve at once where 10 fit: exactly 10 get it (RUN-43)', async () => {
  await using at = await open({ tokens: 1_000 })
  const outcomes = await Promise.all(Array.from({ length: 32 }, (_, i) => at.reserve({ agent: `a${i}`, tokens: 100 })))
  assert.is(outcomes.filter((each) => each.ok).length, 10)
  assert.equal([(await at.run.budget()).reservedTokens, (await at.run.budget()).tokens], [1_000, 0])
})

budget('money is counted to the last of nine decimals (REC-17)', async () => {
  await using at = await open({ cost: { limit: '0.3', currency: 'EUR' } })
  ok(await at.reserve({ cost: '0.1' }))
  ok(await at.reserve({ cost: '0.2' }))
  refusedWith(await at.reserve({ cost: '0.000000001' }), 'budget-exceeded')
  ok(await at.reserve({ cost: '0.00' }))
})

budget('sums of 18 digits are kept exactly; a sum of 19 is refused (REC-17)', async () => {
  await using at = await open()
  ok(
    await at.run.do({
      kind: 'usage',
      body: { agent: 'a', usage: { tokens: 1, cost: '999999999.999999998', currency: 'EUR' } },
    }),
  )
  ok(await at.reserve({ cost: '0.000000001' }))
  refusedWith(await at.reserve({ cost: '0.000000001' }), 'budget-exceeded')
  refusedWith(
    await at.run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 1, cost: '999999999' } } }),
    'budget-exceeded',
  )
  const { cost, reservedCost } = await at.run.budget()
  assert.equal([cost, reservedCost], ['999999999.999999998', '0.000000001'])
})

budget('an agent has limits of its own, also one with a name that every object knows', async () => {
  await using at = await open({ tokens: 100, agents: { ann: { tokens: 10 } } })
  refusedWith(await at.reserve({ agent: 'ann', tokens: 11 }), 'budget-exceeded')
  ok(await at.reserve({ agent: 'ann', tokens: 10 }))
  for (const agent of ['constructor', 'toString', '__proto__', 'hasOwnProperty', '7'])
    ok(await at.reserve({ agent, tokens: 1 }))
  const agents = (await at.run.budget()).agents as JsonObject
  assert.equal(Object.entries(agents).find(([name]) => name === '__proto__')?.[1], {
    tokens: 0,
    cost: '0',
    reservedTokens: 1,
    reservedCost: '0',
  })
})

budget('a refusal is on record once, and says who wanted what', async () => {
  await using at = await open({ tokens: 10 })
  const first = refusedWith(await at.reserve({ tokens: 11 }), 'budget-exceeded')
  assert.equal(first.evidence, {
    agent: 'a',
    scope: 'run',
    dimension: 'tokens',
    limit: '10',
    spent: '0',
    reserved: '0',
    requested: '11',
  })
  refusedWith(await at.reserve({ tokens: 11 }), 'budget-exceeded')
  refusedWith(await at.reserve({ tokens: 12 }), 'budget-exceeded')
  assert.equal(await at.run.types(), ['RunStarted', 'BudgetExceeded', 'BudgetExceeded'])
})

budget('settled usage takes the place of what was reserved; a release gives it back', async () => {
  await using at = await open({ tokens: 100 })
  const one = ok(await at.reserve({ tokens: 60 })).reservationId
  ok(await at.settle(one, { tokens: 20 }))
  const two = ok(await at.reserve({ tokens: 80 })).reservationId
  ok(await at.run.do({ kind: 'release', reservationId: String(two), body: {} }))
  assert.equal([(await at.run.budget()).tokens, (await at.run.budget()).reservedTokens], [20, 0])
  refusedWith(await at.settle(one, { tokens: 1 }), 'reservation-ended')
  refusedWith(await at.run.do({ kind: 'release', reservationId: String(two), body: {} }), 'reservation-ended')
  refusedWith(await at.settle('00000000-0000-4000-8000-000000000000', { tokens: 1 }), 'reservation-not-found')
})

budget(
  'past its deadline a reservation is charged in full, on record; a late settle corrects it (RUN-45)',
  async () => {
    await using at = await open({ tokens: 100 })
    const late = ok(await at.reserve({ tokens: 60, deadlineMs: 1_000 })).reservationId
    at.pass(3_000)
    refusedWith(await at.reserve({ tokens: 50 }), 'budget-exceeded')
    assert.is((await at.run.budget()).reservedTokens, 60, 'not before the grace is over')
    at.pass(1)
    ok(await at.reserve({ tokens: 40 }))
    assert.equal([(await at.run.budget()).tokens, (await at.run.budget()).reservedTokens], [60, 40])
    ok(await at.settle(late, { tokens: 10 }))
    assert.equal([(await at.run.budget()).tokens, (await at.run.budget()).reservedTokens], [10, 40])
  },
)

budget(
  'a refusal that meets an expired reservation stays a refusal, also where an equal one is on record already',
  async () => {
    await using at = await open({ tokens: 100 })
    ok(await at.reserve({ tokens: 60, deadlineMs: 1_000 }))
    refusedWith(await at.reserve({ tokens: 50 }), 'budget-exceeded')
    at.pass(10_000)
    const again = await at.run.do({ kind: 'reserve', body: { agent: 'a', tokens: 50 } }, idempotent('k'))
    refusedWith(again, 'budget-exceeded')
    assert.equal(await at.run.types(), ['RunStarted', 'BudgetReserved', 'BudgetExceeded', 'ReservationExpired'])
    refusedWith(
      await at.run.do({ kind: 'reserve', body: { agent: 'a', tokens: 50 } }, idempotent('k')),
      'budget-exceeded',
    )
  },
)

budget('usage is recorded whatever it is, as overshoot where it is over (RUN-44)', async () => {
  await using at = await open({ tokens: 10, cost: { limit: '1', currency: 'EUR' }, agents: { ann: { tokens: 2 } } })
  const usage = (agent: string, tokens: number, cost: string) =>
    at.run.do({ kind: 'usage', body: { agent, usage: { tokens, cost } } })
  assert.equal(ok(await usage('ann', 5, '0.5')).overshoot, { tokens: 3, cost: '0' })
  assert.equal(ok(await usage('bob', 5, '0.75')).overshoot, { tokens: 0, cost: '0.25' })
  assert.equal(ok(await usage('bob', 5, '0')).overshoot, { tokens: 5, cost: '0.25' })
  refusedWith(await at.reserve({ tokens: 1 }), 'budget-exceeded')
  const late = (await at.run.budget()).tokens
  assert.is(late, 15)
})

budget('a run counts in one currency (RUN-49)', async () => {
  await using at = await open()
  ok(await at.reserve({ cost: '1', currency: 'EUR' }))
  assert.is(refusedWith(await at.reserve({ cost: '1', currency: 'USD' }), 'currency-mismatch').pointer, '/currency')
  const usage = await at.run.do({
    kind: 'usage',
    body: { agent: 'a', usage: { tokens: 1, cost: '1', currency: 'USD' } },
  })
  assert.is(refusedWith(usage, 'currency-mismatch').pointer, '/usage/currency')
  ok(await at.reserve({ cost: '1' }))
})

budget('a claim reserves and a settle reports in one write each', async () => {
  await using at = await open({ tokens: 100 })
  const callId = await at.run.claimed('ask', { reserve: { tokens: 80 } })
  refusedWith(await at.run.claim('ask', { reserve: { tokens: 21 } }), 'budget-exceeded')
  ok(await at.run.settle(callId, { result: 1, usage: { tokens: 30 } }))
  const free = await at.run.claimed('ask', { reserve: { tokens: 70 } })
  ok(await at.run.settle(free, { error: { message: 'never sent' } }))
  assert.equal([(await at.run.budget()).tokens, (await at.run.budget()).reservedTokens], [30, 0])
})

budget('a call whose outcome is not known keeps its reservation: it may have cost', async () => {
  await using at = await open({ tokens: 100 })
  const callId = await at.run.claimed('ask', { reserve: { tokens: 80, deadlineMs: 60_000 } })
  ok(await at.run.settle(callId, { unknown: { reason: 'timed out' } }))
  assert.is((await at.run.budget()).reservedTokens, 80)
  refusedWith(await at.reserve({ tokens: 21 }), 'budget-exceeded')
  ok(await at.run.settle(callId, { result: 1, usage: { tokens: 5 } }))
  assert.equal([(await at.run.budget()).tokens, (await at.run.budget()).reservedTokens], [5, 0])
})

budget(
  'a call claimed anew charges what its last attempt had reserved, and a late settle of that one corrects it',
  async () => {
    await using at = await open({ tokens: 100 })
    const claim = { key: 'k', reserve: { tokens: 40 }, onUnknown: 'retry', leaseMs: 1_000 } as const
    const callId = await at.run.claimed('ask', claim)
    at.pass(10_000)
    ok(await at.run.claim('ask', claim))
    const { tokens, reservedTokens } = await at.run.budget()
    assert.equal([tokens, reservedTokens], [40, 40])
    ok(await at.run.settle(callId, { fence: 2, result: 1, usage: { tokens: 3 } }))
    refusedWith(await at.run.settle(callId, { fence: 1, result: 1, usage: { tokens: 5 } }), 'stale-fence')
    assert.is((await at.run.budget()).tokens, 8)
    ok(await at.run.do({ kind: 'complete', body: {} }))
  },
)

budget(
  'a claim that the budget refuses is on record with its key, and the reservation of its last attempt stays',
  async () => {
    await using at = await open({ tokens: 50 })
    const claim = { key: 'k', onUnknown: 'retry', leaseMs: 1_000 } as const
    await at.run.claimed('ask', { ...claim, reserve: { tokens: 40 } })
    at.pass(10_000)
    refusedWith(await at.run.claim('ask', { ...claim, reserve: { tokens: 20 } }), 'budget-exceeded')
    const last = (await at.run.events()).findLast(({ header }) => header.type === 'BudgetExceeded')
    assert.equal((last?.data as { claim?: object } | undefined)?.claim, { tool: 'ask', phase: 'forward', key: 'k' })
    assert.is((await at.run.budget()).reservedTokens, 40)
  },
)

budget(
  'tokens of an envelope are charged where its agent recorded no model call; a refused one cost them too (RUN-48)',
  async () => {
    await using at = await open()
    const tokens = async () => (await at.run.budget()).tokens
    await at.run.hand('ann', { facts: ['x'] }, { tokens: 10 })
    assert.is(await tokens(), 10)
    const model = await at.run.claimed('model:x', { phase: 'model', agent: 'ann' })
    ok(await at.run.settle(model, { result: 1, usage: { tokens: 7 } }))
    await at.run.hand('bob', { facts: ['x'] }, { tokens: 3 })
    await at.run.hand('ann', { facts: ['x'] }, { tokens: 7 })
    assert.is(await tokens(), 20)
    refusedWith(await at.run.hand('ann', { gone: true }, { tokens: 100 }), 'contradiction')
    assert.is(await tokens(), 120)
  },
)

budget(
  'a model call that nobody waits for keeps no run from its end, and is charged there; any other call does',
  async () => {
    await using at = await open({ tokens: 100 })
    await at.run.claimed('model:x', { phase: 'model', reserve: { tokens: 40 }, leaseMs: 1_000 })
    refusedWith(await at.run.do({ kind: 'complete', body: {} }), 'open-work')
    at.pass(10_000)
    const other = await at.run.claimed('pay', { leaseMs: 1_000 })
    at.pass(10_000)
    refusedWith(await at.run.do({ kind: 'complete', body: {} }), 'open-work')
    ok(await at.run.settle(other))
    ok(await at.run.do({ kind: 'complete', body: {} }))
    const { tokens, reservedTokens } = await at.run.budget()
    assert.equal([tokens, reservedTokens], [40, 0])
  },
)

budget('after the end nothing more is reserved, and what was used is still recorded', async () => {
  await using at = await open({ tokens: 100 })
  const open_ = ok(await at.reserve({ tokens: 10 })).reservationId
  const undoable = await at.run.called('a', { compensate: { tool: 'undo' } })
  ok(await at.run.do({ kind: 'fail', body: { error: { message: 'x' } } }))
  refusedWith(await at.reserve({ tokens: 1 }), 'run-ended')
  ok(await at.settle(open_, { tokens: 4 }))
  ok(await at.run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 1 } } }))
  ok(await at.run.do({ kind: 'compensate', body: { reason: 'x' } }))
  const claim = { phase: 'compensation', key: undoable, args: {}, reserve: { tokens: 1 } } as const
  refusedWith(await at.run.claim('undo', claim), 'run-ended')
})

budget.run()
