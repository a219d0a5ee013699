import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { WorkQueue } from '../../src/resources/work-queue.ts'
import { SLICE_STEPS } from '../../src/signing/json-slices.ts'
import { parseStrictJson, parseStrictJsonInSlices } from '../../src/signing/strict-json.ts'
import { bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: bodies')

const envelope = (payload: string): string => `{"agent":"a","payload":${payload}}`

const sorted = (value: object): [string, unknown][] => Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))

async function refusal(edge: TestEdge, body: string | Uint8Array): Promise<[number, string, string | undefined]> {
  const response = await edge.post('/v1/runs/r/envelopes', body)
  const { code, pointer } = await bodyOf(response)
  return [response.status, code, pointer]
}

test('a member that the schema does not know is refused, so nobody sets what the ledger sets (A13)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  for (const name of [
    'position',
    'digest',
    'mac',
    'tenant',
    'actor',
    'time',
    'at',
    'step',
    'revision',
    'prev',
    'kid',
  ]) {
    const response = await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: {}, [name]: 'x' })
    const { code, errors } = await bodyOf(response)
    assert.equal([response.status, code], [422, 'invalid-body'])
    assert.equal(errors, [{ pointer: `/${name}`, message: 'this member is not part of the schema' }])
  }
})

test('a duplicate key is refused by its pointer (A14)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  assert.equal(await refusal(edge, envelope('{"x":{"a":1,"a":2}}')), [400, 'invalid-json', '/payload/x/a'])
  assert.equal(await refusal(edge, '{"agent":"a","agent":"b","payload":{}}'), [400, 'invalid-json', '/agent'])
})

test('a number that a double does not keep is refused; any spelling of a kept one makes the same digest (A15)', async () => {
  await using edge = await testEdge()
  for (const number of ['-0', '1e400', '9007199254740993', '1e-400']) {
    await edge.started(`bad${number.length}${number.charCodeAt(1)}`)
    assert.equal((await refusal(edge, envelope(`{"n":${number}}`))).slice(0, 2), [400, 'invalid-json'])
  }
  const digests = await Promise.all(
    ['1', '1.0', '1e0', '10E-1'].map(async (number, index) => {
      await edge.started(`n${index}`)
      const response = await edge.post(`/v1/runs/n${index}/envelopes`, envelope(`{"n":${number}}`))
      assert.is(response.status, 201)
      return (await bodyOf(response)).contextDigest
    }),
  )
  assert.is(new Set(digests).size, 1)
})

test('bytes that are no UTF-8, a byte order mark and half a surrogate pair are refused, never replaced (A16)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const raw = (hex: string) =>
    Buffer.concat([Buffer.from('{"agent":"a","payload":{"x":"'), Buffer.from(hex, 'hex'), Buffer.from('"}}')])
  for (const hex of ['ff', 'c0af', 'eda080', 'f8888080'])
    assert.equal((await refusal(edge, raw(hex))).slice(0, 2), [400, 'invalid-json'])
  assert.equal((await refusal(edge, Buffer.from(`\ufeff${envelope('{}')}`))).slice(0, 2), [400, 'invalid-json'])
  assert.equal((await refusal(edge, envelope('{"x":"\\ud800"}'))).slice(0, 2), [400, 'invalid-json'])
})

test('names in two Unicode forms stay two names; a run id has none of them (A17, REC-8)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const response = await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: { '\u00e9': 1, 'e\u0301': 2 } })
  assert.is(response.status, 201)
  const { context } = await bodyOf(await edge.get('/v1/runs/r/context'))
  assert.equal(
    Object.keys(context),
    ['\u00e9', 'e\u0301'].filter((key) => key in context),
  )
  assert.is((await edge.post('/v1/runs', { id: 'r\u0430n', name: 'x' })).status, 422)
})

test('keys that name parts of objects are data or refused, and pollute nothing (A18)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  assert.equal(await refusal(edge, envelope('{"__proto__":{"polluted":1}}')), [
    400,
    'invalid-json',
    '/payload/__proto__',
  ])
  const payload = { constructor: { prototype: { polluted: 1 } }, toJSON: 'x', hasOwnProperty: 1, valueOf: null }
  assert.is((await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload })).status, 201)
  const { context } = await bodyOf(await edge.get('/v1/runs/r/context'))
  assert.equal(JSON.stringify(sorted(context)), JSON.stringify(sorted(payload)))
  assert.is(({} as { polluted?: number }).polluted, undefined)
})

test('depth 65, a million levels and a million keys are refused before they are parsed (A19)', async () => {
  await using edge = await testEdge({ settings: { bodyMaxBytes: 32 * 1024 * 1024 } })
  await edge.started('r')
  const nested = (levels: number) => envelope(`{"x":${'['.repeat(levels)}${']'.repeat(levels)}}`)
  const keys = Array.from({ length: 1_000_000 }, (_, index) => `"${index}":0`).join()
  assert.equal((await refusal(edge, nested(63))).slice(0, 2), [400, 'invalid-json'])
  assert.is((await edge.post('/v1/runs/r/envelopes', nested(62))).status, 201)
  assert.equal((await refusal(edge, '['.repeat(1_000_000))).slice(0, 2), [400, 'invalid-json'])
  assert.equal((await refusal(edge, envelope(`{${keys}}`))).slice(0, 2), [400, 'invalid-json'])
})

test('a body of one byte over is refused with limit and actual, with a length, without one and with a false one (A20)', async () => {
  await using edge = await testEdge({ settings: { bodyMaxBytes: 1000 } })
  await edge.started('r')
  const body = envelope('{"x":""}')
  const fill = (bytes: number) => body.replace('""', `"${'x'.repeat(bytes - body.length)}"`)
  assert.is((await edge.post('/v1/runs/r/envelopes', fill(1000))).status, 201)

  const chunked = new ReadableStream({
    start: (controller) => {
      for (let index = 0; index < 1001; index += 1) controller.enqueue(Buffer.from('x'))
      controller.close()
    },
  })
  const { authorization } = { authorization: `Bearer ${await edge.token()}` }
  const post = (sent: BodyInit, headers: object) =>
    edge.app.request('/v1/runs/r/envelopes', {
      method: 'POST',
      body: sent,
      duplex: 'half',
      headers: { authorization, 'content-type': 'application/json', ...headers },
    } as RequestInit)
  for (const response of [
    await post(fill(1001), {}),
    await post(fill(1001), { 'content-length': '1001' }),
    await post(chunked, {}),
    await post(fill(1001), { 'content-length': '3' }),
  ]) {
    const { code, limit, actual } = await bodyOf(response)
    assert.equal([response.status, code, limit, actual], [413, 'body-too-large', 1000, 1001])
  }
})

test('a compressed body is refused unread: a small one may unpack to gigabytes (A20)', async () => {
  await using edge = await testEdge()
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity', 'GZIP']) {
    const response = await edge.post('/v1/runs', 'x', { 'content-encoding': encoding })
    assert.equal([response.status, (await bodyOf(response)).code], [415, 'unsupported-content-encoding'])
  }
  assert.is((await edge.post('/v1/runs', { name: 'x' }, { 'content-encoding': 'identity' })).status, 201)
})

test('only JSON in UTF-8 is taken', async () => {
  await using edge = await testEdge()
  for (const type of [
    'text/plain',
    'application/jsonx',
    'application/json; charset=latin1',
    'multipart/form-data',
    '',
  ]) {
    const response = await edge.post('/v1/runs', { name: 'x' }, { 'content-type': type })
    assert.equal([response.status, (await bodyOf(response)).code], [415, 'unsupported-media-type'], type)
  }
  for (const type of ['application/json;charset=UTF-8', 'Application/JSON ; charset="utf-8"', 'application/json']) {
    assert.is((await edge.post('/v1/runs', { name: 'x' }, { 'content-type': type })).status, 201, type)
  }
})

test('the detail names the first places that do not fit, and how many more there are (HTTP-114)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const long = 'x'.repeat(200)
  const detailOf = async (answer: Promise<Response>): Promise<unknown> => (await bodyOf(await answer)).detail
  const unknown = 'this member is not part of the schema'
  assert.is(
    await detailOf(edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: {}, mac: 1, prev: 1 })),
    `/mac: ${unknown}; /prev: ${unknown}`,
  )
  assert.is(
    await detailOf(edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: {}, [long]: 1, a: 1, b: 1, c: 1 })),
    `/${long.slice(0, 99)}…: ${unknown}; /a: ${unknown}; /b: ${unknown}; and 1 more`,
  )
  assert.is(await detailOf(edge.get('/v1/runs?staus=open')), '/staus: there is no such parameter')
})

test('an empty body, half a body and a scalar are refused with the place', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  assert.equal(await refusal(edge, ''), [400, 'body-missing', undefined])
  assert.equal((await refusal(edge, '{"agent":')).slice(0, 2), [400, 'invalid-json'])
  assert.equal((await refusal(edge, '"text"')).slice(0, 2), [422, 'invalid-body'])
  assert.equal((await refusal(edge, 'null')).slice(0, 2), [422, 'invalid-body'])
})

test('a schema refusal names every place and repeats no value', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const secret = 'canary-in-a-wrong-place'
  const response = await edge.post('/v1/runs/r/envelopes', {
    agent: 7,
    payload: [secret],
    mode: secret,
    tokens: secret,
  })
  const text = await response.text()
  const pointers = JSON.parse(text).errors.map(({ pointer }: { pointer: string }) => pointer)
  assert.equal(pointers.sort(), ['/agent', '/mode', '/payload', '/tokens'])
  assert.not.match(text, new RegExp(secret))
})

/** Every kind of work that a text can make in few bytes. */
const LARGE: Readonly<Record<string, string>> = {
  'distinct keys': `{${Array.from({ length: 40_000 }, (_, n) => `"${n.toString(36)}":1`).join(',')}}`,
  items: `[${'4,'.repeat(200_000)}4]`,
  lists: `[${'[],'.repeat(100_000)}[]]`,
  escapes: `"${'\\n'.repeat(150_000)}"`,
  'one long string': `"${'plain text, no stop '.repeat(20_000)}"`,
}

test('a large body is parsed in slices of counted steps, whatever it holds, and comes out as a small one does (A384)', async () => {
  for (const [name, text] of Object.entries(LARGE)) {
    const slices: number[] = []
    const parsing = parseStrictJsonInSlices(Buffer.from(text), { maxBytes: 1e9, maxKeys: 1e6 })
    let next = parsing.next()
    for (; next.done !== true; next = parsing.next()) slices.push(next.value)
    assert.equal(next.value, parseStrictJson(Buffer.from(text), { maxBytes: 1e9, maxKeys: 1e6 }), name)
    assert.ok(Math.max(...slices) < 2 * SLICE_STEPS, `${name}: ${Math.max(...slices)} steps`)
    assert.ok(slices.length >= Math.floor(text.length / 64 / SLICE_STEPS), name)
  }
})

test('innocent large values are recorded: a list of 100,000 numbers, and one long string (A384)', async () => {
  await using edge = await testEdge({ work: new WorkQueue(), settings: { valueBodyMaxBytes: 9 * 1024 * 1024 } })
  await edge.started('r')
  const values = [Array.from({ length: 100_000 }, (_, n) => n / 8), 'a word and a line\n'.repeat(60_000)]
  for (const [n, result] of values.entries()) {
    const { callId, fence } = await bodyOf(await edge.post('/v1/runs/r/calls', { tool: 't', args: { n } }))
    const settled = await edge.post(`/v1/runs/r/calls/${callId}/settle`, { fence, result })
    assert.is(settled.status, 200, await settled.text())
  }
})

test('what a run that is not there is sent is not parsed, where it is large (A385)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const broken = `{"agent":"a","payload":{"text":"${'x'.repeat(70_000)}"}`
  assert.equal((await refusal(edge, broken)).slice(0, 2), [400, 'invalid-json'])
  const unknown = await edge.post('/v1/runs/unknown/envelopes', broken)
  assert.equal([unknown.status, (await bodyOf(unknown)).code], [404, 'run-not-found'])
  const small = await edge.post('/v1/runs/unknown/envelopes', '{')
  assert.is((await bodyOf(small)).code, 'invalid-json')
})

test.run()
