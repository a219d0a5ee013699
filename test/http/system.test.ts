import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { STATUS } from '../../src/http/problem-codes.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { describedRoutes } from '../support/route-requests.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { bearer, bodyOf, testEdge } from '../support/test-edge.ts'

const test = suite('http: health, description, metrics, problems')

test('the description is OpenAPI 3.1 and lists every route with its scopes, parameters and bodies', async () => {
  await using edge = await testEdge()
  const document = (await (await edge.app.request('/openapi.json')).json()) as Record<string, never> & {
    openapi: string
  }
  assert.match(document.openapi, /^3\.1\./)
  const listed = (await describedRoutes(edge)).map(
    ({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
  )
  // Pages, and the root, which leads to them, are no part of the API: test/dashboard walks them.
  const api = edge.app.routes.filter(({ path }) => path !== '/' && !path.startsWith('/ui'))
  const served = api.map(({ method, path }) => `${method} ${path.replace('{.+}', '')}`)
  assert.equal(listed.sort(), served.sort())
  assert.is(listed.length, new Set(listed).size)

  const text = JSON.stringify(document)
  const refs = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name)
  const { components, paths } = document as unknown as {
    components: { schemas: object; securitySchemes: object }
    paths: Record<string, Record<string, Operation>>
  }
  for (const name of refs) assert.ok(name !== undefined && name in components.schemas)
  assert.ok('bearer' in components.securitySchemes)
  const ids = new Set<string>()
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      ids.add(operation.operationId)
      assert.ok(
        operation.summary && operation.responses['200'] && operation.responses['4XX'] && operation.responses['5XX'],
        path,
      )
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      assert.equal(
        inPath,
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      )
      // Giving keys away asks for nothing but the run in its path.
      const says = method === 'post' && !path.endsWith('/keys/disclose')
      assert.is(operation.requestBody !== undefined, says, path)
    }
  }
  assert.is(ids.size, listed.length)
})

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: object
  readonly responses: Record<string, object>
}

test('health answers always; readiness says when the store is not there or the server stops', async () => {
  let state: 'ready' | 'unavailable' = 'ready'
  await using edge = await testEdge({ wrap: (ledger) => ({ ...ledger, status: () => ({ state }) }) })
  const ready = async () => (await edge.app.request('/readyz')).status
  assert.is(await ready(), 200)
  state = 'unavailable'
  assert.is(await ready(), 503)
  state = 'ready'
  edge.draining.abort()
  assert.is(await ready(), 503)
  assert.is((await edge.app.request('/healthz')).status, 200)
})

test('the public keys are public and nothing else', async () => {
  await using edge = await testEdge()
  const { keys } = await bodyOf(await edge.app.request('/.well-known/jwks.json'))
  assert.is(keys.length, 1)
  for (const key of keys) assert.equal(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x'])
})

test('each problem has a page that says what to do; an unknown one has none (HTTP-1)', async () => {
  await using edge = await testEdge()
  for (const code of Object.keys(STATUS)) {
    const page = (await (await edge.app.request(`/problems/${code}`)).json()) as Record<string, string>
    assert.ok(page.title && page.remedy && page.title.length > 5 && page.remedy.length > 5, code)
  }
  for (const code of ['nope', '__proto__', 'constructor', 'toString'])
    assert.is((await edge.app.request(`/problems/${code}`)).status, 404)
})

test('an unknown path is 404 and another method 405 with Allow, both as problems', async () => {
  await using edge = await testEdge()
  const nowhere = await edge.app.request('/v2/runs')
  assert.equal([nowhere.status, (await bodyOf(nowhere)).code], [404, 'not-found'])
  for (const [method, path, allow] of [
    ['DELETE', '/v1/runs/r', 'GET, HEAD'],
    ['PUT', '/v1/runs', 'POST, GET, HEAD'],
    ['GET', '/v1/batch', 'POST'],
    ['PATCH', '/openapi.json', 'GET, HEAD'],
  ] as const) {
    const response = await edge.app.request(path, { method })
    assert.equal(
      [response.status, response.headers.get('allow'), (await bodyOf(response)).code],
      [405, allow, 'method-not-allowed'],
    )
  }
})

test('an unknown path is answered with the names of what lies beside it', async () => {
  await using edge = await testEdge()
  const detailOf = async (path: string) => (await bodyOf(await edge.app.request(path))).detail as string
  const said = await detailOf('/v1/audit/spending')
  assert.match(said, /; \/v1\/audit\/ has .*\bopen-calls, .*\bspend, /)
  assert.match(await detailOf('/v1/runs/r/call'), /; \/v1\/runs\/r\/ has .*\bcalls\b/)
  for (const path of ['/v2/runs', '/nowhere', `/v1/runs/${'r'.repeat(200)}/call`])
    assert.match(await detailOf(path), /; \/openapi\.json lists all that there are$/, path.slice(0, 20))
})

test('metrics name patterns, codes and states, never what a caller sent (A37)', async () => {
  await using edge = await testEdge()
  await edge.started('canary-run')
  await edge.post('/v1/runs/canary-run/envelopes', { agent: 'canary-agent', payload: { entities: ['A'] } })
  await edge.post('/v1/runs/canary-run/envelopes', { agent: 'a', payload: {} })
  await edge.get('/v1/runs/canary-run?canary=1')
  const response = await edge.get('/metrics')
  const text = await response.text()
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain/)
  assert.match(
    text,
    /countersign_http_requests_total\{method="post",route="\/v1\/runs\/\{run\}\/envelopes",status="201"\} 1/,
  )
  assert.match(text, /countersign_refusals_total\{code="contradiction"\} 1/)
  assert.match(text, /countersign_store_state\{state="ready"\} 1/)
  assert.match(text, /countersign_event_loop_lag_seconds \d/)
  assert.not.match(text, /canary|acme|alice/)
})

test('metrics count the time of each request once, in every bound that it stayed below, and no route that nobody requested', async () => {
  await using edge = await testEdge()
  for (let n = 0; n < 3; n += 1) await edge.get('/v1/runs/none')
  const text = await (await edge.get('/metrics')).text()
  const ofRun = (name: string) =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`countersign_http_request_seconds_${name}{`))
      .filter((line) => line.includes('method="get",route="/v1/runs/{run}"}'))
      .map((line) => Number(line.split(' ').at(-1)))
  const bounds = ofRun('bucket')
  assert.is(bounds.length, 15)
  assert.equal(
    bounds,
    bounds.toSorted((a, b) => a - b),
  )
  assert.equal([bounds.at(-1), ofRun('count')], [3, [3]])
  const [sum = 0] = ofRun('sum')
  assert.ok(sum > 0 && sum < 60, `${sum}`)
  assert.match(text, /^countersign_http_in_flight 1$/m)
  assert.not.match(text, /request_seconds_\w+\{[^}]*route="\/v1\/events"/)
})

test('metrics say how many calls are in doubt, once the run list has counted, and what the disks still take', async () => {
  using folder = tempFolder()
  await using edge = await testEdge({ disks: { data: folder.path, gone: folder.file('gone') } })
  const metrics = async () => (await edge.get('/metrics')).text()
  await edge.started('one')
  assert.not.match(await metrics(), /^countersign_calls_in_doubt \d/m)
  const inDoubt = async () => Number(/^countersign_calls_in_doubt (\d+)$/m.exec(await metrics())?.[1])
  await edge.get('/v1/runs')
  // Of every tenant of the store, where other tests may have left some.
  const before = await inDoubt()
  const claim = { tool: 'charge', args: { cents: 5 }, key: 'k' }
  const { callId, fence } = await bodyOf(await edge.post('/v1/runs/one/calls', claim))
  await edge.post(`/v1/runs/one/calls/${callId}/settle`, { fence, unknown: { reason: 'no answer' } })
  await edge.get('/v1/runs')
  assert.is(await inDoubt(), before + 1)
  assert.match(await metrics(), /^countersign_disk_free_bytes\{folder="data"\} \d+$/m)
  assert.not.match(await metrics(), /folder="gone"/)
})

test('metrics say how far the run list and the index lag behind, and nothing before they have counted', async () => {
  await using edge = await testEdge()
  const lags = async () => {
    const text = await (await edge.get('/metrics')).text()
    return Object.fromEntries(
      [...text.matchAll(/^countersign_follower_lag_events\{follower="(\w+)"\} (\d+)$/gm)].map((found) => [
        found[1],
        found[2],
      ]),
    )
  }
  await edge.started('one')
  assert.is((await lags()).runs, undefined)
  assert.is((await edge.get('/v1/runs')).status, 200)
  assert.is((await lags()).runs, '0')
  await edge.post('/v1/runs/one/envelopes', { agent: 'a', payload: { n: 1 } })
  assert.is((await lags()).runs, '1')
  assert.is((await edge.get('/v1/runs')).status, 200)
  assert.is((await lags()).runs, '0')
  assert.match(
    await (await edge.get('/metrics')).text(),
    /^countersign_build_info\{version="[^"]+",node="\d+[.\d]*"\} 1$/m,
  )
})

test('metrics need the scope metrics:read or admin, unless the settings open them', async () => {
  await using closed = await testEdge()
  await using open = await testEdge({ settings: { openMetrics: true } })
  assert.is((await closed.app.request('/metrics')).status, 401)
  assert.is((await closed.get('/metrics', await bearer(closed, { scopes: ['audit:read'] }))).status, 403)
  assert.is((await closed.get('/metrics', await bearer(closed, { scopes: ['metrics:read'] }))).status, 200)
  assert.is((await closed.get('/v1/runs', await bearer(closed, { scopes: ['metrics:read'] }))).status, 403)
  assert.is((await open.app.request('/metrics')).status, 200)
})

test('a request log has a line for each request, pages too, with who sent it and nothing of its query, and is off by default', async () => {
  await using silent = await testEdge()
  await using edge = await testEdge({ settings: { requestLog: true } })
  const lines = (from: typeof edge) => from.logs.filter(({ message }) => message === 'request')
  for (const each of [silent, edge]) {
    await each.started('one')
    await each.get('/v1/runs/one?canary=1')
    await each.app.request('/v1/runs/one')
    await each.app.request('/ui/sign-in')
    await each.app.request('/nowhere')
  }
  assert.is(lines(silent).length, 0)
  const seen = lines(edge).map(({ fields }) => fields as Record<string, unknown>)
  assert.equal(
    seen.map(({ method, route, path, status, subject }) => [method, route, path, status, subject]),
    [
      ['POST', '/v1/runs', '/v1/runs', 201, 'alice'],
      ['GET', '/v1/runs/:run', '/v1/runs/one', 400, 'alice'],
      ['GET', '/v1/runs/:run', '/v1/runs/one', 401, undefined],
      ['GET', '/ui/*', '/ui/sign-in', 200, undefined],
      ['GET', '/*', '/nowhere', 404, undefined],
    ],
  )
  for (const { elapsedMs } of seen) assert.type(elapsedMs, 'number')
  assert.not.match(JSON.stringify(seen), /canary/)
})

test('an internal error is answered with an id that is in the log, and without details (F25)', async () => {
  const breaking = (ledger: Ledger): Ledger => ({ ...ledger, run: () => Promise.reject(new Error('secret canary')) })
  await using edge = await testEdge({ wrap: breaking })
  const response = await edge.get('/v1/runs/r')
  const { code, errorId } = await bodyOf(response.clone())
  assert.equal([response.status, code], [500, 'internal'])
  assert.not.match(await response.text(), /canary/)
  assert.ok(
    edge.logs.some(({ level, fields }) => level === 'error' && 'errorId' in fields && fields.errorId === errorId),
  )
  assert.is((await edge.get('/v1/runs')).status, 200)
})

test('a store that cannot be read now is 503 with Retry-After', async () => {
  const away = (ledger: Ledger): Ledger => ({
    ...ledger,
    end: () => Promise.reject(new StoreUnavailableError('away', 2_500)),
  })
  await using edge = await testEdge({ wrap: away })
  const response = await edge.get('/v1/events')
  assert.equal(
    [response.status, response.headers.get('retry-after'), (await bodyOf(response)).code],
    [503, '3', 'store-unavailable'],
  )
  // One title for reads and writes (RFC 9457: a type has one): it must not say of a read that it is a write.
  const { title } = (await (await edge.get('/v1/events')).json()) as { title: string }
  assert.is(title, 'The store is not available')
})

test('no secret is in any answer, header, log or metric (A37)', async () => {
  await using edge = await testEdge()
  const keys = edge.inner.keys.current()
  const secrets = [
    ...keys.ring.keys.map(({ secret }) => Buffer.from(secret)),
    ...keys.tokenKeys.map(({ privateKey }) => Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url')),
  ].flatMap((bytes) => [bytes.toString('hex'), bytes.toString('base64url'), bytes.toString('base64')])
  const token = await edge.token()
  await edge.started('r')
  let all = ''
  for (const { path } of (await describedRoutes(edge)).filter(
    ({ method, path }) => method === 'GET' && !path.endsWith('/tail'),
  )) {
    const response = await edge.get(path.replace('{run}', 'r').replace('{call}', 'x').replace('{code}', 'internal'))
    all += JSON.stringify([...response.headers]) + (await response.text())
  }
  await edge.app.request('/v1/runs', { headers: { authorization: `Bearer ${token}x` } })
  all += JSON.stringify(edge.logs)
  assert.ok(secrets.length >= 4 && all.length > 10_000)
  for (const secret of [...secrets, token]) assert.is(all.includes(secret), false)
})

test('every answer that holds data is not to be stored', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  for (const { path } of (await describedRoutes(edge)).filter(
    ({ method, path }) => method === 'GET' && path.startsWith('/v1/'),
  )) {
    const response = await edge.get(path.replace('{run}', 'r').replace('{call}', 'x'))
    assert.match(response.headers.get('cache-control') ?? '', /no-store/, path)
    await response.body?.cancel()
  }
})

test.run()
