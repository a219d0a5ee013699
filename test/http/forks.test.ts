import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { createClient } from '../../src/client/client.ts'
import { testEdge } from '../support/test-edge.ts'

const test = suite('http: forks and branch runs')

const bodyOf = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject
const itemsOf = (body: JsonObject) => body.items as readonly JsonObject[]

const BRANCHES = [
  { name: 'a', agent: 'a' },
  { name: 'b', agent: 'b' },
]

test('a fork goes from open to joined, each step with a status and a place to read', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const opened = await edge.post('/v1/runs/r/forks', { branches: BRANCHES, join: 'union' })
  const { forkId, frozen } = await bodyOf(opened)
  assert.equal([opened.status, opened.headers.get('location'), frozen], [201, '/v1/runs/r/forks', {}])
  const report = (body: object) => edge.post(`/v1/runs/r/forks/${forkId}/branches`, body)
  assert.is((await report({ branch: 'a', output: { x: 1 } })).status, 201)
  assert.is((await report({ branch: 'a', output: { x: 1 } })).status, 200, 'the same again is on record')
  assert.is((await report({ branch: 'a', output: { x: 2 } })).status, 409)
  assert.is((await report({ branch: 'z', output: {} })).status, 404)
  assert.is((await report({ branch: 'b', output: { y: 2 }, error: { message: 'x' } })).status, 422)
  assert.is((await report({ branch: 'b', output: { y: 2 } })).status, 201)
  const joined = await edge.post(`/v1/runs/r/forks/${forkId}/join`, {})
  assert.equal([joined.status, (await bodyOf(joined)).context], [201, { x: 1, y: 2 }])
  assert.equal((await bodyOf(await edge.get(joined.headers.get('location') ?? ''))).context, { x: 1, y: 2 })
  assert.is((await edge.post(`/v1/runs/r/forks/${forkId}/join`, {})).status, 200)
  const items = itemsOf(await bodyOf(await edge.get('/v1/runs/r/forks')))
  assert.equal([items.length, items[0]?.status], [1, 'joined'])
})

test('a conflict is a 409 problem with both values, and its page says what to do', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const { forkId } = await bodyOf(await edge.post('/v1/runs/r/forks', { branches: BRANCHES, join: 'union' }))
  for (const branch of ['a', 'b'])
    await edge.post(`/v1/runs/r/forks/${forkId}/branches`, { branch, output: { x: branch } })
  const refused = await edge.post(`/v1/runs/r/forks/${forkId}/join`, {})
  const body = await bodyOf(refused)
  assert.equal(
    [refused.status, body.code, body.conflicts],
    [409, 'fork-conflict', [{ path: '/x', ours: { branch: 'a', value: 'a' }, theirs: { branch: 'b', value: 'b' } }]],
  )
  assert.is((await edge.get(String(body.type))).status, 200)
})

test('bad forks are refused by their schema: no branch, two of one name, a scope within another', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const nested = [
    { name: 'a', agent: 'a', scope: 'x' },
    { name: 'b', agent: 'b', scope: 'x/y' },
  ]
  const twice = [BRANCHES[0], { ...BRANCHES[0], agent: 'other' }]
  const many = Array.from({ length: 65 }, (_, i) => ({ name: `b${i}`, agent: 'a' }))
  for (const branches of [[], twice, nested, many]) {
    assert.is((await edge.post('/v1/runs/r/forks', { branches, join: 'vote' })).status, 422)
  }
  assert.is((await edge.post('/v1/runs/r/forks', { branches: BRANCHES, join: 'best' })).status, 422)
  assert.is((await edge.get('/v1/runs/r')).headers.get('etag'), '"0"')
})

test('in a batch the fork is named by the item', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const { forkId } = await bodyOf(await edge.post('/v1/runs/r/forks', { branches: BRANCHES, join: 'first_wins' }))
  const batch = await edge.post('/v1/batch', {
    items: [
      { run: 'r', op: 'branch', fork: forkId, body: { branch: 'b', output: { by: 'b' } } },
      { run: 'r', op: 'join', fork: forkId, body: {} },
      { run: 'r', op: 'join', body: {} },
    ],
  })
  const items = itemsOf(await bodyOf(batch))
  assert.equal(
    items.map(({ status }) => status),
    [201, 201, 422],
  )
  const joined = items[1] as { body?: JsonObject }
  assert.equal(joined.body?.winners, ['b'])
})

test('the client opens, reports, joins and reads forks, and starts a branch of a run', async () => {
  await using edge = await testEdge()
  const token = await edge.token()
  const fetch = async (url: string, init: RequestInit): Promise<Response> => edge.app.request(url, init)
  const client = createClient({ url: 'http://ledger.test', token, fetch })
  await client.execute('', { kind: 'start', body: { id: 'r', name: 'demo' } })
  const { body } = await client.execute('r', { kind: 'fork', body: { branches: BRANCHES, join: 'vote' } })
  const forkId = String(body.forkId)
  await client.batch([
    { runId: 'r', command: { kind: 'branch', forkId, body: { branch: 'a', output: { by: 'a' }, score: 1 } } },
    { runId: 'r', command: { kind: 'branch', forkId, body: { branch: 'b', output: { by: 'b' }, score: 2 } } },
  ])
  const joined = await client.execute('r', { kind: 'join', forkId, body: {} })
  assert.equal([joined.created, joined.body.winners], [true, ['b']])
  assert.is((await client.forks('r'))[0]?.status, 'joined')
  const start = { id: 'what-if', name: 'demo', branchOf: { run: 'r', atStep: 1 } }
  const branched = await client.execute('', { kind: 'start', body: start })
  assert.equal([branched.created, branched.body.step], [true, 1])
  assert.equal((await client.context('what-if')).context, { by: 'b' })
})

test.run()
