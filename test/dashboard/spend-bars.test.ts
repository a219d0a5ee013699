import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { roundEnd, spendScales } from '../../src/dashboard/spend-bars.ts'
import { drive, ok } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: charts of spending')

const spent = (key: string, cost: string, tokens = 1, currency = 'USD') => ({ key, cost, tokens, currency })
const held = (agent: string, cost: string, currency = 'USD') => ({
  agent,
  run: 'r',
  reservations: 1,
  tokens: 5,
  cost,
  currency,
})
const whole = { isComplete: true, reserved: [] }

test('a bar is as long as its amount, on an axis that ends at a round number and says its unit', () => {
  const items = [spent('a', '0.05'), spent('b', '0.2'), spent('c', '0'), spent('d', '-0.1')]
  const [scale] = spendScales(items, { by: 'agent', ...whole })
  assert.equal(scale?.ticks, ['0', '0.10', '0.20 USD'])
  assert.equal(
    scale?.bars.map(({ key, spent: part }) => [key, part]),
    [
      ['b', 1],
      ['a', 0.25],
      ['c', 0],
      ['d', 0],
    ],
  )
})

test('each currency has its own axis, and where no money was spent the bars measure tokens', () => {
  const items = [spent('a', '1', 1, 'USD'), spent('a', '500', 1, 'JPY'), { key: 'b', cost: '0', tokens: 30 }]
  const scales = spendScales(items, { by: 'agent', ...whole })
  assert.equal(
    scales.map(({ unit, ticks }) => [unit, ticks.at(-1)]),
    [
      ['USD', '1 USD'],
      ['JPY', '500 JPY'],
      ['tokens', '40 tokens'],
    ],
  )
})

test('what is reserved is drawn behind what was spent and never added to it; who only reserved has a row too', () => {
  const reserved = [held('a', '0.05'), held('a', '0.05'), held('new', '0.1'), held('a', '7', 'EUR')]
  const [usd, eur] = spendScales([spent('a', '0.1')], { by: 'agent', isComplete: true, reserved })
  assert.equal(
    usd?.bars.map(({ key, cost, reservedCost }) => [key, cost, reservedCost]),
    [
      ['a', '0.1', '0.1'],
      ['new', '0', '0.1'],
    ],
  )
  assert.equal(usd?.bars[0]?.spent, usd?.bars[0]?.reserved)
  assert.equal([eur?.unit, eur?.bars[0]?.cost], ['EUR', '0'])
  // Where not all rows are known, nobody is said to have spent nothing.
  assert.is(spendScales([spent('a', '0.1')], { by: 'agent', isComplete: false, reserved })[0]?.bars.length, 1)
})

test('an axis ends at or beyond its largest amount, and never at more than two and a half times of it', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 1e15, noNaN: true }), (most) => {
      const end = roundEnd(most)
      return end >= most * (1 - 1e-9) && end <= most * 2.5
    }),
  )
  assert.is(roundEnd(0), 1)
})

test('the page of spending says what is reserved apart from what was spent', async () => {
  await using edge = await testEdge({ audit: true })
  const run = drive({ ledger: edge.inner.ledger }, 'r', { tenant: edge.tenant, actor: 'alice' })
  await run.start({ budget: { cost: { limit: '9.00', currency: 'USD' } } })
  ok(await run.do({ kind: 'usage', body: { agent: 'ann', usage: { tokens: 10, cost: '0.20', currency: 'USD' } } }))
  ok(await run.do({ kind: 'reserve', body: { agent: 'ann', tokens: 5, cost: '0.05', currency: 'USD' } }))
  const html = await (await signedIn(edge)).html('/ui/spend')
  assert.match(html, /Spent, USD[\s\S]*?0\.20? USD/)
  assert.match(html, /Reserved, not spent[\s\S]*?0\.05 USD[\s\S]*?1 reservation/)
  const [, agents = ''] = /aria-label="By agent"([\s\S]*?)<\/section>/.exec(html) ?? []
  const widths = [...agents.matchAll(/class="share-(bar|reserved)" x="\d+" y="\d+" width="(\d+)"/g)]
  const [bar, reserved] = widths.map(([, , width]) => Number(width))
  assert.is((bar ?? 0) / (reserved ?? 1), 4)
  assert.match(agents, /reserved, not spent/)
})

test.run()
