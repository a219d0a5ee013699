import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createRateLimiter } from '../../src/access/rate-limit.ts'
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

test('a tenant that floods is told when to come back; another tenant does not notice (A40)', async () => {
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

test.run()
