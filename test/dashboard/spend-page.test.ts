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

const nanoOf = (cost: string): bigint => {
  const [whole = '0', fraction = ''] = cost.split('.')
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
}

test('what was reported and what is estimated are two figures, and the events that a row leads to add up to both (HTTP-77)', async () => {
  await using edge = await testEdge({ audit: true, realClock: false })
  const run = drive({ ledger: edge.inner.ledger }, 'order', { tenant: edge.tenant, actor: 'alice' })
  await run.start({ budget: { cost: { limit: '900.00', currency: 'USD' } } })
  const reserve = async (cents: number) => {
    const body = { agent: 'a', tokens: cents, cost: (cents / 100).toFixed(2), currency: 'USD', deadlineMs: 1_000 }
    return String(ok(await run.do({ kind: 'reserve', body })).reservationId)
  }
  const reserved = [await reserve(11), await reserve(13), await reserve(17)]
  edge.inner.clock.nowMs += 60_000
  await reserve(1)
  const late = { tokens: 3, cost: '0.02', currency: 'USD' }
  ok(await run.do({ kind: 'settle-reservation', reservationId: reserved[1] ?? '', body: { usage: late } }))
  ok(await run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 5, cost: '0.05', currency: 'USD' } } }))
  await run.hand('b', { note: 'x' }, { tokens: 40 })

  const { items } = (await (await edge.get('/v1/audit/spend?by=run')).json()) as { items: Record<string, never>[] }
  const row = items.find(({ currency }) => currency === 'USD') ?? {}
  const links = row.links as { events?: string } | undefined
  const listed = (await (await edge.get(`${links?.events}&limit=500`)).json()) as { items: { event: string }[] }
  const ids = new Set(listed.items.map(({ event }) => event))
  const events = (await run.events()).filter(({ header }) => ids.has(header.id))
  const held = new Map(
    (await run.events()).flatMap(({ header, data }) =>
      header.type === 'BudgetReserved' ? [[String(data.reservationId), String(data.cost)] as const] : [],
    ),
  )
  const estimates = new Map<string, string>()
  let reported = 0n
  for (const { header, data } of events) {
    const id = String(data.reservationId)
    if (header.type === 'ReservationExpired') estimates.set(id, held.get(id) ?? '')
    if (header.type !== 'UsageRecorded') continue
    estimates.delete(id)
    reported += nanoOf(String((data.usage as { cost?: string }).cost))
  }
  const estimated = [...estimates.values()].reduce((sum, cost) => sum + nanoOf(cost), 0n)
  assert.equal([reported, estimated], [nanoOf('0.07'), nanoOf('0.28')])
  assert.equal(
    [row.reportedCost, row.estimatedCost, row.cost].map((cost) => nanoOf(String(cost))),
    [reported, estimated, reported + estimated],
  )
  const page = await (await signedIn(edge)).html('/ui/spend')
  assert.match(page, /of it estimated: 0\.28 USD/)
  assert.match(page, /Reported[\s\S]*Estimated[\s\S]*0\.07 USD[\s\S]*class="number estimated">0\.28 USD/)
})

test.run()
