import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { jsonDigest } from '../../src/signing/digests.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('http: what runs waited for, as of a moment')

const HOUR_MS = 3_600_000
const ARGS = { amount: 5_000 }

async function logSize(edge: TestEdge): Promise<number> {
  return ((await (await edge.get('/v1/audit/runs')).json()) as { asOf: { treeSize: number } }).asOf.treeSize
}

async function approvalIn(edge: TestEdge, run: string, args: JsonObject = ARGS): Promise<string> {
  const claim = { tool: 'pay', args, approve: { reason: 'over the limit', expiresMs: HOUR_MS } }
  return String(((await (await edge.post(`/v1/runs/${run}/calls`, claim)).json()) as JsonObject).approvalId)
}

async function waitIn(edge: TestEdge, wait: JsonObject): Promise<string> {
  return String(((await (await edge.post('/v1/runs/trip/waits', wait)).json()) as JsonObject).waitId)
}

test('waits and approvals of a run, lists and each, answer as of a size what they answered then (HTTP-33)', async () => {
  await using edge = await testEdge({ audit: true })
  const asked = await bearer(edge, { scopes: ['runs:read', 'approvals:write', 'audit:read'] })
  await edge.started('trip')
  const approvalId = await approvalIn(edge, 'trip')
  const waitId = await waitIn(edge, { name: 'parcel' })
  const paths = ['waits?limit=1', `waits/${waitId}`, 'approvals?limit=1', `approvals/${approvalId}`]
  const read = async (path: string, asOf?: number) => {
    const at = asOf === undefined ? '' : `${path.includes('?') ? '&' : '?'}asOf=${asOf}`
    const text = await (await edge.get(`/v1/runs/trip/${path}${at}`, asked)).text()
    return text.replace(/"nextCursor":"[^"]+"/g, '"nextCursor":"…"')
  }
  const sizes: (readonly [asOf: number, answers: readonly string[]])[] = []
  const note = async () => {
    sizes.push([await logSize(edge), await Promise.all(paths.map((path) => read(path)))])
  }
  await note()
  await edge.post('/v1/runs/trip/waits', { name: 'other' })
  await edge.post(`/v1/runs/trip/approvals/${approvalId}/grant`, { argsDigest: jsonDigest(ARGS) }, asked)
  await note()
  await edge.post('/v1/runs/trip/signals/parcel', { payload: { box: 7 } })
  await edge.post(`/v1/runs/trip/approvals/${approvalId}/withdraw`, { argsDigest: jsonDigest(ARGS) }, asked)
  await note()
  await edge.post('/v1/runs/trip/complete', {})
  await note()
  const seen = new Set(sizes.flatMap(([, answers]) => answers))
  assert.ok(seen.size > 8, 'the moments differ')
  for (const [asOf, answers] of sizes)
    for (const [at, path] of paths.entries())
      assert.equal(JSON.parse(await read(path, asOf)), JSON.parse(answers[at] ?? ''), `${path} as of ${asOf}`)
  for (const path of paths) assert.match(await read(path, 99_999), /"code":"invalid-query"/, path)
})

test('an approval and a wait are over by the time of the moment, not by the clock of now (HTTP-33)', async () => {
  await using edge = await testEdge({ audit: true, realClock: false })
  const asked = await bearer(edge, { scopes: ['runs:read', 'approvals:write', 'audit:read'] })
  const { clock } = edge.inner
  await edge.started('trip')
  const approvalId = await approvalIn(edge, 'trip')
  const until = new Date(clock.nowMs + HOUR_MS).toISOString()
  const waitId = await waitIn(edge, { until })
  const before = await logSize(edge)
  clock.nowMs += 2 * HOUR_MS
  await edge.started('later')
  const after = await logSize(edge)
  const stood = async (asOf: number) => {
    const of = async (path: string) =>
      (await (await edge.get(`/v1/runs/trip/${path}?asOf=${asOf}`, asked)).json()) as JsonObject
    const [approval, wait] = [await of(`approvals/${approvalId}`), await of(`waits/${waitId}`)]
    return [approval.status, wait.status, wait.due ?? false]
  }
  assert.equal(await stood(before), ['pending', 'waiting', false])
  assert.equal(await stood(after), ['expired', 'waiting', true])
  const early = await edge.get(`/v1/runs/trip/approvals/${approvalId}?asOf=1`, asked)
  assert.is(((await early.json()) as JsonObject).code, 'approval-not-found')
})

const DECIDES = { subject: 'bob', scopes: ['runs:read', 'approvals:write', 'audit:read'] }

/** What `GET /v1/approvals` lists, all pages. */
async function queue(edge: TestEdge, headers: Record<string, string>, query = ''): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = []
  for (let cursor = ''; ; ) {
    const page = (await (await edge.get(`/v1/approvals?limit=1${query}${cursor}`, headers)).json()) as JsonObject
    items.push(...(page.items as JsonObject[]))
    if (page.nextCursor === null) return items
    cursor = `&cursor=${page.nextCursor}`
  }
}

const byId = (items: readonly JsonObject[]) =>
  [...items].sort((a, b) => (String(a.approvalId) < String(b.approvalId) ? -1 : 1))

test('the queue of approvals as of a size is what it was then, whatever was requested, decided or ended since (HTTP-35)', async () => {
  await using edge = await testEdge({ audit: true, realClock: false })
  const { clock } = edge.inner
  const asked = await bearer(edge, DECIDES)
  const sizes: (readonly [asOf: number, items: readonly JsonObject[]])[] = []
  const note = async () => {
    sizes.push([await logSize(edge), await queue(edge, asked)])
  }
  const decide = (run: string, id: string, how: string) =>
    edge.post(`/v1/runs/${run}/approvals/${id}/${how}`, { argsDigest: jsonDigest(ARGS) }, asked)
  for (const run of ['trip', 'other', 'third']) await edge.started(run)
  await note()
  const first = await approvalIn(edge, 'trip')
  await approvalIn(edge, 'trip', { amount: 7 })
  await note()
  const second = await approvalIn(edge, 'other')
  await approvalIn(edge, 'third')
  await note()
  await decide('trip', first, 'grant')
  await note()
  await decide('trip', first, 'withdraw')
  await decide('other', second, 'deny')
  await note()
  await edge.post('/v1/runs/third/complete', {})
  await note()
  clock.nowMs += 2 * HOUR_MS
  await edge.started('fourth')
  await note()
  assert.equal(
    sizes.map(([, items]) => items.length),
    [0, 2, 4, 3, 3, 2, 0],
  )
  for (const [asOf, items] of sizes)
    assert.equal(byId(await queue(edge, asked, `&asOf=${asOf}`)), byId(items), `as of ${asOf}`)
})

test('pages of the queue of the past are pinned to its log: newest request first, and a cursor is good for its size alone (HTTP-35)', async () => {
  await using edge = await testEdge({ audit: true })
  const asked = await bearer(edge, DECIDES)
  const ids: string[] = []
  for (const run of ['one', 'two', 'three']) await edge.started(run)
  for (const run of ['one', 'two', 'one', 'three']) {
    ids.unshift(await approvalIn(edge, run, { amount: ids.length }))
  }
  const asOf = await logSize(edge)
  const page = async (query: string) => {
    const response = await edge.get(`/v1/approvals?${query}`, asked)
    return { ...((await response.json()) as JsonObject), status: response.status } as JsonObject
  }
  const first = await page(`asOf=${asOf}&limit=3`)
  await approvalIn(edge, 'two', { amount: 9 })
  await edge.post('/v1/runs/three/complete', {})
  const rest = await page(`asOf=${asOf}&limit=3&cursor=${first.nextCursor}`)
  const given = [first, rest].flatMap(({ items }) => items as JsonObject[])
  assert.equal(
    given.map(({ approvalId }) => approvalId),
    ids,
  )
  assert.equal([rest.nextCursor, rest.asOf], [null, first.asOf])
  const refused = async (query: string) => {
    const { status, code } = await page(query)
    return [status, code]
  }
  assert.equal(await refused(`asOf=${asOf - 1}&cursor=${first.nextCursor}`), [400, 'invalid-cursor'])
  assert.equal(await refused(`cursor=${first.nextCursor}`), [400, 'invalid-cursor'])
  const now = await page('limit=1')
  assert.equal(await refused(`asOf=${asOf}&cursor=${now.nextCursor}`), [400, 'invalid-cursor'])
  assert.equal(await refused('asOf=99999'), [400, 'invalid-query'])
  assert.equal(await refused('asOf=0'), [400, 'invalid-query'])
})

test('the page of the queue goes to a size of the log: it says so, and its links stay in that moment (HTTP-35)', async () => {
  await using edge = await testEdge({ audit: true })
  await edge.started('trip')
  const approvalId = await approvalIn(edge, 'trip')
  const asOf = await logSize(edge)
  const bob = await signedIn(edge, DECIDES)
  const path = `/ui/runs/trip/approvals/${approvalId}`
  await bob.html(path)
  await bob.post(path, { argsDigest: jsonDigest(ARGS), decision: 'grant' })
  const now = await bob.html('/ui/approvals')
  assert.match(now, /Nothing waits/)
  assert.match(now, /<form method="get" action="\/ui\/approvals"[^>]*>[\s\S]*?name="asOf"/)
  const then = await bob.html(`/ui/approvals?asOf=${asOf}`)
  assert.match(then, /This is the past/)
  assert.ok(then.includes(`href="${path}?asOf=${asOf}"`) && then.includes(`href="/ui/runs/trip?asOf=${asOf}"`))
  assert.match(await bob.html('/ui/approvals?asOf=1'), /Nothing waited/)
  assert.is((await bob.get('/ui/approvals?asOf=99999')).status, 400)
  assert.is((await bob.get('/ui/approvals?asOf=x')).status, 400)
})

test('the page of an approval goes to a moment: it says so, shows how it stood, and decides nothing (HTTP-28)', async () => {
  await using edge = await testEdge({ audit: true })
  const scopes = ['runs:read', 'approvals:write', 'audit:read']
  await edge.started('trip')
  const approvalId = await approvalIn(edge, 'trip')
  const asked = await logSize(edge)
  const bob = await signedIn(edge, { subject: 'bob', scopes })
  const path = `/ui/runs/trip/approvals/${approvalId}`
  await bob.html(path)
  assert.is((await bob.post(path, { argsDigest: jsonDigest(ARGS), decision: 'grant' })).status, 303)
  const run = await bob.html(`/ui/runs/trip?asOf=${asked}`)
  assert.ok(run.includes(`href="${path}?asOf=${asked}"`), 'the run of then leads to the approval of then')
  const then = await bob.html(`${path}?asOf=${asked}`)
  assert.match(then, /This is the past/)
  assert.match(then, /badge-pending/)
  assert.not.match(then, /Approved by|name="decision"/)
  assert.match(await bob.html(path), /Approved by[\s\S]*name="decision" value="withdraw"/)
})

test.run()
