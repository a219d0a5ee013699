import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createRateLimiter, createRates } from '../../src/access/rates.ts'
import { MemoryBudget } from '../../src/resources/memory-budget.ts'
import { WorkQueue } from '../../src/resources/work-queue.ts'
import { bearer, bodyOf, testEdge } from '../support/test-edge.ts'

const test = suite('http: rates')

test('in any window no more passes than the burst and the rate allow; obeying the wait always passes', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: -5, max: 200 }), { minLength: 1, maxLength: 200 }),
      (perSecond, burst, gapsMs) => {
        const limiter = createRateLimiter({ perSecond, burst })
        let nowMs = 1_000_000
        let latestMs = nowMs
        let passed = 0
        for (const gapMs of gapsMs) {
          nowMs += gapMs
          latestMs = Math.max(latestMs, nowMs)
          const waitMs = limiter.take('x', nowMs)
          if (waitMs === 0) passed += 1
        }
        // A clock that steps back may give a little twice, never more than the steps.
        const stepsBackMs = gapsMs.reduce((sum, gap) => sum + Math.max(0, -gap), 0)
        assert.ok(passed <= burst + ((latestMs - 1_000_000 + stepsBackMs) * perSecond) / 1000 + 1)
        const waitMs = limiter.take('x', latestMs)
        if (waitMs > 0) assert.is(limiter.take('x', latestMs + waitMs), 0)
      },
    ),
    { examples: [[6, 3, [0, 3, 163, 99, 54, 199, 108, 25, 122, 133]]] },
  )
})

test('a tenant that floods learns when to come back; another tenant does not notice (A40)', async () => {
  await using edge = await testEdge({ settings: { ratePerSecond: 1, rateBurst: 20 } })
  const answers = await Promise.all(Array.from({ length: 60 }, () => edge.get('/v1/runs')))
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 35, `${refused.length}`)
  for (const response of refused) assert.is(response.headers.get('retry-after'), '1')
  assert.is((await bodyOf(refused[0] ?? new Response('{}'))).code, 'rate-limited')
  assert.is((await edge.get('/v1/runs', await bearer(edge, { tenant: edge.foreign }))).status, 200)
  assert.is((await edge.app.request('/healthz')).status, 200)
})

test('a batch is charged by its items', async () => {
  await using edge = await testEdge({ settings: { ratePerSecond: 1, rateBurst: 50 } })
  const items = Array.from({ length: 200 }, () => ({ op: 'complete', run: 'r', body: {} }))
  assert.is((await edge.post('/v1/batch', { items })).status, 200)
  const next = await edge.get('/v1/runs')
  assert.is(next.status, 429)
  assert.ok(Number(next.headers.get('retry-after')) > 20)
})

test('whoever guesses tokens is slowed down; a good token from the same address is not', async () => {
  await using edge = await testEdge({ settings: { refusedTokensPerSecond: 1 } })
  const guess = () => edge.app.request('/v1/runs', { headers: { authorization: 'Bearer a.b.c' } })
  const statuses = await Promise.all(Array.from({ length: 150 }, async () => (await guess()).status))
  assert.ok(statuses.filter((status) => status === 429).length >= 40)
  assert.is((await edge.get('/v1/runs')).status, 200)
})

test('work is charged when it is done, and a debt is refused until it is paid, no longer: reading and writing each by itself (F78)', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000 }),
      fc.array(fc.record({ ms: fc.integer({ min: 0, max: 90_000 }), restMs: fc.integer({ min: 0, max: 60_000 }) }), {
        maxLength: 40,
      }),
      (workMsPerSecond, steps) => {
        let nowMs = 1_000_000
        const settings = { ratePerSecond: 0, rateBurst: 1, refusedTokensPerSecond: 0, workMsPerSecond }
        const rates = createRates(settings, new MemoryBudget(), () => nowMs)
        const caller = { tenant: 'one-tenant', subject: 'auditor' }
        let done = 0
        for (const { ms, restMs } of steps) {
          assert.is(rates.admit({ tenant: 'beta', subject: 'auditor' }, 'read'), undefined)
          if (rates.admit(caller, 'read') === undefined) {
            rates.worked({ party: { tenant: 'one-tenant', caller: 'auditor' }, kind: 'read', ms })
            done += ms
          }
          const owed = rates.admit(caller, 'read')
          assert.is(rates.admit(caller, 'write'), undefined, 'writes go on')
          assert.is(rates.admit({ tenant: 'beta', subject: 'auditor' }, 'read'), undefined, 'and so do others')
          if (owed !== undefined) {
            assert.is(owed.limit, 'work')
            nowMs += owed.waitMs
            assert.is(rates.admit(caller, 'read'), undefined, 'who waited as told passes')
          }
          nowMs += restMs
        }
        // What was done at once on top of the rate is the burst, and one piece that began before it was used up.
        const mayMs = (0.75 * workMsPerSecond * (nowMs - 1_000_000)) / 1000 + 0.75 * workMsPerSecond * 30 + 90_000
        assert.ok(done <= mayMs + 1, `${done} of ${mayMs}`)
      },
    ),
  )
})

test('one caller of a tenant cannot use up the time of its others (F78)', () => {
  const settings = { ratePerSecond: 0, rateBurst: 1, refusedTokensPerSecond: 0, workMsPerSecond: 800 }
  const rates = createRates(settings, new MemoryBudget(), () => 0)
  const worked = (caller: string, ms: number) =>
    rates.worked({ party: { tenant: 'one-tenant', caller }, kind: 'read', ms })
  assert.is(rates.admit({ tenant: 'one-tenant', subject: 'other' }, 'read'), undefined)
  worked('greedy', 0.75 * 800 * 30 + 600)
  assert.equal(rates.admit({ tenant: 'one-tenant', subject: 'greedy' }, 'read'), { limit: 'work', waitMs: 1_000 })
  assert.is(rates.admit({ tenant: 'one-tenant', subject: 'other' }, 'read'), undefined)
})

test('whoever has the server alone is never refused for its work, and owes nothing for it when another comes (F78)', () => {
  let nowMs = 0
  const settings = { ratePerSecond: 0, rateBurst: 1, refusedTokensPerSecond: 0, workMsPerSecond: 800 }
  const rates = createRates(settings, new MemoryBudget(), () => nowMs)
  const alone = { tenant: 'one-tenant', subject: 'writer' }
  const other = { tenant: 'beta', subject: 'writer' }
  const works = (ms: number) => rates.worked({ party: { tenant: 'one-tenant', caller: 'writer' }, kind: 'write', ms })
  for (let n = 0; n < 600; n += 1, nowMs += 1_000) {
    assert.is(rates.admit(alone, 'write'), undefined)
    works(1_000)
  }
  assert.is(rates.admit(other, 'write'), undefined)
  assert.is(rates.admit(alone, 'write'), undefined, 'nothing is owed for the time alone')
  works(0.75 * 800 * 30 + 1)
  assert.is(rates.admit(alone, 'write')?.limit, 'work', 'now it counts')
  nowMs += 61_000
  assert.is(rates.admit(alone, 'write'), undefined)
  works(3_600_000)
  assert.is(rates.admit(alone, 'write'), undefined, 'the other has left')
})

test('requests × cost is bounded: reads and writes that take time end in 429 `work`, each for itself (F78)', async () => {
  // Each look at the clock finds a millisecond gone.
  let workedMs = 0
  const clock = {
    nowMs: () => (workedMs += 1),
    soon: (call: () => void) => void setImmediate(call),
    later: (call: () => void) => void setImmediate(call),
  }
  const work = new WorkQueue(clock)
  await using edge = await testEdge({ settings: { workMsPerSecond: 10 }, work, now: () => 1_000_000 })
  assert.is((await edge.post('/v1/runs', { id: 'first', name: 'n' })).status, 201)
  assert.is((await edge.get('/v1/runs', await bearer(edge, { tenant: edge.foreign }))).status, 200)
  const statuses: number[] = []
  let refused: Response | undefined
  for (let n = 0; n < 400 && refused === undefined; n += 1) {
    const answer = await edge.get('/v1/runs/first/findings')
    statuses.push(answer.status)
    if (answer.status === 429) refused = answer
  }
  assert.ok(refused !== undefined, `${statuses.length} answers`)
  const problem = await bodyOf(refused ?? new Response('{}'))
  assert.equal([problem.code, problem.limit], ['rate-limited', 'work'])
  assert.ok(Number(refused?.headers.get('retry-after')) >= 1)
  const written = await edge.post('/v1/runs', { id: 'after', name: 'n' })
  assert.is(written.status, 201)
  let large = written
  for (let n = 0; n < 600 && large.status !== 429; n += 1) {
    large = await edge.post(`/v1/runs`, { id: `r${n}`, name: 'n' })
  }
  assert.is(large.status, 429)
})

test.run()
