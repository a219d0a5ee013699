import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { drive, ok } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: the page of spending')

const DAY_MS = 86_400_000
const [DAYS, AGENTS, RUNS, RESERVATIONS] = [75, 41, 33, 260]

interface Spent {
  readonly day: string
  readonly agent: string
  readonly run: string
  readonly cents: number
  readonly tokens: number
}

/** Sums by a member of what was spent, largest first. */
function summed(spent: readonly Spent[], by: 'day' | 'agent' | 'run'): [string, number][] {
  const sums = new Map<string, number>()
  for (const each of spent) sums.set(each[by], (sums.get(each[by]) ?? 0) + each.cents)
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
}

const centsOf = (text: string | undefined): number => Math.round(Number((text ?? '').replaceAll(',', '')) * 100)

/** The rows of a chart, and what it says of the others. */
function chartOf(html: string, title: string) {
  const [, section = ''] = new RegExp(`aria-label="${title}"([\\s\\S]*?)</section>`).exec(html) ?? []
  const rows = [...section.matchAll(/<th scope="row">([\s\S]*?)<\/th>[\s\S]*?<td class="number">([\d,.]+) USD/g)].map(
    ([, name = '', cost]): [string, number] => [name.replaceAll(/<[^>]*>/g, '').trim(), centsOf(cost)],
  )
  const [, others, cost] = /and ([\d,]+) (?:more|earlier days): ([\d,.]+) USD/.exec(section) ?? []
  return { rows, others: Number(others ?? 0), othersCents: centsOf(cost ?? '0') }
}

test('every chart shows the largest, or the newest days, of more than it lists, and with what it says of the others comes to the total (HTTP-45)', async () => {
  await using edge = await testEdge({ audit: true, realClock: false })
  const spent: Spent[] = []
  const runs = Array.from({ length: RUNS }, (_, i) => `run-${String(i).padStart(2, '0')}`)
  const drivers = await Promise.all(
    runs.map(async (run) => {
      const driver = drive({ ledger: edge.inner.ledger }, run, { tenant: edge.tenant, actor: 'alice' })
      await driver.start({ budget: { cost: { limit: '900000.00', currency: 'USD' } } })
      return driver
    }),
  )
  for (let i = 0; i < DAYS; i += 1) {
    edge.inner.clock.nowMs += DAY_MS
    const day = new Date(edge.inner.clock.nowMs).toISOString().slice(0, 10)
    // The agent and the run that cost most come last by their names, and late.
    const isLarge = i === DAYS - 2
    const agent = isLarge ? 'zz' : `agent-${String(i % (AGENTS - 1)).padStart(2, '0')}`
    const run = isLarge ? (runs.at(-1) ?? '') : (runs[i % RUNS] ?? '')
    const cents = isLarge ? 50_000 : 1 + ((i * 7) % 23)
    spent.push({ day, agent, run, cents, tokens: 10 + i })
    const usage = { tokens: 10 + i, cost: (cents / 100).toFixed(2), currency: 'USD' }
    const driver = drivers[runs.indexOf(run)]
    ok((await driver?.do({ kind: 'usage', body: { agent, usage } })) as never)
  }
  let reservedCents = 0
  for (let i = 0; i < RESERVATIONS; i += 1) {
    reservedCents += 1 + (i % 5)
    const cost = ((1 + (i % 5)) / 100).toFixed(2)
    const body = { agent: `agent-0${i % 3}`, tokens: 5, cost, currency: 'USD', deadlineMs: 3_600_000 }
    ok((await drivers[i % 7]?.do({ kind: 'reserve', body })) as never)
  }

  const html = await (await signedIn(edge)).html('/ui/spend')
  const total = spent.reduce((sum, { cents }) => sum + cents, 0)
  const [, totalText] = /Spent, USD[\s\S]*?([\d,.]+) USD/.exec(html) ?? []
  assert.is(centsOf(totalText), total)
  const [, reservedText] = /Reserved, not spent[\s\S]*?([\d,.]+) USD/.exec(html) ?? []
  assert.is(centsOf(reservedText), reservedCents)
  assert.match(html, new RegExp(`${RESERVATIONS} reservations`))
  for (const [title, by, shown] of [
    ['By agent', 'agent', 20],
    ['By run', 'run', 20],
    ['By day', 'day', 60],
  ] as const) {
    const sums = summed(spent, by)
    const expected = by === 'day' ? sums.sort(([a], [b]) => (a < b ? 1 : -1)).slice(0, shown) : sums.slice(0, shown)
    const { rows, others, othersCents } = chartOf(html, title)
    const byKey = (some: readonly [string, number][]) => [...some].sort(([a], [b]) => (a < b ? -1 : 1))
    assert.equal(byKey(rows), byKey(expected), title)
    assert.is(others, sums.length - shown, title)
    assert.is(rows.reduce((sum, [, cents]) => sum + cents, 0) + othersCents, total, title)
  }

  const overview = await (await signedIn(edge)).html('/ui/overview?period=all')
  const [, card = ''] = /Who spent what\?([\s\S]*?)<\/section>/.exec(overview) ?? []
  assert.match(card, /zz[\s\S]*?500(?:\.00)? USD/)
  const [, more] = /and ([\d,]+) more/.exec(card) ?? []
  assert.is(Number(more), AGENTS - 5)
})

test.run()
