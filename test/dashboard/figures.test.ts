import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { seededRandom } from '../support/random.ts'
import { drive, ok, refusedWith } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn, type UiClient } from '../support/ui-client.ts'

const test = suite('dashboard: figures of lists that are longer than their pages')

const RUNS = 130
const PENDING = 'approval-pending'

/** The text of every page of a list, from its first one on. */
async function pagesOf(client: UiClient, first: string): Promise<string> {
  const pages: string[] = []
  for (let path: string | undefined = first; path !== undefined; ) {
    const html = await client.html(path)
    pages.push(html)
    path = /<a href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  }
  assert.ok(pages.length > 1, `${first} has one page`)
  return pages.join('\n')
}

const plain = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
const numberOf = (text = ''): number => Number(text.replaceAll(',', ''))
const cell = (row: string, label: string): number => {
  const text = plain(new RegExp(`data-label="${label}">([\\s\\S]*?)</td>`).exec(row)?.[1] ?? '')
  return Number(/[\d,.]+/.exec(text)?.[0].replaceAll(',', '') ?? 0)
}

test('Runs, Refused and In doubt show of each run what its raw events add up to, over all of their pages', async () => {
  await using edge = await testEdge({ audit: true })
  const random = seededRandom(20_261_127)
  const expected = new Map<string, readonly number[]>()
  let refused = 0
  let inDoubt = 0
  for (let i = 0; i < RUNS; i += 1) {
    const run = drive({ ledger: edge.inner.ledger }, `r-${i}`, { tenant: edge.tenant, actor: 'alice' })
    await run.start({ policy: { suspect: 'refuse' }, budget: { cost: { limit: '9000.00', currency: 'USD' } } })
    await run.hand('a', { id: i, seat: '12C' })
    if (random() < 0.9) await run.hand('b', { id: i + 5_000, seat: '12C' })
    for (let n = Math.floor(random() * 3); n > 0; n -= 1) await run.called('look')
    if (random() < 0.9) ok(await run.settle(await run.claimed('pay'), { unknown: { reason: 'timed out' } }))
    const usage = { tokens: 1 + Math.floor(random() * 5_000), cost: (random() * 9).toFixed(2), currency: 'USD' }
    ok(await run.do({ kind: 'usage', body: { agent: 'a', usage } } as never))
    const events = await run.events()
    const counted = (type: string) => events.filter(({ header }) => header.type === type)
    const rejected = counted('EnvelopeRejected').length
    refused += rejected
    inDoubt += counted('ToolCallInDoubt').length
    const calls = counted('ToolCallClaimed').length
    expected.set(`r-${i}`, [rejected, calls, usage.tokens, Number(usage.cost)])
  }
  assert.ok(refused > 100 && inDoubt > 100, `${refused} ${inDoubt}`)

  const client = await signedIn(edge)
  const runs = await pagesOf(client, '/ui/runs')
  const rows = [...runs.matchAll(/<tr id="run-([^"]+)">([\s\S]*?)<\/tr>/g)]
  const shown = rows.map(([, id = '', row = '']) => [
    id,
    ['Refused', 'Calls', 'Tokens', 'Cost'].map((of) => cell(row, of)),
  ])
  assert.equal(shown.length, RUNS)
  for (const [id, figures] of shown) assert.equal([id, figures], [id, expected.get(String(id))])

  const rowsOf = (html: string): number =>
    [...html.matchAll(/<tbody>[\s\S]*?<\/tbody>/g)].join('').match(/<tr[ >]/g)?.length ?? 0
  assert.is(rowsOf(await pagesOf(client, '/ui/audit/rejections')), refused)
  assert.is(rowsOf(await pagesOf(client, '/ui/doubts')), inDoubt)
  const listed = async (path: string) => ((await (await edge.get(path)).json()) as { items: unknown[] }).items.length
  assert.is(await listed('/v1/calls?status=in-doubt&limit=500'), inDoubt)
  assert.is(await listed('/v1/runs?inDoubt=true&limit=500'), inDoubt)
  assert.is(edge.inner.ledger.stats().unsettled?.inDoubt, inDoubt)
})

test('the overview and Approvals, now and as of a size of the log, show what the raw events add up to', async () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  console.log(`seed ${seed}`)
  const random = seededRandom(seed)
  await using edge = await testEdge({ audit: true, merkleLogs: true })
  const spent = new Map<string, { cents: number; tokens: number }>()
  const pending = new Set<string>()
  for (let i = 0; i < 60; i += 1) {
    const run = drive({ ledger: edge.inner.ledger }, `r-${i}`, { tenant: edge.tenant, actor: 'alice' })
    await run.start({ budget: { cost: { limit: '9000.00', currency: 'USD' } } })
    for (let n = 1 + Math.floor(random() * 3); n > 0; n -= 1) {
      const [agent, cents] = [`agent-${Math.floor(random() * 12)}`, Math.floor(random() * 900)]
      const usage = { tokens: 1 + Math.floor(random() * 5_000), cost: (cents / 100).toFixed(2), currency: 'USD' }
      ok(await run.do({ kind: 'usage', body: { agent, usage } } as never))
    }
    const approve = { reason: 'large' }
    refusedWith(await run.claim('wire', { args: { i }, agent: 'payments', compensate: 'not-needed', approve }), PENDING)
    const events = await run.events()
    for (const { header, data } of events) {
      if (header.type === 'ApprovalRequested') pending.add(String(data.approvalId))
      if (header.type !== 'UsageRecorded') continue
      const { agent, usage } = data as { agent: string; usage: { tokens: number; cost: string } }
      const { tokens, cost } = usage
      const sum = spent.get(agent) ?? { cents: 0, tokens: 0 }
      spent.set(agent, { cents: sum.cents + Math.round(Number(cost) * 100), tokens: sum.tokens + tokens })
    }
  }
  assert.is(pending.size, 60)
  const { asOf } = (await (await edge.get('/v1/audit/runs')).json()) as { asOf: { treeSize: number } }

  const client = await signedIn(edge, { scopes: ['runs:read', 'audit:read', 'approvals:write', 'payloads:read'] })
  const [, card = ''] = (await client.html('/ui/overview?period=all')).split('aria-label="Who spent what?"')
  const text = plain(card.split('</section>')[0] ?? '')
  const shown = [...text.matchAll(/(agent-\d+) ([\d.,]+) USD ([\d,]+) tokens/g)]
  assert.is(shown.length, 5)
  for (const [, agent = '', cost, tokens] of shown)
    assert.equal([numberOf(cost), numberOf(tokens)], [(spent.get(agent)?.cents ?? 0) / 100, spent.get(agent)?.tokens])
  const [, groups, rest, restTokens] = /and ([\d,]+) more: ([\d.,]+) USD, ([\d,]+) tokens/.exec(text) ?? []
  const others = [...spent].filter(([agent]) => shown.every(([, name]) => name !== agent)).map(([, sum]) => sum)
  assert.equal(
    [numberOf(groups), Math.round(numberOf(rest) * 100), numberOf(restTokens)],
    [others.length, ...(['cents', 'tokens'] as const).map((of) => others.reduce((sum, each) => sum + each[of], 0))],
  )

  const approvalsIn = (html: string): string[] =>
    [...html.matchAll(/href="\/ui\/runs\/r-\d+\/approvals\/([0-9a-f-]{36})/g)].map(([, id = '']) => id)
  const queue = await client.html('/ui/approvals')
  assert.is(new Set(approvalsIn(queue)).size, 50)
  assert.match(plain(queue), /The first 50; decide on them to see the next/)
  const past = approvalsIn(await pagesOf(client, `/ui/approvals?asOf=${asOf.treeSize}`))
  assert.equal([...new Set(past)].sort(), [...pending].sort())
  assert.is(past.length, pending.size, 'none twice')
})

test.run()
