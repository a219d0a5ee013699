import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readSettings } from '../../src/settings/config.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: pages of other origins')

const APP = 'https://app.example.com'
const NAMED = [APP, 'http://localhost:5173']
const STRANGERS = [
  'https://evil.example.com',
  'https://app.example.com.evil.com',
  'https://app.example.com:8443',
  'http://app.example.com',
  'https://APP.example.com',
  'https://sub.app.example.com',
  'null',
  '*',
  '',
]
const withCors = (): Promise<TestEdge> => testEdge({ settings: { corsOrigins: NAMED } })
const CORS = /^access-control-/
const corsOf = ({ headers }: Response): readonly string[] => [...headers.keys()].filter((name) => CORS.test(name))

function preflight(edge: TestEdge, path: string, origin: string): Promise<Response> {
  const asking = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
  return Promise.resolve(edge.app.request(path, { method: 'OPTIONS', headers: { origin, ...asking } }))
}

test('a named origin is told what it may ask before it has a token, and reads every answer, refusals included (HTTP-16)', async () => {
  await using edge = await withCors()
  await edge.started('r')
  for (const origin of NAMED) {
    const before = await preflight(edge, '/v1/runs', origin)
    assert.is(before.status, 204)
    assert.is(before.headers.get('access-control-allow-origin'), origin)
    assert.match(before.headers.get('access-control-allow-methods') ?? '', /\bPOST\b/)
    const allowed = before.headers.get('access-control-allow-headers') ?? ''
    for (const name of ['authorization', 'content-type', 'idempotency-key', 'if-match'])
      assert.ok(allowed.includes(name))
    const answers = [
      await edge.get('/v1/runs/r', { origin }),
      await edge.post('/v1/runs', { id: 'r', name: 'other' }, { origin }),
      await edge.get('/v1/runs/none', { origin }),
      await edge.get('/v1/runs/r', { origin, authorization: 'Bearer none' }),
      await edge.get('/v1/nothing/there', { origin }),
      await edge.get('/v1/runs/r/export', { origin }),
      await edge.get('/openapi.json', { origin }),
    ]
    assert.equal(
      answers.map(({ status }) => status),
      [200, 422, 404, 401, 404, 200, 200],
    )
    for (const answer of answers) {
      assert.is(answer.headers.get('access-control-allow-origin'), origin, answer.url)
      assert.is(answer.headers.get('access-control-allow-credentials'), null)
      assert.match(answer.headers.get('vary') ?? '', /origin/i)
      await answer.text()
    }
    const tail = await edge.get('/v1/runs/r/tail', { origin })
    assert.is(tail.headers.get('access-control-allow-origin'), origin)
    await tail.body?.cancel()
  }
})

test('no other origin is named in an answer, however like one it looks, and none on the pages of the dashboard (HTTP-16, A205)', async () => {
  await using edge = await withCors()
  await edge.started('r')
  for (const origin of STRANGERS) {
    for (const answer of [await preflight(edge, '/v1/runs', origin), await edge.get('/v1/runs/r', { origin })]) {
      assert.is(answer.headers.get('access-control-allow-origin'), null, origin)
      assert.is(answer.headers.get('access-control-allow-credentials'), null, origin)
    }
  }
  for (const path of ['/ui', '/ui/runs', '/ui/sign-in', '/ui/download/runs/r/export', '/metrics', '/healthz']) {
    for (const answer of [await preflight(edge, path, APP), await edge.get(path, { origin: APP })]) {
      assert.equal(corsOf(answer), [], path)
    }
  }
})

test('without the setting nothing of it is answered (HTTP-16)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  assert.equal(corsOf(await edge.get('/v1/runs/r', { origin: APP })), [])
  const before = await preflight(edge, '/v1/runs', APP)
  assert.equal([before.status, corsOf(before)], [405, []])
})

test('the setting takes exact origins and no wildcard (HTTP-16, A205)', () => {
  const taken = readSettings({ cors: `${APP}, http://localhost:5173` }, {}).corsOrigins
  assert.equal(taken, NAMED)
  const bad = [
    '*',
    'null',
    'app.example.com',
    'https://*.example.com',
    `${APP}/`,
    `${APP}/path`,
    'https://APP.example.com',
    `${APP},`,
    '',
  ]
  for (const cors of bad) assert.throws(() => readSettings({ cors }, {}), /--cors: takes exact origins/, cors)
  assert.throws(() => readSettings({ cors: 'file:///' }, {}), /takes exact origins/)
})

test.run()
