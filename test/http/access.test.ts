import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask, describedRoutes } from '../support/route-requests.ts'
import { ALL_SCOPES, bearer, bodyOf, testEdge } from '../support/test-edge.ts'

const test = suite('http: who may ask what')

test('every route but health, keys, description and problem pages needs a token (HTTP-9)', async () => {
  await using edge = await testEdge()
  const open: string[] = []
  for (const route of await describedRoutes(edge)) {
    const { status } = await ask(edge, route, { run: 'r', headers: {} })
    if (route.scopes.length === 0) open.push(route.path)
    else assert.is(status, 401, `${route.method} ${route.path}`)
  }
  assert.equal(open.sort(), ['/.well-known/jwks.json', '/healthz', '/openapi.json', '/problems/{code}', '/readyz'])
})

test('each scope opens the routes that name it and no other (A12)', async () => {
  await using edge = await testEdge({ payloadScope: 'required' })
  await edge.started('r')
  const routes = (await describedRoutes(edge)).filter(({ scopes }) => scopes.length > 0)
  assert.ok(routes.length > 25, 'the walk must see the routes')
  for (const scope of [...ALL_SCOPES, 'runs', 'runs:write:all']) {
    const headers = await bearer(edge, { scopes: [scope] })
    for (const route of routes) {
      const { status, body } = await ask(edge, route, { run: 'r', headers })
      const refused = status === 403 && JSON.parse(body).code === 'scope-missing'
      assert.is(refused, !route.scopes.includes(scope), `${scope} on ${route.method} ${route.path}: ${status}`)
    }
  }
})

test('a run of another tenant looks like a run that does not exist, on every route (A11, HTTP-8)', async () => {
  await using edge = await testEdge()
  await edge.started('theirs')
  const headers = await bearer(edge, { tenant: edge.foreign })
  for (const route of (await describedRoutes(edge)).filter(({ path }) => path.includes('{run}'))) {
    const foreign = await ask(edge, route, { run: 'theirs', headers })
    const unknown = await ask(edge, route, { run: 'nobody', headers })
    assert.is(foreign.status, 404, `${route.method} ${route.path}`)
    assert.is(foreign.body.replaceAll('theirs', 'nobody'), unknown.body)
    assert.is(JSON.parse(foreign.body).code, 'run-not-found')
  }
})

test('lists, events, tails and exports of a tenant hold nothing of another (A11)', async () => {
  await using edge = await testEdge()
  await edge.started('theirs')
  const headers = await bearer(edge, { tenant: edge.foreign })
  const runs = await bodyOf(await edge.get('/v1/runs', headers))
  const events = await bodyOf(await edge.get('/v1/events', headers))
  const lines = (await (await edge.get('/v1/export', headers)).text()).trim().split('\n')
  assert.equal(runs.items, [])
  assert.equal(events.items, [])
  assert.is(lines.length, 1)
  assert.is(JSON.parse(lines[0] ?? '').trailer.events, 0)
})

test('a cursor of one tenant is none of another (A11)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  await edge.started('s')
  const { nextCursor } = await bodyOf(await edge.get('/v1/events?limit=1'))
  const foreign = await edge.get(
    `/v1/events?limit=1&cursor=${nextCursor}`,
    await bearer(edge, { tenant: edge.foreign }),
  )
  assert.is(foreign.status, 400)
  assert.is((await bodyOf(foreign)).code, 'invalid-cursor')
})

test('every fault of a token has the same answer; the log alone tells them apart (A5, HTTP-7)', async () => {
  await using edge = await testEdge({ settings: { refusedTokensPerSecond: 0 } })
  const now = Date.now()
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const good = await edge.token()
  const faults = {
    expired: await edge.token({ now: now - 3_600_000 }),
    audience: await edge.token({ audience: 'another' }),
    issuer: await edge.token({ issuer: 'another' }),
    signature: `${good.slice(0, -4)}AAAA`,
    unsigned: `${part({ alg: 'none', typ: 'at+jwt' })}.${part({ sub: 'alice', tenant: edge.tenant })}.`,
    critical: `${part({ alg: 'EdDSA', typ: 'at+jwt', crit: ['x'] })}.e30.AAAA`,
    prototype: `${part({ alg: 'EdDSA', typ: 'at+jwt', kid: '__proto__' })}.${part({ iss: 'test-issuer' })}.AAAA`,
    tenant: await edge.token({ tenant: 'system' }),
    garbage: 'garbage',
  }
  const bodies = new Set<string>()
  for (const [name, token] of Object.entries(faults)) {
    const response = await edge.app.request('/v1/runs', { headers: { authorization: `Bearer ${token}` } })
    assert.is(response.status, 401, name)
    assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/)
    bodies.add(await response.text())
  }
  assert.is(bodies.size, 1)
  const codes = new Set(edge.logs.map(({ fields }) => 'fault' in fields && fields.fault))
  assert.ok(codes.size >= 6, [...codes].join())
})

test('a token is taken from the Authorization header and from nowhere else', async () => {
  await using edge = await testEdge()
  const token = await edge.token()
  for (const headers of [{ authorization: `Basic ${token}` }, { authorization: token }, { cookie: `token=${token}` }]) {
    assert.is((await edge.app.request('/v1/runs', { headers })).status, 401)
  }
  assert.is((await edge.app.request(`/v1/runs?access_token=${token}`)).status, 401)
  assert.is((await edge.app.request('/v1/runs', { headers: { authorization: `bearer ${token}` } })).status, 200)
})

test('a token that is bound to a run works on that run and on nothing wider (HTTP-8)', async () => {
  await using edge = await testEdge()
  await edge.started('mine')
  await edge.started('other')
  const headers = await bearer(edge, { run: 'mine' })
  for (const route of (await describedRoutes(edge)).filter(
    ({ path, scopes }) => path.startsWith('/v1/') && scopes.length > 0,
  )) {
    if (route.path === '/v1/batch') continue
    const { status, body } = await ask(edge, route, { run: 'other', headers })
    assert.is(status, 403, `${route.method} ${route.path}`)
    assert.is(JSON.parse(body).code, 'run-mismatch')
  }
  assert.is((await edge.get('/v1/runs/mine', headers)).status, 200)
  assert.is((await edge.post('/v1/runs', { id: 'new', name: 'x' }, await bearer(edge, { run: 'new' }))).status, 201)
})

test('a token that is bound to an agent speaks for no other, nor through a reservation', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const headers = await bearer(edge, { agent: 'writer' })
  const foreign = await edge.post('/v1/runs/r/envelopes', { agent: 'reader', payload: {} }, headers)
  const reserve = await edge.post('/v1/runs/r/calls', { tool: 't', args: 1, reserve: { agent: 'reader' } }, headers)
  assert.equal([foreign.status, (await bodyOf(foreign)).code], [403, 'agent-mismatch'])
  assert.equal([reserve.status, (await bodyOf(reserve)).pointer], [403, '/reserve/agent'])
  assert.is((await edge.post('/v1/runs/r/envelopes', { agent: 'writer', payload: {} }, headers)).status, 201)
})

test('a rotated token key is refused at once, though its token was cached (A9, A36)', async () => {
  await using edge = await testEdge()
  const { rotateTokenKeys } = await import('../../src/signing/ledger-keys.ts')
  const { randomBytes } = await import('node:crypto')
  assert.is((await edge.get('/v1/runs')).status, 200)
  edge.inner.keys.replace(
    rotateTokenKeys(edge.inner.keys.current(), new Date(Date.now() - 120_000).toISOString(), randomBytes),
  )
  assert.is((await edge.get('/v1/runs')).status, 401)
  assert.is((await edge.get('/v1/runs', await bearer(edge, {}))).status, 200)
})

test.run()
