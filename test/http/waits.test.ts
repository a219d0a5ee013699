import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { SIGNALS_HELD_MAX } from '../../schemas/waiting.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: waits and signals')

const bodyOf = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject

async function sent(edge: TestEdge, name: string, body: object = {}, headers?: Record<string, string>) {
  const response = await edge.post(`/v1/runs/r/signals/${name}`, body, headers)
  const said = await bodyOf(response)
  return { status: response.status, code: String(said.code ?? said.status), said }
}

test('a wait is started, asked about, and ended by its signal; the lists and the run say what it is for (RUN-66, RUN-67)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const started = await edge.post('/v1/runs/r/waits', { name: 'go', forMs: 60_000, scope: 'a' })
  assert.is(started.status, 201)
  const wait = await bodyOf(started)
  assert.is(started.headers.get('location'), `/v1/runs/r/waits/${wait.waitId}`)
  const again = await edge.post('/v1/runs/r/waits', { name: 'go', forMs: 1, scope: 'a' })
  assert.equal([again.status, (await bodyOf(again)).until], [200, wait.until])
  const run = await bodyOf(await edge.get('/v1/runs/r'))
  assert.equal(
    (run.waiting as JsonObject[]).map(({ for: what, name, until }) => [what, name, until]),
    [['signal', 'go', wait.until]],
  )
  await edge.started('other')
  const listed = await bodyOf(await edge.get('/v1/runs?waiting=true'))
  assert.equal(
    (listed.items as JsonObject[]).map(({ runId, waiting }) => [runId, waiting]),
    [['r', 1]],
  )
  assert.is((await edge.get('/v1/runs?waiting=maybe')).status, 400)

  const delivered = await sent(edge, 'go', { payload: { yes: true } })
  assert.equal([delivered.status, delivered.said.status, delivered.said.waitId], [200, 'delivered', wait.waitId])
  const ended = await bodyOf(await edge.post('/v1/runs/r/waits', { name: 'go', scope: 'a' }))
  assert.equal([ended.status, ended.payload], ['signalled', { yes: true }])
  assert.is(ended.endRevision, delivered.said.revision)
  const one = await bodyOf(await edge.get(`/v1/runs/r/waits/${wait.waitId}`))
  assert.equal([one.status, one.payload, one.scope], ['signalled', { yes: true }, 'a'])
  const { items } = await bodyOf(await edge.get('/v1/runs/r/waits'))
  assert.equal(items, [one])
  assert.equal((await bodyOf(await edge.get('/v1/runs?waiting=true'))).items, [])
})

test('a signal that nobody waits for is 202 and held, or 404 where the policy refuses it (RUN-67)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  assert.equal(
    [await sent(edge, 'go')].map(({ status, code }) => [status, code]),
    [[202, 'held']],
  )
  const { heldSignals } = await bodyOf(await edge.get('/v1/runs/r'))
  assert.is((heldSignals as JsonObject[])[0]?.name, 'go')
  const taken = await bodyOf(await edge.post('/v1/runs/r/waits', { name: 'go' }))
  assert.equal([taken.status, taken.payload, taken.endRevision], ['signalled', null, 2])
  await edge.post('/v1/runs', { id: 'strict', name: 'strict', policy: { signals: 'refuse' } })
  const response = await edge.post('/v1/runs/strict/signals/go', {})
  assert.equal([response.status, (await bodyOf(response)).code], [404, 'signal-not-awaited'])
  const events = await bodyOf(await edge.get('/v1/runs/strict/events?type=RequestRefused'))
  assert.is((events.items as readonly { data: JsonObject }[])[0]?.data.code, 'signal-not-awaited')
})

test('in a batch a signal names itself, and is held or delivered like alone (RUN-67)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const items = [
    { op: 'wait', run: 'r', body: { name: 'go' } },
    { op: 'signal', run: 'r', signal: 'go', body: { payload: 1 } },
    { op: 'signal', run: 'r', signal: 'go', body: { payload: 2 } },
    { op: 'signal', run: 'r', body: {} },
  ]
  const answer = await bodyOf(await edge.post('/v1/batch', { items }))
  const said = (answer.items as readonly { status: number; body: JsonObject }[]).map(({ status, body }) => [
    status,
    body.status,
  ])
  assert.equal(said, [
    [201, 'waiting'],
    [200, 'delivered'],
    [202, 'held'],
    [422, 422],
  ])
})

test('what makes no wait and no signal is a clear problem, and nothing is recorded (A197)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const bad: readonly (readonly [object, number, string])[] = [
    [{}, 422, 'invalid-body'],
    [{ name: '' }, 422, 'invalid-body'],
    [{ name: 'go', until: 'tomorrow' }, 422, 'invalid-body'],
    [{ name: 'go', until: '2026-02-30T00:00:00Z' }, 422, 'invalid-body'],
    [{ name: 'go', until: '2026-02-03T00:00:00Z', forMs: 1 }, 422, 'invalid-body'],
    [{ until: '2026-02-03T00:00:00Z', schema: {} }, 422, 'invalid-body'],
    [{ forMs: -1 }, 422, 'invalid-body'],
    [{ name: 'go', schema: { type: 'nothing' } }, 422, 'schema-invalid'],
    [{ name: 'go', schema: { enum: ['x'.repeat(70_000)] } }, 422, 'schema-invalid'],
    [{ name: 'go', more: 1 }, 422, 'invalid-body'],
  ]
  for (const [body, status, code] of bad) {
    const response = await edge.post('/v1/runs/r/waits', body)
    assert.equal([response.status, (await bodyOf(response)).code], [status, code], JSON.stringify(body).slice(0, 100))
  }
  const large = await sent(edge, 'go', { payload: 'x'.repeat(65_535) })
  assert.equal([large.status, large.code], [413, 'value-too-large'])
  assert.equal([(await sent(edge, 'x'.repeat(257))).status], [422])
  assert.is((await sent(edge, 'go', { payload: 1, by: 'me' })).status, 422)
  assert.is((await edge.post('/v1/runs/none/signals/go', {})).status, 404)
  assert.is((await edge.get('/v1/runs/r/waits/0190f0f0-0000-7000-8000-000000000000')).status, 404)
  assert.is((await bodyOf(await edge.get('/v1/runs/r'))).revision, 0)
})

test('an end that is past ends the wait at once, after the signals that came before it (A197)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const past = { until: '2020-01-01T00:00:00Z' }
  const over = await bodyOf(await edge.post('/v1/runs/r/waits', { name: 'go', ...past }))
  assert.is(over.status, 'timed-out')
  assert.is((await bodyOf(await edge.post('/v1/runs/r/waits', past))).status, 'elapsed')
  await sent(edge, 'go', { payload: 'early' })
  const early = await bodyOf(await edge.post('/v1/runs/r/waits', { name: 'go', occurrence: 1, ...past }))
  assert.equal([early.status, early.payload], ['signalled', 'early'])
})

test('a run holds so many signals and waits, and no more (A197)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const items = Array.from({ length: SIGNALS_HELD_MAX }, () => ({ op: 'signal', run: 'r', signal: 'n', body: {} }))
  await edge.post('/v1/batch', { items })
  const refused = await sent(edge, 'n')
  assert.equal([refused.status, refused.code, refused.said.limit], [409, 'signals-full', SIGNALS_HELD_MAX])
  const waits = Array.from({ length: SIGNALS_HELD_MAX }, (_, occurrence) => {
    return { op: 'wait', run: 'r', body: { name: 'm', occurrence } }
  })
  await edge.post('/v1/batch', { items: waits })
  const response = await edge.post('/v1/runs/r/waits', { name: 'k' })
  assert.equal([response.status, (await bodyOf(response)).code], [409, 'waits-full'])
  // One that a held signal ends at once takes no place of an open one.
  const taken = await edge.post('/v1/runs/r/waits', { name: 'n' })
  assert.is((await bodyOf(taken)).code, 'waits-full')
})

test('a wait that goes on says how many held signals were not checked, and the same request checks the next (HTTP-86)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  for (let n = 0; n < 36; n += 1) await sent(edge, n === 35 ? 'other' : 'go', { payload: n })
  const wait = { name: 'go', schema: { type: 'string' } }
  const looks: unknown[] = []
  for (let n = 0; n < 4; n += 1) looks.push((await bodyOf(await edge.post('/v1/runs/r/waits', wait))).unchecked)
  assert.equal(looks, [19, 3, undefined, undefined])
})

test('signals come from tokens that may send them: of the tenant, of no agent, and of the run by their own scope alone (A198)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const as = async (claims: object) => sent(edge, 'go', {}, await bearer(edge, claims))
  assert.is((await as({ scopes: ['signals:write'] })).status, 202)
  assert.is((await as({ scopes: ['signals:write'], run: 'r' })).status, 202)
  assert.is((await as({ scopes: ['runs:write'] })).status, 202)
  assert.equal((await as({ scopes: ['runs:write'], run: 'r' })).code, 'scope-missing')
  assert.equal((await as({ scopes: ['runs:read', 'approvals:write'] })).code, 'scope-missing')
  assert.equal((await as({ scopes: ['signals:write'], agent: 'a' })).code, 'agent-mismatch')
  assert.equal((await as({ scopes: ['signals:write'], run: 'other' })).code, 'run-mismatch')
  assert.equal((await as({ scopes: ['signals:write'], tenant: 'elsewhere' })).code, 'run-not-found')
  assert.is((await edge.get('/v1/runs/r', await bearer(edge, { scopes: ['signals:write'] }))).status, 403)
})

test('a schema that takes too long to check lets nothing pass, and holds nobody up (A197)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const heavy = { type: 'array', uniqueItems: true, items: { type: 'array', uniqueItems: true } }
  for (let occurrence = 0; occurrence < 16; occurrence += 1)
    await edge.post('/v1/runs/r/waits', { name: 'go', occurrence, schema: heavy })
  const payload = Array.from({ length: 2_000 }, (_, n) => [n, n + 1, 'x'])
  const refused = await sent(edge, 'go', { payload })
  assert.ok(refused.status === 422 || refused.status === 200, String(refused.status))
  assert.is((await sent(edge, 'go', { payload: [1, 2, 3] })).code, 'signal-invalid')
  assert.is((await sent(edge, 'go', { payload: [[1], [2]] })).code, 'delivered')
})

test.run()
