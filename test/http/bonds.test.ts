import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask, describedRoutes } from '../support/route-requests.ts'
import { ALL_SCOPES, bearer, bodyOf, testEdge } from '../support/test-edge.ts'

const test = suite('http: what bound tokens may do')

/** What concerns the whole run, or all agents: a token of one agent does none of it, whatever its scopes. */
const NOT_FOR_AN_AGENT = [
  'GET /v1/approvals',
  'GET /v1/integrity',
  'POST /v1/runs/{run}/approvals/{approval}/grant',
  'POST /v1/runs/{run}/approvals/{approval}/deny',
  'POST /v1/runs/{run}/approvals/{approval}/withdraw',
  'POST /v1/runs/{run}/waits',
  'POST /v1/runs/{run}/signals/{signal}',
  'POST /v1/runs/{run}/rollback',
  'POST /v1/runs/{run}/judgements',
  'POST /v1/runs/{run}/suspects',
  'POST /v1/runs/{run}/manifests',
  'POST /v1/runs/{run}/compensations',
  'POST /v1/runs/{run}/leave',
  'POST /v1/runs/{run}/carry',
  'POST /v1/runs/{run}/complete',
  'POST /v1/runs/{run}/fail',
  'GET /v1/suspects',
  'GET /v1/events',
  'GET /v1/tail',
  'GET /v1/export',
  'GET /v1/runs/{run}/export',
  'GET /v1/bundle',
]
/** Those below these paths, too. */
const NOT_FOR_AN_AGENT_BELOW = [
  '/v1/subjects/',
  '/v1/losses',
  '/v1/holds',
  '/v1/archives',
  '/v1/tokens/',
  '/v1/reviews',
  '/v1/audit/',
  '/v1/answers/',
  '/v1/log/',
]

/** On a run that is there, about calls and reservations that are not: the bond refuses nothing, the ledger may. */
const FOR_AN_AGENT = [
  'POST /v1/runs',
  'POST /v1/batch',
  'POST /v1/runs/{run}/envelopes',
  'POST /v1/runs/{run}/calls',
  'POST /v1/runs/{run}/captures',
  'POST /v1/runs/{run}/calls/{call}/settle',
  'POST /v1/runs/{run}/calls/{call}/renew',
  'POST /v1/runs/{run}/calls/{call}/resolve',
  'POST /v1/runs/{run}/reservations',
  'POST /v1/runs/{run}/reservations/{reservation}/settle',
  'POST /v1/runs/{run}/reservations/{reservation}/release',
  'POST /v1/runs/{run}/usage',
  'POST /v1/runs/{run}/forks',
  'POST /v1/runs/{run}/forks/{fork}/branches',
  'POST /v1/runs/{run}/forks/{fork}/join',
]

const isOneOf = (name: string, path: string) =>
  NOT_FOR_AN_AGENT.includes(name) || NOT_FOR_AN_AGENT_BELOW.some((prefix) => path.startsWith(prefix))

test('(A58) a token of one agent does nothing that is the whole run’s or tells of all agents, on every route', async () => {
  for (const bond of [{ agent: 'a' }, { agent: 'a', run: 'r' }]) {
    await using edge = await testEdge({ audit: true, merkleLogs: true })
    await edge.started('r')
    const headers = await bearer(edge, { ...bond, scopes: ALL_SCOPES })
    for (const route of (await describedRoutes(edge)).filter(({ scopes }) => scopes.length > 0)) {
      const name = `${route.method} ${route.path}`
      const { status, body } = await ask(edge, route, { run: 'r', headers })
      const refused = isOneOf(name, route.path) || route.path.endsWith('/keys/disclose')
      const known = refused || route.method === 'GET' || FOR_AN_AGENT.includes(name)
      assert.ok(known, `${name}: say in this table whether a token of one agent may use it`)
      const code = status >= 400 ? JSON.parse(body).code : ''
      if (refused) assert.ok(status === 403 && /^(agent|run)-mismatch$/.test(code), `${name}: ${status} ${code}`)
      else assert.is.not(code, 'agent-mismatch', name)
    }
    assert.is((await bodyOf(await edge.get('/v1/runs/r'))).status, 'open')
  }
})

test('(A58) a batch is no way around the bond', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const headers = await bearer(edge, { agent: 'a' })
  const items = [
    { op: 'complete', run: 'r', body: {} },
    { op: 'fail', run: 'r', body: { error: { message: 'x' } } },
    { op: 'leave', run: 'r', body: { because: 'waiting', runFence: 1 } },
    { op: 'carry', run: 'r', body: { runFence: 1 } },
    { op: 'manifest', run: 'r', body: { agent: 'a', writes: ['all'] } },
    { op: 'rollback', run: 'r', body: { reason: 'x' } },
    { op: 'judgement', run: 'r', body: { step: 1, verdict: 'accept', judge: 'ann' } },
    { op: 'review', run: 'r', body: { suspects: ['1.1'], decision: 'rejected', reason: 'x' } },
    { op: 'grant', run: 'r', approval: 'x', body: { argsDigest: `sha256:${'0'.repeat(64)}` } },
    { op: 'deny', run: 'r', approval: 'x', body: { argsDigest: `sha256:${'0'.repeat(64)}` } },
    { op: 'withdraw', run: 'r', approval: 'x', body: { argsDigest: `sha256:${'0'.repeat(64)}` } },
    { op: 'wait', run: 'r', body: { name: 'go' } },
    { op: 'signal', run: 'r', signal: 'go', body: {} },
  ]
  const answer = await bodyOf(await edge.post('/v1/batch', { items }, headers))
  const codes = (answer.items as readonly { body: { code: string } }[]).map(({ body }) => body.code)
  assert.equal(
    codes,
    items.map(() => 'agent-mismatch'),
  )
})

test('(A58) manifests are set by runs:admin; an unbound runs:write keeps that for now, a bound one does not', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const set = async (claims: object) => {
    const response = await edge.post('/v1/runs/r/manifests', { agent: 'a', writes: ['x'] }, await bearer(edge, claims))
    return response.status < 300 ? response.status : (await bodyOf(response)).code
  }
  assert.is(await set({ scopes: ['runs:write'] }), 201)
  assert.is(await set({ scopes: ['runs:write'], run: 'r' }), 'scope-missing')
  assert.is(await set({ scopes: ['runs:write'], agent: 'a' }), 'scope-missing')
  assert.is(await set({ scopes: ['runs:admin'], agent: 'a' }), 'agent-mismatch')
  assert.is(await set({ scopes: ['runs:admin'], run: 'r' }), 200)
  assert.is(await set({ scopes: ['runs:read'] }), 'scope-missing')
  const { items } = await bodyOf(await edge.get('/v1/runs/r/manifests'))
  assert.equal(
    (items as readonly { setBy?: unknown }[]).map(({ setBy }) => setBy),
    [{ actor: 'alice' }],
  )
})

test('(A58) a token of one agent lists the runs that this agent has a part in', async () => {
  await using edge = await testEdge()
  for (const [run, agent] of [
    ['one', 'a'],
    ['two', 'b'],
  ] as const) {
    await edge.started(run)
    await edge.post(`/v1/runs/${run}/envelopes`, { agent, payload: { note: 'x' } })
  }
  const headers = await bearer(edge, { agent: 'a' })
  const listed = async (query: string) =>
    ((await bodyOf(await edge.get(`/v1/runs${query}`, headers))).items as readonly { runId?: unknown }[]).map(
      ({ runId }) => runId,
    )
  assert.equal(await listed(''), ['one'])
  assert.equal(await listed('?agent=b'), [])
})

test('(HTTP-65) what is due is shown to no token of one agent or of one run', async () => {
  await using edge = await testEdge()
  await edge.started('r', { after: '2026-01-01T00:00:00Z' })
  const asked = async (bond: object) =>
    bodyOf(await edge.get('/v1/runs?due=true&name=test', await bearer(edge, { ...bond })))
  assert.is((await asked({ agent: 'a' })).code, 'agent-mismatch')
  assert.is((await asked({ run: 'r' })).code, 'run-mismatch')
  assert.is(((await asked({})).items as readonly unknown[]).length, 1)
})

test.run()
