import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { jsonDigest } from '../../src/signing/digests.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: approvals')

const ARGS = { to: '<img src=x onerror=alert(1)>\u202e', amount: 5_000 }
const SCOPES = { subject: 'bob', scopes: ['approvals:write', 'runs:read'] }

async function waiting(edge: TestEdge, args: object = ARGS): Promise<{ approvalId: string; path: string }> {
  await edge.started('r', { budget: { tokens: 1_000 } })
  const step = { agent: 'ann', payload: { entities: ['Acme'] } }
  assert.is((await edge.post('/v1/runs/r/envelopes', step)).status, 201)
  const claim = { tool: 'pay', args, approve: { reason: 'over the limit' } }
  const { approvalId } = (await (await edge.post('/v1/runs/r/calls', claim)).json()) as { approvalId: string }
  return { approvalId, path: `/ui/runs/r/approvals/${approvalId}` }
}

test('the queue and the page of one show the arguments as data, the budget and what changed; a form decides without any script (A190)', async () => {
  await using edge = await testEdge()
  const { approvalId, path } = await waiting(edge)
  const bob = await signedIn(edge, SCOPES)
  const queue = await bob.html('/ui/approvals')
  assert.match(queue, new RegExp(`href="${path}"`))
  assert.match(queue, /over the limit/)
  const page = await bob.html(path)
  for (const html of [queue, page]) {
    assert.not.ok(html.includes('<img src=x'))
    assert.not.ok(html.includes('\u202e'))
  }
  assert.match(page, /&quot;amount&quot;: 5000/)
  assert.match(page, /Cap<\/dt><dd><span class="muted">1,000 tokens/)
  assert.match(page, /Acme/)
  const answer = await bob.post(path, { argsDigest: jsonDigest(ARGS), comment: 'fine', decision: 'grant' })
  assert.is(answer.status, 303)
  assert.is(answer.headers.get('location'), path)
  assert.match(await bob.html(path), /Approved by/)
  assert.match(await bob.html('/ui/approvals'), /Nothing waits/)
  const { items } = (await (await edge.get('/v1/runs/r/events?type=ApprovalGranted')).json()) as {
    items: { header: { actor: string }; data: object }[]
  }
  assert.is(items[0]?.header.actor, 'bob')
  assert.equal(items[0]?.data, {
    v: 1,
    approvalId,
    tool: 'pay',
    argsDigest: jsonDigest(ARGS),
    comment: 'fine',
    complete: true,
  })
})

const refused: readonly [
  what: string,
  form: Record<string, string>,
  status: number,
  headers?: Record<string, string>,
][] = [
  ['carries another secret', { csrf: 'x'.repeat(43) }, 403],
  ['comes from another site', {}, 403, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
  ['is about other arguments', { argsDigest: jsonDigest({}) }, 422],
  ['says neither yes nor no', { decision: 'perhaps' }, 422],
  ['has a comment beyond its limit', { comment: 'x'.repeat(4_097) }, 422],
  ['is larger than any form', { comment: 'x'.repeat(64 * 1024) }, 403],
]
for (const [what, form, status, headers] of refused) {
  test(`a form that ${what} decides nothing: ${status} (A190)`, async () => {
    await using edge = await testEdge()
    const { path } = await waiting(edge)
    const bob = await signedIn(edge, SCOPES)
    await bob.html(path)
    const said = { argsDigest: jsonDigest(ARGS), decision: 'grant', ...form }
    assert.is((await bob.post(path, said, headers)).status, status)
    assert.match(await bob.html(path), /badge-pending/)
  })
}

test('who may look and not decide sees no form, and what is posted all the same is refused (A190)', async () => {
  await using edge = await testEdge()
  const { path } = await waiting(edge)
  const reader = await signedIn(edge, { subject: 'rita', scopes: ['runs:read'] })
  assert.not.match(await reader.html(path), /name="decision"/)
  assert.is((await reader.post(path, { argsDigest: jsonDigest(ARGS), decision: 'grant' })).status, 403)
  const asker = await signedIn(edge, { ...SCOPES, subject: 'alice' })
  await asker.html(path)
  assert.is((await asker.post(path, { argsDigest: jsonDigest(ARGS), decision: 'grant' })).status, 403)
  const stranger = await signedIn(edge, { ...SCOPES, tenant: edge.foreign })
  assert.is((await stranger.get(path)).status, 404)
})

test.run()
