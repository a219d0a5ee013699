import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MemoryBudget } from '../../src/resources/memory-budget.ts'
import { bodyOf, testEdge } from '../support/test-edge.ts'
import { within } from '../support/within.ts'

const MIB = 1024 * 1024
const memory = suite('http: memory')

/** A POST whose body has begun and does not end. */
function held(edge: Awaited<ReturnType<typeof testEdge>>, path: string, headers: Record<string, string>) {
  let end: () => void = () => undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(Buffer.from('{'))
      end = () => controller.error(new Error('gone'))
    },
  })
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body, duplex: 'half' }
  const answer = edge.app.request(path, init as RequestInit)
  return { answer, end: () => end() }
}

/** Looks until it is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1))
}

memory(
  'bodies in flight are bounded by their sum: the next is refused unread, with a time to come back (A67)',
  async () => {
    const budget = new MemoryBudget(256 * MIB)
    await using edge = await testEdge({ memory: budget })
    const authorization = `Bearer ${await edge.token()}`
    const other = `Bearer ${await edge.token({ tenant: edge.foreign })}`
    const length = { 'content-length': String(8 * MIB) }
    const account = budget.account('bodies-read')

    const first = held(edge, '/v1/batch', { authorization, ...length })
    await within(
      until(() => account.usedBytes === 8 * MIB),
      'room for it, before it is read',
    )
    const second = await held(edge, '/v1/batch', { authorization, ...length }).answer
    assert.is(second.status, 503)
    assert.is((await bodyOf(second)).code, 'overloaded')
    assert.ok(Number(second.headers.get('retry-after')) >= 1)

    // Half of the share is for one tenant: others go on, as far as the other half reaches.
    const theirs = held(edge, '/v1/batch', { authorization: other, ...length })
    await within(
      until(() => account.usedBytes === 16 * MIB),
      'room for another tenant',
    )
    for (const each of [first, theirs]) each.end()
    await Promise.all([first.answer, theirs.answer])
    assert.is(account.usedBytes, 0, 'and given back when their connections end')
    assert.is((await edge.post('/v1/runs', { id: 'r', name: 'r' })).status, 201)
    assert.is(budget.account('requests-at-work').usedBytes, 0)
  },
)

memory('a body without a length takes room as it comes, and is cut where there is none (A67)', async () => {
  const budget = new MemoryBudget(256 * MIB)
  await using edge = await testEdge({ memory: budget })
  const account = budget.account('bodies-read')
  const one = held(edge, '/v1/runs', { authorization: `Bearer ${await edge.token()}` })
  await within(
    until(() => account.usedBytes === 64 * 1024),
    'room for its first step',
  )
  one.end()
  assert.is((await one.answer).status, 400)

  const others = account.take(account.limitBytes - 100_000)
  const body = JSON.stringify({ id: 'r', name: 'r', input: 'x'.repeat(200_000) })
  const refused = await edge.post('/v1/runs', body)
  assert.equal([refused.status, (await bodyOf(refused)).code], [503, 'overloaded'])
  others?.()
  assert.is((await edge.post('/v1/runs', body)).status, 201)
})

memory(
  'streams that nobody reads are bounded by their memory: then 503, and 200 again when one ends (A68)',
  async () => {
    const budget = new MemoryBudget(256 * MIB)
    await using edge = await testEdge({ memory: budget })
    await edge.started('r')
    const open: Response[] = []
    let refused: Response | undefined
    while (refused === undefined) {
      const answer = await edge.get('/v1/runs/r/tail')
      if (answer.status === 200) open.push(answer)
      else refused = answer
    }
    assert.is((await bodyOf(refused)).code, 'overloaded')
    assert.ok(open.length > 0 && budget.account('streams').usedBytes <= budget.limitOf('streams'))
    await open[0]?.body?.cancel()
    const again = await edge.get('/v1/runs/r/tail')
    assert.is(again.status, 200)
    for (const answer of [...open.slice(1), again]) await answer.body?.cancel()
    assert.is(budget.account('streams').usedBytes, 0)
  },
)

memory('while unread answers fill their share, reads are refused and writes are not (A69)', async () => {
  const budget = new MemoryBudget(256 * MIB)
  await using edge = await testEdge({ memory: budget })
  const taken = budget.account('answers').count(budget.limitOf('answers'))
  const refused = await edge.get('/v1/runs')
  assert.is(refused.status, 503)
  assert.is((await bodyOf(refused)).code, 'overloaded')
  assert.is((await edge.post('/v1/runs', { id: 'r', name: 'r' })).status, 201)
  taken()
  assert.is((await edge.get('/v1/runs')).status, 200)
})

memory('every share stands in the metrics with its limit', async () => {
  await using edge = await testEdge({ memory: new MemoryBudget(256 * MIB), settings: { openMetrics: true } })
  await edge.started('r')
  const text = await (await edge.app.request('/metrics')).text()
  assert.match(text, /^countersign_memory_budget_bytes 268435456$/m)
  assert.match(text, /^countersign_memory_share_limit_bytes\{share="streams"\} \d+$/m)
  assert.match(text, /^countersign_memory_share_bytes\{share="hot-runs"\} [1-9]\d+$/m)
})

memory.run()
