import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { addMoney } from '../../../schemas/money.ts'
import type { Command } from '../../../src/ledger/ledger.ts'
import { askAll } from '../../support/audited.ts'
import { fork } from '../../support/fork-driver.ts'
import { randomRun } from '../../support/random-run.ts'
import { drive, ok, verifiedFold } from '../../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const spend = suite('audit: spending recomputed from events')

type Step =
  | {
      readonly do: 'reserve'
      readonly agent: string
      readonly tokens: number
      readonly cost: string
      readonly model: string | undefined
    }
  | { readonly do: 'settle' | 'release'; readonly which: number; readonly tokens: number; readonly cost: string }
  | {
      readonly do: 'use'
      readonly agent: string
      readonly tokens: number
      readonly cost: string
      readonly model: string | undefined
    }
  | { readonly do: 'model-call'; readonly agent: string; readonly tokens: number }
  | { readonly do: 'claim-again'; readonly agent: string; readonly tokens: number }
  | { readonly do: 'hand'; readonly agent: string; readonly tokens: number; readonly bad: boolean }
  | { readonly do: 'pass' }

const agent = fc.constantFrom('a', 'b', '__proto__')
const model = fc.constantFrom('small', 'large', undefined)
const tokens = fc.nat(50)
const cost = fc.constantFrom('0', '0.1', '0.000000001', '12.5', '999999.999999999')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('reserve' as const), agent, tokens, cost, model }),
  fc.record({ do: fc.constantFrom('settle' as const, 'release' as const), which: fc.nat(5), tokens, cost }),
  fc.record({ do: fc.constant('use' as const), agent, tokens, cost, model }),
  fc.record({ do: fc.constant('model-call' as const), agent, tokens }),
  fc.record({ do: fc.constant('claim-again' as const), agent, tokens }),
  fc.record({ do: fc.constant('hand' as const), agent, tokens, bad: fc.boolean() }),
  fc.record({ do: fc.constant('pass' as const) }),
)

async function take(test: TestLedger, runId: string, steps: readonly Step[]): Promise<void> {
  const reservations: string[] = []
  const run = <C extends Command>(command: C) => test.ledger.execute(alice, runId, command, {})
  const driver = drive(test, runId)
  for (const each of steps) {
    switch (each.do) {
      case 'pass':
        test.clock.nowMs += 20_000
        break
      case 'reserve': {
        const { tokens, cost, model } = each
        const body = { agent: each.agent, tokens, cost, deadlineMs: 5_000, ...(model && { model, provider: 'p' }) }
        const outcome = await run({ kind: 'reserve', body })
        if (outcome.ok) reservations.push(String(outcome.body.reservationId))
        break
      }
      case 'settle':
      case 'release': {
        const reservationId = reservations[each.which]
        if (reservationId === undefined) break
        const usage = { tokens: each.tokens, cost: each.cost }
        if (each.do === 'settle') await run({ kind: 'settle-reservation', reservationId, body: { usage } })
        else await run({ kind: 'release', reservationId, body: {} })
        break
      }
      case 'use': {
        const { tokens, cost, model } = each
        await run({ kind: 'usage', body: { agent: each.agent, usage: { tokens, cost, ...(model && { model }) } } })
        break
      }
      case 'model-call': {
        const claim = await driver.claim('model:p', { phase: 'model', agent: each.agent })
        if (claim.ok) await driver.settle(String(claim.body.callId), { usage: { tokens: each.tokens, model: 'small' } })
        break
      }
      case 'claim-again': {
        const reserve = { agent: each.agent, tokens: each.tokens, deadlineMs: 5_000 }
        await driver.claim('again', { key: 'again', leaseMs: 1_000, onUnknown: 'retry', agent: each.agent, reserve })
        break
      }
      case 'hand':
        await driver.hand(each.agent, each.bad ? { n: 1 } : { facts: ['f'], n: each.tokens }, { tokens: each.tokens })
    }
  }
}

const sum = (items: readonly JsonObject[]) => ({
  tokens: items.reduce((total, item) => total + Number(item.tokens), 0),
  cost: items.reduce((total, item) => addMoney(total, String(item.cost)), '0'),
})

spend(
  'by run, agent, model, day and tenant, the sums of the charges are the totals of the runs, to the last decimal',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.array(step, { maxLength: 10 }), async (first, second) => {
        await using test = await testLedger({ audit: 'unrecorded' })
        await drive(test, 'one').start({ budget: { cost: { limit: '999999999', currency: 'EUR' } } })
        await take(test, 'one', first)
        // Half way: the index must go on from what it has saved.
        await askAll(test.ledger, 'spend')
        await take(test, 'one', second)
        await drive(test, 'two').start({ budget: { cost: { limit: '999999999', currency: 'USD' } } })
        await take(test, 'two', first)

        const totals: { tokens: number; cost: string }[] = []
        for (const run of ['one', 'two']) {
          const { spend: total, spendByAgent } = await verifiedFold(test, run)
          const byRun = await askAll(test.ledger, 'spend', { by: 'run', filter: { run } })
          assert.equal(sum(byRun), { tokens: total.tokens, cost: total.cost })
          totals.push(sum(byRun))
          for (const [slot, of] of Object.entries(spendByAgent)) {
            const agents = await askAll(test.ledger, 'spend', { by: 'agent', filter: { run, agent: slot.slice(1) } })
            assert.equal(sum(agents), { tokens: of.tokens, cost: of.cost }, slot)
          }
        }
        const whole = {
          tokens: totals.reduce((total, each) => total + each.tokens, 0),
          cost: totals.reduce((total, each) => addMoney(total, each.cost), '0'),
        }
        for (const by of ['run', 'agent', 'model', 'day', 'month', 'tenant']) {
          assert.equal(sum(await askAll(test.ledger, 'spend', { by, page: { limit: 2 } })), whole, by)
        }
      }),
      { numRuns: 40 },
    )
  },
)

spend('runs that do a little of everything, forks among it, cost in sum what their own folds say', async () => {
  await using test = await testLedger({ audit: 'unrecorded' })
  for (let seed = 1; seed <= 25; seed += 1) {
    const runId = `r${seed}`
    await randomRun(test, runId, { seed })
    const driver = drive(test, runId)
    if ((await driver.state()).status === 'open') {
      const branches = await fork(driver, 'union', ['left', 'right']).catch(() => undefined)
      await branches?.report('left', { output: { left: 1 }, tokens: 7 })
      await branches?.report('right', { error: { message: 'no' }, tokens: 5 })
      await branches?.join()
    }
    const { spend: total, spendByAgent } = await verifiedFold(test, runId)
    assert.equal(sum(await askAll(test.ledger, 'spend', { filter: { run: runId } })), {
      tokens: total.tokens,
      cost: total.cost,
    })
    for (const [slot, of] of Object.entries(spendByAgent)) {
      const rows = await askAll(test.ledger, 'spend', { by: 'agent', filter: { run: runId, agent: slot.slice(1) } })
      assert.equal(sum(rows), { tokens: of.tokens, cost: of.cost }, `${runId} ${slot}`)
    }
  }
  const charged = await askAll(test.ledger, 'spend', { by: 'agent', filter: { agent: 'left' } })
  assert.ok(charged.length > 0, 'a branch must have cost something')
})

spend('a sum that no double and no 64-bit integer holds is exact', async () => {
  await using test = await testLedger({ audit: 'unrecorded' })
  for (let at = 0; at < 12; at += 1) {
    const run = drive(test, `r${at}`)
    await run.start()
    const usage = { tokens: 1_000_000_000, cost: '999999999.999999999', currency: 'USD', model: 'm' }
    ok(await run.do({ kind: 'usage', body: { agent: 'a', usage } }))
  }
  const [total, ...none] = await askAll(test.ledger, 'spend', { by: 'model' })
  assert.equal(
    [total?.key, total?.tokens, total?.cost, total?.currency],
    ['m', 12_000_000_000, '11999999999.999999988', 'USD'],
  )
  assert.equal(none, [])
})

spend('currencies are never added up', async () => {
  await using test = await testLedger({ audit: 'unrecorded' })
  for (const currency of ['USD', 'EUR']) {
    const run = drive(test, currency)
    await run.start()
    ok(await run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 1, cost: '1.5', currency } } }))
  }
  const rows = await askAll(test.ledger, 'spend', { by: 'tenant', page: { limit: 1 } })
  assert.equal(
    rows.map(({ currency, cost }) => [currency, cost]),
    [
      ['EUR', '1.5'],
      ['USD', '1.5'],
    ],
  )
})

spend('a sum as of an earlier size of the log stays what it was', async () => {
  await using test = await testLedger({ audit: 'unrecorded' })
  const run = drive(test, 'r')
  await run.start()
  ok(await run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 5 } } }))
  const before = await askAll(test.ledger, 'spend')
  ok(await run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 7 } } }))
  assert.equal(await askAll(test.ledger, 'spend', { page: { treeSize: 2 } }), before)
  assert.is(sum(await askAll(test.ledger, 'spend')).tokens, 12)
})

spend.run()
