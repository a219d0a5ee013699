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
