import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { seededRandom } from '../support/random.ts'
import { drive, ok } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn, type UiClient } from '../support/ui-client.ts'

const test = suite('dashboard: figures of lists that are longer than their pages')

const RUNS = 130

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

test.run()
