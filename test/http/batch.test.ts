import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnswerBody, bearer, bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: batch')

interface Item {
  readonly op: string
  readonly run?: string
  readonly call?: string
  readonly reservation?: string
  readonly traceparent?: string
  readonly body: unknown
}

async function batch(edge: TestEdge, items: readonly Item[], headers = {}): Promise<AnswerBody['items']> {
  const response = await edge.post('/v1/batch', { items }, headers)
  assert.is(response.status, 200)
  return (await bodyOf(response)).items
}

const handoff = (payload: unknown) => ({ agent: 'a', payload })
const envelope = (run: string, payload: unknown): Item => ({ op: 'envelope', run, body: handoff(payload) })

/** What differs between two runs of the same commands. */
const neutral = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, inner) =>
      /^(digest|parent|callId|eventId|leaseUntil|.*At|signature)$/.test(key) ? key : inner,
    ),
  )

test('each item has the status and the body that it would have had alone', async () => {
  await using together = await testEdge()
  await using alone = await testEdge()
  for (const edge of [together, alone]) await edge.started('r', { budget: { tokens: 10 } })
  const items: readonly [Item, string][] = [
    [envelope('r', { entities: ['A'] }), '/v1/runs/r/envelopes'],
    [{ op: 'claim', run: 'r', body: { tool: 't', args: 1, key: 'k' } }, '/v1/runs/r/calls'],
    [{ op: 'claim', run: 'r', body: { tool: 't', args: 2, key: 'k' } }, '/v1/runs/r/calls'],
    [{ op: 'reserve', run: 'r', body: { agent: 'a', tokens: 11 } }, '/v1/runs/r/reservations'],
    [{ op: 'settle', run: 'r', call: 'nobody', body: { fence: 1, result: 1 } }, '/v1/runs/r/calls/nobody/settle'],
    [{ op: 'usage', run: 'r', body: { agent: 'a', usage: { tokens: -1 } } }, '/v1/runs/r/usage'],
    [envelope('nobody', {}), '/v1/runs/nobody/envelopes'],
    [envelope('r', {}), '/v1/runs/r/envelopes'],
  ]
  const answers = await batch(
    together,
    items.map(([item]) => item),
  )
  for (const [index, [item, path]] of items.entries()) {
    const response = await alone.post(path, item.body)
    assert.is(answers[index]?.status, response.status, `${index}: ${path}`)
    assert.equal(neutral(answers[index]?.body), neutral(await response.json()))
  }
})

test('after a refused envelope the later ones of its run are not attempted; its calls and other runs go on (HTTP-10)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  await edge.started('s')
  const answers = await batch(edge, [
    envelope('r', { entities: ['A'] }),
    envelope('r', {}),
    envelope('r', { entities: ['A', 'B'] }),
    { op: 'claim', run: 'r', body: { tool: 't', args: 1 } },
    envelope('s', { entities: ['C'] }),
  ])
  assert.equal(
    answers.map(({ status }) => status),
    [201, 409, 424, 201, 201],
  )
  assert.is(answers[2]?.body.code, 'not-attempted')
})

test('an envelope that does not fit its schema stops those after it, too', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const answers = await batch(edge, [envelope('r', { n: '1' }), envelope('r', 'text'), envelope('r', { n: '2' })])
  assert.equal(
    answers.map(({ status }) => status),
    [201, 422, 424],
  )
})

test('a run may be started and used in one batch, under a name that is given', async () => {
  await using edge = await testEdge()
  const answers = await batch(edge, [
    { op: 'start', run: 'new', body: { name: 'x' } },
    envelope('new', { n: '1' }),
    { op: 'start', body: { id: 'other', name: 'x' } },
    { op: 'start', body: { name: 'x' } },
    { op: 'start', run: 'a', body: { id: 'b', name: 'x' } },
    { op: 'complete', run: 'new', body: {} },
  ])
  assert.equal(
    answers.map(({ status }) => status),
    [201, 201, 201, 422, 422, 200],
  )
})

test('an item that names no command, no run or no call is refused alone', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const answers = await batch(edge, [
    { op: '__proto__', run: 'r', body: {} },
    { op: 'envelope', body: handoff({}) },
    { op: 'settle', run: 'r', body: { fence: 1, result: 1 } },
    { op: 'release', run: 'r', call: 'x', body: {} },
    { op: 'complete', run: '../r', body: {} },
    { op: 'complete', run: '$&', body: {} },
  ])
  assert.equal(
    answers.map(({ status, body }) => [status, body.errors?.[0]?.pointer ?? body.code]),
    [
      [422, '/op'],
      [422, '/run'],
      [422, '/call'],
      [422, '/reservation'],
      [404, 'run-not-found'],
      [404, 'run-not-found'],
    ],
  )
})

test("a batch reaches no other tenant's run, and no run or agent that the token is not bound to (A11)", async () => {
  await using edge = await testEdge()
  await edge.started('r')
  await edge.started('s')
  const foreign = await batch(edge, [envelope('r', {})], await bearer(edge, { tenant: edge.foreign }))
  const bound = await batch(
    edge,
    [envelope('r', { n: '1' }), envelope('s', {}), { op: 'start', run: 's', body: { name: 'x' } }],
    await bearer(edge, { run: 'r' }),
  )
  const agent = await batch(edge, [envelope('s', {})], await bearer(edge, { agent: 'b' }))
  assert.equal(
    foreign.map(({ status }) => status),
    [404],
  )
  assert.equal(
    bound.map(({ status, body }) => [status, body.code]),
    [
      [201, undefined],
      [403, 'run-mismatch'],
      [403, 'run-mismatch'],
    ],
  )
  assert.equal(
    agent.map(({ body }) => body.code),
    ['agent-mismatch'],
  )
})

test('a batch that is sent again with its key records nothing more; another batch under it is refused item by item', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const items = [envelope('r', { entities: ['A'] }), envelope('r', { entities: ['A', 'B'] })]
  const key = { 'idempotency-key': 'batch' }
  const first = await batch(edge, items, key)
  const second = await batch(edge, items, key)
  assert.equal(first, second)
  assert.is((await bodyOf(await edge.get('/v1/runs/r'))).revision, 2)
  const other = await batch(edge, [items[1] ?? envelope('r', {})], key)
  assert.equal(
    other.map(({ body }) => body.code),
    ['idempotency-key-reused'],
  )
})

test('more than 256 items, none, or a precondition on all of them is refused', async () => {
  await using edge = await testEdge()
  const many = Array.from({ length: 257 }, () => envelope('r', {}))
  assert.is((await edge.post('/v1/batch', { items: many })).status, 422)
  assert.is((await edge.post('/v1/batch', { items: [] })).status, 422)
  assert.is((await edge.post('/v1/batch', { items: many.slice(1) }, { 'if-match': '"0"' })).status, 400)
  assert.is((await batch(edge, many.slice(1))).length, 256)
})

test('an item says itself in whose span it was requested; the request says it for those that do not', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const [all, own] = ['1', '2'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`) as [string, string]
  const items: readonly Item[] = [{ ...envelope('r', { n: 1 }), traceparent: own }, envelope('r', { n: 1 })]
  await batch(edge, items, { traceparent: all })
  await batch(edge, items, { traceparent: all, 'idempotency-key': '"k"' })
  await batch(edge, items)
  const { items: events } = await bodyOf(await edge.get('/v1/runs/r/events'))
  assert.equal(
    events.slice(1).map(({ header }) => header.traceparent),
    [own, all, own, all, own, undefined],
  )
})

test('a body in a batch may be as deep as one alone, and no deeper', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const nested = (levels: number) => `{"agent":"a","payload":{"x":${'['.repeat(levels)}${']'.repeat(levels)}}}`
  const inBatch = (levels: number) => `{"items":[{"op":"envelope","run":"r","body":${nested(levels)}}]}`
  for (const levels of [62, 63]) {
    const single = await edge.post('/v1/runs/r/envelopes', nested(levels))
    const batched = await edge.post('/v1/batch', inBatch(levels))
    assert.is(batched.status < 300, single.status < 300, `${levels}`)
  }
})

test.run()
