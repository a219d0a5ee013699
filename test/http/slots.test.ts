import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createStreamSlots } from '../../src/http/stream-slots.ts'
import { MemoryAccount, MemoryBudget } from '../../src/resources/memory-budget.ts'
import { targetsOf } from '../support/route-examples.ts'
import { describedRoutes } from '../support/route-requests.ts'
import { record } from '../support/tenant-record.ts'
import { bearer, bodyOf, testEdge } from '../support/test-edge.ts'

const test = suite('http: slots of readers')

const MIB = 1024 * 1024

/** What these read has a bound that is stated elsewhere: one state, one event, one tile, one row. */
const WITHOUT_SLOT = [
  '/metrics',
  '/v1/audit/events/{event}',
  '/v1/integrity',
  '/v1/log/checkpoint',
  '/v1/log/events/{event}/proof.tlog-proof',
  '/v1/log/key',
  '/v1/log/proof/consistency',
  '/v1/log/proof/inclusion',
  '/v1/log/successions',
  '/v1/log/tile/{tile}',
  '/v1/log/timestamp',
  '/v1/runs/{run}',
  '/v1/runs/{run}/approvals/{approval}',
  '/v1/runs/{run}/budget',
  '/v1/runs/{run}/calls/{call}',
  '/v1/runs/{run}/waits/{wait}',
]

test('every route that reads takes a slot of its tenant, but for those that read little and are named (F116)', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true, settings: { streamsPerTenant: 1 } })
  const own = await record(edge, edge.tenant, 'alpha')
  await edge.inner.ledger.logs?.publish()
  const headers = await bearer(edge, {})
  const tail = await edge.app.request('/v1/tail', { headers })
  assert.is(tail.status, 200)
  const free: string[] = []
  for (const route of await describedRoutes(edge)) {
    if (route.method !== 'GET' || route.scopes.length === 0) continue
    const target = targetsOf(route, own).at(-1) ?? ''
    const response = await edge.app.request(target, { headers })
    await response.body?.cancel()
    if (response.status !== 429) free.push(route.path)
  }
  await tail.body?.cancel()
  assert.equal(free.sort(), WITHOUT_SLOT)
})

for (const path of ['/v1/events', '/v1/runs/r/events']) {
  test(`where streams take their memory a page of ${path} is refused with a time to come back, before an event is read (F116)`, async () => {
    const budget = new MemoryBudget(256 * MIB)
    await using edge = await testEdge({ memory: budget })
    await edge.started('r')
    const streams = budget.account('streams')
    const others = streams.take(streams.limitBytes - 2 * MIB)
    const refused = await edge.get(`${path}?limit=500`)
    assert.equal([refused.status, (await bodyOf(refused)).code], [503, 'overloaded'])
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    others?.()
    assert.is((await edge.get(`${path}?limit=500`)).status, 200)
    assert.is(streams.usedBytes, 0, 'given back')
  })
}

test('those who wait leave slots to reads that end by themselves (HTTP-90)', () => {
  for (const [perTenant, waiting] of [
    [64, 48],
    [4, 3],
    [2, 2],
    [1, 1],
  ] as const) {
    const slots = createStreamSlots(perTenant, new MemoryAccount(1_000 * MIB))
    const held = Array.from({ length: waiting }, () => slots.acquire('a', 'tail'))
    assert.ok(held.every((release) => typeof release === 'function'))
    assert.is(slots.acquire('a', 'tail'), 'too-many-streams')
    assert.type(slots.acquire('b', 'tail'), 'function')
    const reads = Array.from({ length: perTenant - waiting }, () => slots.acquire('a', 'page'))
    assert.ok(reads.every((release) => typeof release === 'function'))
    assert.is(slots.acquire('a', 'page'), 'too-many-streams')
    const [first] = held
    if (typeof first === 'function') for (const _ of [1, 2]) first()
    assert.type(slots.acquire('a', 'tail'), 'function')
    assert.is(slots.acquire('a', 'tail'), 'too-many-streams')
  }
})

test('what an answer in a bundle may remember is counted, and one stream takes half of the share at most (HTTP-34)', () => {
  const account = new MemoryAccount(100 * MIB)
  const slots = createStreamSlots(8, account)
  const first = slots.acquire('a', 'bundle', 30 * MIB)
  assert.is(account.usedBytes, 38 * MIB)
  const second = slots.acquire('b', 'bundle', 900 * MIB)
  assert.is(account.usedBytes, 88 * MIB)
  assert.is(slots.acquire('c', 'bundle', 900 * MIB), 'overloaded')
  for (const release of [first, second]) if (typeof release === 'function') release()
  assert.is(account.usedBytes, 0)
  const small = new MemoryAccount(4 * MIB)
  assert.type(createStreamSlots(8, small).acquire('a', 'bundle', 900 * MIB), 'function')
  assert.is(small.usedBytes, 8 * MIB)
})

test.run()
