import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bearer, bodyOf, testEdge } from '../support/test-edge.ts'

const test = suite('http: commands')

const handoff = (payload: object) => ({ agent: 'a', payload })

test('a run goes from start to end, each step with a status, a strong entity tag and a place to read (HTTP-4)', async () => {
  await using edge = await testEdge()
  const run = await edge.post('/v1/runs', { id: 'r', name: 'demo', budget: { tokens: 100 } })
  assert.equal([run.status, run.headers.get('location'), run.headers.get('etag')], [201, '/v1/runs/r', '"0"'])

  const accepted = await edge.post('/v1/runs/r/envelopes', handoff({ entities: ['Apple'] }))
  assert.equal([accepted.status, accepted.headers.get('etag')], [201, '"1"'])
  assert.is((await edge.get(accepted.headers.get('location') ?? '')).status, 200)

  const claimed = await edge.post('/v1/runs/r/calls', {
    tool: 'search',
    args: { q: 1 },
    reserve: { agent: 'a', tokens: 10 },
  })
  const { callId, fence } = await bodyOf(claimed)
  assert.equal([claimed.status, claimed.headers.get('location')], [201, `/v1/runs/r/calls/${callId}`])
  const settled = await edge.post(`/v1/runs/r/calls/${callId}/settle`, { fence, result: [1], usage: { tokens: 7 } })
  assert.is(settled.status, 200)
  const again = await edge.post('/v1/runs/r/calls', { tool: 'search', args: { q: 1 } })
  assert.equal([again.status, (await bodyOf(again)).result], [200, [1]])

  const done = await edge.post('/v1/runs/r/complete', { output: 'x' })
  assert.equal([done.status, (await bodyOf(done)).status], [200, 'completed'])
  assert.is((await bodyOf(await edge.get('/v1/runs/r/budget'))).tokens, 7)
})

test('a contradiction answers 409 with its findings and what was restored, as a problem', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  await edge.post('/v1/runs/r/envelopes', handoff({ entities: ['Apple'] }))
  const refused = await edge.post('/v1/runs/r/envelopes', handoff({ summary: 'growth' }))
  const body = await bodyOf(refused)
  assert.is(refused.status, 409)
  assert.is(refused.headers.get('content-type'), 'application/problem+json')
  assert.equal(
    [body.type, body.code, body.status, body.instance],
    ['/problems/contradiction', 'contradiction', 409, '/v1/runs/r/envelopes'],
  )
  assert.is(body.findings[0]?.rule, 'critical-key-removed')
  assert.equal(body.restored.context, { entities: ['Apple'] })
  assert.is((await edge.get('/problems/contradiction')).status, 200)
})

test('of 64 clients that expect the same revision exactly one is answered 201, the others 412 with what came between (F13, HTTP-2)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  for (let round = 0; round < 5; round += 1) {
    const tag = (await edge.get('/v1/runs/r')).headers.get('etag') ?? ''
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        edge.post('/v1/runs/r/envelopes', handoff({ note: `${round}.${index}` }), { 'if-match': tag }),
      ),
    )
    assert.is(answers.filter(({ status }) => status === 201).length, 1)
    const conflict = await bodyOf(answers.find(({ status }) => status === 412) ?? new Response('{}'))
    assert.is(answers.filter(({ status }) => status === 412).length, 63)
    assert.equal([`"${conflict.expected}"`, conflict.actual], [tag, Number(conflict.expected) + 1])
    const between = await bodyOf(await edge.get(conflict.conflicting))
    assert.is(between.items.length, 1)
  }
})

test('without If-Match all of 64 clients get their turn (F13)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) => edge.post('/v1/runs/r/envelopes', handoff({ note: `${index}` }))),
  )
  assert.is(answers.filter(({ status }) => status === 201).length, 64)
})

test('a request that is sent again with its Idempotency-Key gets the first answer, marked, and records nothing (F14, HTTP-3)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const send = (key: string) =>
    edge.post('/v1/runs/r/envelopes', handoff({ entities: ['Apple'] }), { 'idempotency-key': key })
  const first = await send('k 1')
  const second = await send('"k 1"')
  assert.equal([first.status, second.status], [201, 201])
  assert.equal([first.headers.get('idempotency-replayed'), second.headers.get('idempotency-replayed')], [null, 'true'])
  assert.equal(await first.json(), await second.json())
  assert.equal(first.headers.get('location'), second.headers.get('location'))
  assert.is((await bodyOf(await edge.get('/v1/runs/r'))).revision, 1)
})

test('a refusal is replayed as well, and so is the start of a run without an id (F14)', async () => {
  await using edge = await testEdge()
  const start = () => edge.post('/v1/runs', { name: 'x' }, { 'idempotency-key': 'start' })
  const [one, two] = [await bodyOf(await start()), await bodyOf(await start())]
  assert.is(one.runId, two.runId)
  const path = `/v1/runs/${one.runId}/envelopes`
  await edge.post(path, handoff({ entities: ['A'] }))
  const refuse = () => edge.post(path, handoff({}), { 'idempotency-key': 'refused' })
  const [first, again] = [await refuse(), await refuse()]
  assert.equal([first.status, again.status, again.headers.get('idempotency-replayed')], [409, 409, 'true'])
  assert.equal(await first.json(), await again.json())
})

test('an Idempotency-Key with another body, path or method is 422, after a restart too (F15, HTTP-3)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const key = { 'idempotency-key': 'k' }
  await edge.post('/v1/runs/r/envelopes', handoff({ n: 1 }), key)
  const other = await edge.post('/v1/runs/r/envelopes', handoff({ n: 2 }), key)
  const elsewhere = await edge.post('/v1/runs/r/complete', {}, key)
  const stale = { ...key, 'if-match': '"0"' }
  const expecting = await edge.post('/v1/runs/r/envelopes', handoff({ n: 3 }), stale)
  for (const response of [other, elsewhere, expecting])
    assert.equal([response.status, (await bodyOf(response)).code], [422, 'idempotency-key-reused'])

  const ledger = await edge.inner.sibling()
  await using restarted = await testEdge({
    store: edge.inner.store,
    keys: edge.inner.keys.current(),
    tenant: edge.tenant,
    wrap: () => ledger,
  })
  const later = await restarted.post('/v1/runs/r/envelopes', handoff({ n: 2 }), key)
  assert.is(later.status, 422)
})

test('the spelling of a path does not change what a key is bound to', async () => {
  await using edge = await testEdge()
  await edge.started('run')
  const key = { 'idempotency-key': 'k' }
  await edge.post('/v1/runs/run/envelopes', handoff({ n: 1 }), key)
  const again = await edge.post('/v1/runs/r%75n/envelopes', handoff({ n: 1 }), key)
  assert.equal([again.status, again.headers.get('idempotency-replayed')], [201, 'true'])
})

test('an Idempotency-Key that is empty, too long, not printable or sent twice is refused (A300)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  for (const key of ['""', 'x'.repeat(257), '"a" "b"', '"open', '"\u00e9"', '"a\\b"', 'k, k', 'k,j', '"k", "k"']) {
    const response = await edge.post('/v1/runs/r/envelopes', handoff({}), { 'idempotency-key': key })
    assert.equal([response.status, (await bodyOf(response)).header], [400, 'idempotency-key'], key)
  }
  const longest = await edge.post('/v1/runs/r/envelopes', handoff({}), { 'idempotency-key': 'x'.repeat(256) })
  assert.is(longest.status, 201)
  const quoted = await edge.post('/v1/runs/r/envelopes', handoff({}), { 'idempotency-key': '"k, k"' })
  assert.is(quoted.status, 201)
})

test('If-Match compares strongly: a weak tag, a foreign one and a list never slip through; * asks for any revision (HTTP-2)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const status = async (tag: string) => (await edge.post('/v1/runs/r/complete', {}, { 'if-match': tag })).status
  assert.equal(await Promise.all(['W/"0"', '"abc"', '"00"', '"1"', '"-1"'].map(status)), [412, 412, 412, 412, 412])
  assert.equal(await Promise.all(['0', '"0', 'x"0"', '"0","1"', ''].map(status)), [400, 400, 400, 400, 400])
  assert.is((await edge.post('/v1/runs/nobody/complete', {}, { 'if-match': 'W/"0"' })).status, 404)
  assert.is((await edge.post('/v1/runs/nobody/complete', {}, { 'if-match': '*' })).status, 404)
  assert.is(await status('*'), 200)
})

test('a caller that has the revision already is answered 304, weakly compared', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  for (const tag of ['"0"', 'W/"0"', '"7", "0"', '*']) {
    const response = await edge.get('/v1/runs/r', { 'if-none-match': tag })
    assert.equal([response.status, await response.text(), response.headers.get('etag')], [304, '', '"0"'])
  }
  for (const tag of ['"1"', 'junk', '']) assert.is((await edge.get('/v1/runs/r', { 'if-none-match': tag })).status, 200)
})

test('a stale parent is a failed precondition, and a conflict where the agent signed it (RUN-37)', async () => {
  await using edge = await testEdge()
  const { digest } = await bodyOf(await edge.post('/v1/runs', { id: 'r', name: 'x' }))
  await edge.post('/v1/runs/r/envelopes', handoff({ n: 1 }))
  const stale = { ...handoff({ n: 2 }), parent: digest }
  const unsigned = await edge.post('/v1/runs/r/envelopes', stale)
  const signed = await edge.post('/v1/runs/r/envelopes', { ...stale, signature: 'e30..AAAA' })
  assert.equal([unsigned.status, (await bodyOf(unsigned)).code], [412, 'stale-parent'])
  assert.equal([signed.status, (await bodyOf(signed)).code], [409, 'stale-parent'])
})

test('a valid traceparent is recorded and given back; another is treated as absent', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const good = await edge.post('/v1/runs/r/envelopes', handoff({ n: 1 }), { traceparent })
  const bad = await edge.post('/v1/runs/r/envelopes', handoff({ n: 2 }), { traceparent: traceparent.toUpperCase() })
  assert.equal([good.headers.get('traceparent'), bad.headers.get('traceparent')], [traceparent, null])
  const { items } = await bodyOf(await edge.get('/v1/runs/r/events'))
  const seen = items.map(({ header }) => header.traceparent)
  assert.ok(seen.includes(traceparent))
})

test('who acts comes from the token: a delegate is the actor, the subject its principal (REC-5)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const headers = await bearer(edge, { subject: 'alice', act: { sub: 'bot', act: { sub: 'broker' } } })
  await edge.post('/v1/runs/r/envelopes', handoff({ n: 1 }), headers)
  const { items } = await bodyOf(await edge.get('/v1/runs/r/events?type=EnvelopeAccepted'))
  const header = items[0]?.header
  assert.equal([header?.actor, header?.principal, header?.via], ['bot', 'alice', ['broker']])
})

test('a policy that cannot be used is refused with the place of each fault, and nothing is started (JUD-23)', async () => {
  await using edge = await testEdge()
  const pointers = async (policy: object): Promise<string[]> => {
    const answer = await edge.post('/v1/runs', { id: 'r', name: 'r', policy })
    assert.is(answer.status, 400)
    const { errors } = (await bodyOf(answer)) as unknown as { errors: { pointer: string }[] }
    return errors.map(({ pointer }) => pointer)
  }
  assert.equal(await pointers({ protekt: '*' }), ['/policy/protekt'])
  assert.equal(await pointers({ immutable: ['facts'] }), ['/policy/immutable/0'])
  assert.equal(await pointers({ invariants: [{ name: 'n', expression: 'for(;;)' }] }), [
    '/policy/invariants/0/expression',
  ])
  assert.equal(await pointers({ monotonic: { 'facts/x': 'up' } }), ['/policy/monotonic/facts~1x'])
  assert.equal(await pointers({ base: 'relay', free: [] }), ['/policy/free'])
  assert.is((await edge.get('/v1/runs/r')).status, 404)
  const run = await edge.post('/v1/runs', { id: 'r', name: 'r', policy: { immutable: ['/facts/id'] } })
  assert.is(run.status, 201)
  const manifest = await edge.post('/v1/runs/r/manifests', {
    agent: 'a',
    policy: { invariants: [{ name: 'n', expression: 'x' }] },
  })
  assert.is(manifest.status, 400)
})

test.run()
