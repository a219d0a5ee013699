import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: suspects')

const BOB = { subject: 'bob', scopes: ['approvals:write', 'runs:read'] }
const NASTY = '<img src=x onerror=alert(1)>\u202e'

async function suspicious(edge: TestEdge, run = 'r'): Promise<void> {
  await edge.started(run)
  const hand = async (payload: object) =>
    assert.is((await edge.post(`/v1/runs/${run}/envelopes`, { agent: 'ann', payload })).status, 201)
  await hand({ order: { carrier: 'K7Q', gate: 'B22' } })
  await hand({ order: { carrier: NASTY, gate: 'C31' } })
}

const openIds = async (edge: TestEdge): Promise<unknown> => {
  const { items } = (await (await edge.get('/v1/runs/r/suspects')).json()) as { items: JsonObject[] }
  return items.map(({ id }) => id)
}

const contextOf = async (edge: TestEdge): Promise<unknown> =>
  ((await (await edge.get('/v1/runs/r/context')).json()) as JsonObject).context

test('the queue, the page of a run and its notice show open suspects as data, with what explains them; a form without any script confirms (JUD-68)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  const bob = await signedIn(edge, BOB)
  const [queue, run, page] = [
    await bob.html('/ui/suspects'),
    await bob.html('/ui/runs/r'),
    await bob.html('/ui/runs/r/suspects'),
  ]
  assert.match(queue, /href="\/ui\/runs\/r\/suspects"/)
  assert.match(run, /2 open suspects:/)
  assert.match(page, /K7Q/)
  assert.match(page, /&quot;supersedes&quot;/)
  for (const html of [queue, run, page]) {
    assert.match(html, /\/order\/carrier/)
    assert.not.ok(html.includes('<img src=x') || html.includes('\u202e'))
  }
  const answer = await bob.post('/ui/runs/r/suspects', { 'suspect:2.1': 'on', decision: 'confirmed', reason: 'asked' })
  assert.is(answer.status, 303)
  assert.equal(await openIds(edge), ['2.2'])
  assert.match(await bob.html('/ui/runs/r/suspects'), /1 open suspect</)
})

test('a rejection goes back to before the first of what is marked; then nothing is open (JUD-64)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  const bob = await signedIn(edge, BOB)
  await bob.html('/ui/runs/r/suspects')
  const form = { 'suspect:2.1': 'on', 'suspect:2.2': 'on', decision: 'rejected', reason: 'wrong gate' }
  assert.is((await bob.post('/ui/runs/r/suspects', form)).status, 303)
  assert.equal(await contextOf(edge), { order: { carrier: 'K7Q', gate: 'B22' } })
  assert.match(await bob.html('/ui/runs/r/suspects'), /No suspect is open/)
  assert.match(await bob.html('/ui/suspects'), /No suspect is open/)
})

test('a form that says too little, is of another session, or of a reader who may not review decides nothing (JUD-68)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  const bob = await signedIn(edge, BOB)
  await bob.html('/ui/runs/r/suspects')
  const whole = { 'suspect:2.1': 'on', decision: 'confirmed', reason: 'asked' }
  const cases = [
    [{ ...whole, reason: ' ' }, 422],
    [{ ...whole, decision: 'perhaps' }, 422],
    [{ decision: 'confirmed', reason: 'asked' }, 422],
    [{ ...whole, 'suspect:9.1': 'on' }, 404],
    [{ ...whole, csrf: 'x'.repeat(43) }, 403],
  ] as const
  for (const [form, status] of cases) {
    assert.is((await bob.post('/ui/runs/r/suspects', form)).status, status, JSON.stringify(form))
    assert.equal(await openIds(edge), ['2.1', '2.2'])
  }
  const eve = await signedIn(edge, { subject: 'eve', scopes: ['audit:read', 'runs:read'] })
  assert.not.match(await eve.html('/ui/runs/r/suspects'), /<textarea/)
  assert.is((await eve.post('/ui/runs/r/suspects', whole)).status, 403)
  assert.equal(await openIds(edge), ['2.1', '2.2'])
})

test('a run of the past shows what was open then, without a form (JUD-68)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  const bob = await signedIn(edge, BOB)
  await bob.html('/ui/runs/r/suspects')
  await bob.post('/ui/runs/r/suspects', { 'suspect:2.1': 'on', decision: 'confirmed', reason: 'asked' })
  const then = await bob.html('/ui/runs/r/suspects?asOf=event-2')
  assert.match(then, /2 open suspects</)
  assert.not.match(then, /<textarea/)
})

test('what agents declared to move is a page of the run, and a file of a policy that says so for all runs (JUD-68)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const hand = async (gate: string, moves?: object[]) =>
    assert.is((await edge.post('/v1/runs/r/envelopes', { agent: 'ann', payload: { gate }, moves })).status, 201)
  const bob = await signedIn(edge, BOB)
  await hand('B22')
  assert.not.match(await bob.html('/ui/runs/r'), /Places that move/)
  assert.is((await bob.get('/ui/runs/r/declared/policy.json')).status, 404)
  const move = { path: '/gate', as: 'cursor', reason: `where it stands ${NASTY}` }
  await hand('C31', [move])
  assert.match(await bob.html('/ui/runs/r'), /href="\/ui\/runs\/r\/declared"/)
  const page = await bob.html('/ui/runs/r/declared')
  assert.match(page, /\/gate/)
  assert.not.ok(page.includes('<img src=x') || page.includes('\u202e'))
  const file = await bob.get('/ui/runs/r/declared/policy.json')
  assert.match(file.headers.get('content-disposition') ?? '', /attachment; filename="r\.policy\.json"/)
  const policy = await file.json()
  assert.equal(policy, { moves: [move] })
  const begun = await edge.post('/v1/runs', { name: 'next', policy })
  assert.is(begun.status, 201, await begun.text())
})

test.run()
