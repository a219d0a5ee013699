import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { PolicyObject } from '../../schemas/policy.ts'
import { ledgerConnection } from '../../src/agent/runtime/ledger-connection.ts'
import { testEdge } from '../support/test-edge.ts'

const test = suite('policies over HTTP')

const places = (count: number, chars = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`/${'a'.repeat(chars)}${i}`, 'set']))
const expression = (text: string) => ({ invariants: [{ name: 'x', expression: text }] })

/** Policies that a run and a manifest are refused with alike, and the place at fault. */
const BAD: readonly (readonly [string, unknown])[] = [
  ['', 7],
  ['', null],
  ['', ['default']],
  ['/protekt', { protekt: '*' }],
  ['/lists/facts~1x', { lists: { 'facts/x': 'set' } }],
  ['/lists/~1x', { lists: { '/x': 'heap' } }],
  ['/lists/~1x/key', { lists: { '/x': { key: [] } } }],
  ['/lists', { lists: places(257) }],
  ['', { lists: places(250, 200) }],
  ['/immutable/0', { immutable: [''] }],
  ['/immutable/0', { immutable: ['/a~2'] }],
  ['/immutable/1', { immutable: ['/a', '/b'.repeat(33)] }],
  ['/monotonic/~1a', { monotonic: { '/a': 'sideways' } }],
  ['/tolerance/~1a', { tolerance: { '/a': {} } }],
  ['/supersede/never/0', { supersede: { never: ['facts'] } }],
  ['/minConfidence', { minConfidence: 2 }],
  ['/invariants/0/expression', expression('while(true)')],
  ['/invariants/0/expression', expression('process.exit()')],
  ['/invariants/0/expression', expression('(function(){})()')],
  ['/invariants/0/expression', expression(`${'('.repeat(400)}1${')'.repeat(400)} == 1`)],
  ['/invariants/0/expression', expression(`${'1 + '.repeat(3000)}1 == 1`)],
  ['/invariants', { invariants: Array.from({ length: 33 }, () => ({ name: 'x', expression: '1 == 1' })) }],
]

/** Deep, as far as a body goes. */
function nested(depth: number): object {
  return depth === 0 ? {} : { lists: nested(depth - 1) }
}

test('a policy that cannot be used is 400 with its place and the reason, and starts nothing (JUD-23, A172)', async () => {
  await using edge = await testEdge()
  const more = [
    ['/base', { base: 'strict' }],
    ['/rules', { rules: 3 }],
    ['/immutable', { base: 'relay', immutable: ['/a'] }],
  ] as const
  for (const [index, [place, policy]] of [...BAD, ...more, ['/lists/lists', nested(50)] as const].entries()) {
    const answer = await edge.post('/v1/runs', { id: `bad-${index}`, name: 'r', policy })
    const body = (await answer.json()) as { code: string; pointer: string; detail: string }
    assert.equal(
      [answer.status, body.code, body.pointer],
      [400, 'policy-invalid', `/policy${place}`],
      JSON.stringify(body).slice(0, 300),
    )
    assert.ok(body.detail.length > 5 && body.detail !== 'Invalid input', body.detail)
    assert.is((await edge.get(`/v1/runs/bad-${index}`)).status, 404)
  }
  assert.is((await edge.post('/v1/runs', { id: 'x', name: '', policy: 'default' })).status, 422)
})

test('a manifest with such a policy is 400 and registers nothing; in a batch the item is (JUD-23, A172)', async () => {
  await using edge = await testEdge()
  const run = await edge.started('r')
  for (const [place, policy] of BAD) {
    const answer = await edge.post(`/v1/runs/${run}/manifests`, { agent: 'a', policy })
    const body = (await answer.json()) as { code: string; pointer: string }
    assert.equal(
      [answer.status, body.code, body.pointer],
      [400, 'policy-invalid', `/policy${place}`],
      JSON.stringify(policy).slice(0, 80),
    )
  }
  assert.equal(((await (await edge.get(`/v1/runs/${run}/manifests`)).json()) as { items: unknown[] }).items, [])
  const items = BAD.map(([, policy], i) => ({ run: `b-${i}`, op: 'start', body: { name: 'r', policy } }))
  const batch = (await (await edge.post('/v1/batch', { items })).json()) as { items: { status: number }[] }
  assert.equal([...new Set(batch.items.map(({ status }) => status))], [400])
})

test('in process the same policies are refused with the same code, a cyclic one too (JUD-23, A172)', async () => {
  await using edge = await testEdge()
  const { ledger } = edge.inner
  const connection = ledgerConnection({
    ledger,
    caller: { tenant: edge.tenant, actor: 'a' },
    place: '',
    close: async () => {},
  })
  const cyclic: Record<string, unknown> = {}
  cyclic.lists = cyclic
  const within: { name: string; expression: string; self?: unknown } = { name: 'x', expression: '1 == 1' }
  within.self = within
  for (const policy of [...BAD.map(([, each]) => each), cyclic, { invariants: [within] }]) {
    const reply = await connection.execute('', { kind: 'start', body: { id: 'in', name: 'r', policy } as never })
    assert.is(reply.ok, false)
    if (!reply.ok) assert.match(`${reply.problem.code} ${reply.problem.detail}`, /^policy-invalid \/policy.*: ./)
  }
})

test("a tenant's runs stand under its policy, on record with its digest, whatever they declare (JUD-23)", async () => {
  let declared: PolicyObject = { immutable: ['/mrn'], ungrounded: 'reject' }
  let tenant = ''
  await using edge = await testEdge({ tenantPolicy: (name) => (name === tenant ? declared : undefined) })
  tenant = edge.tenant
  const answer = await edge.post('/v1/runs', { id: 'r', name: 'r', policy: { ungrounded: 'off', free: ['board'] } })
  const { policy } = (await answer.json()) as { policy: { immutable: string[]; ungrounded: string; free: string[] } }
  assert.equal([policy.immutable, policy.ungrounded, policy.free], [['/mrn'], 'reject', ['board']])
  const events = (await (await edge.get('/v1/runs/r/events')).json()) as { items: { data: Record<string, unknown> }[] }
  assert.equal(events.items[0]?.data.policy, policy)
  assert.match(String(events.items[0]?.data.tenantPolicy), /^sha256:/)

  // A file that is edited means nothing to runs that began before.
  declared = {}
  const again = await edge.post('/v1/runs', { id: 'r', name: 'r', policy: { ungrounded: 'off', free: ['board'] } })
  assert.is(((await again.json()) as { resumed: boolean }).resumed, true)
  await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: { mrn: 'M-1' } })
  const supersedes = [{ path: '/mrn', reason: 'typed wrongly' }]
  const changed = await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: { mrn: 'M-2' }, supersedes })
  assert.is(changed.status, 409)
  const replayed = await edge.get('/v1/runs/r/replay')
  assert.not.match(await replayed.text(), /differs|tampered/)

  // Another tenant's runs are as they were; and what a run may not leave is refused with 400.
  const other = { authorization: `Bearer ${await edge.token({ tenant: edge.foreign })}` }
  const foreign = (await (await edge.post('/v1/runs', { id: 'r', name: 'r' }, other)).json()) as object
  assert.not.ok('policy' in foreign)
  declared = { immutable: ['/mrn'] }
  const relay = await edge.post('/v1/runs', { id: 'q', name: 'q', policy: 'relay' })
  assert.is(relay.status, 400)
  assert.match(await relay.text(), /policy-invalid.*tenant/)
})

test.run()
