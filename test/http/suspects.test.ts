import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { jsonDigest } from '../../src/signing/digests.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: suspects')

const PAY = { tool: 'pay', args: { amount: 5 }, key: 'k1' }
const LOOK = { tool: 'look', args: { at: 'board' }, key: 'k2', effects: 'none' }
const NOW = { order: { carrier: 'X9P', gate: 'C31' } }

async function body(response: Response): Promise<JsonObject> {
  return (await response.json()) as JsonObject
}

const asBob = (edge: TestEdge, more: object = {}) =>
  bearer(edge, { subject: 'bob', scopes: ['approvals:write'], ...more })

/** A run whose second handoff changes two places that nothing explains. */
async function suspicious(edge: TestEdge, policy: object = { suspect: 'hold' }): Promise<void> {
  await edge.started('r', { policy })
  await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: { order: { carrier: 'K7Q', gate: 'B22' } } })
  const handed = await edge.post('/v1/runs/r/envelopes', { agent: 'b', payload: NOW })
  assert.is(handed.status, 201)
}

const review = async (edge: TestEdge, more: object, headers?: Record<string, string>): Promise<Response> =>
  edge.post(
    '/v1/runs/r/suspects',
    { suspects: ['2.1', '2.2'], decision: 'confirmed', reason: 'asked the airline', ...more },
    headers ?? (await asBob(edge)),
  )

const claim = (edge: TestEdge, call: object = PAY): Promise<Response> => edge.post('/v1/runs/r/calls', call)

const codeOf = async (response: Response): Promise<string> => `${response.status} ${(await body(response)).code}`

test('the list has each open suspect with its values and the entry that explains it, page by page; so has the one of the tenant (JUD-60)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  const headers = await asBob(edge)
  for (const path of ['/v1/runs/r/suspects', '/v1/suspects']) {
    const first = await body(await edge.get(`${path}?limit=1`, headers))
    const second = await body(await edge.get(`${path}?limit=1&cursor=${first.nextCursor}`, headers))
    const items = [first, second].flatMap((page) => page.items as JsonObject[])
    assert.equal(
      items.map(({ runId, id, path: at, before, after, supersede }) => ({ runId, id, at, before, after, supersede })),
      [
        { at: '/order/carrier', id: '2.1', before: 'K7Q', after: 'X9P' },
        { at: '/order/gate', id: '2.2', before: 'B22', after: 'C31' },
      ].map(({ at, ...each }) => ({ runId: 'r', at, ...each, supersede: { path: at, reason: '' } })),
    )
  }
  const context = await body(await edge.get('/v1/runs/r/context'))
  assert.is(context.suspectsTotal, 2)
})

test('under hold a call with effects waits for an approval that shows each open suspect, one without effects does not (JUD-65)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  assert.is(await codeOf(await claim(edge)), '409 approval-pending')
  assert.is((await claim(edge, LOOK)).status, 201)
  assert.is((await claim(edge, { tool: 'model', args: {}, key: 'k3', phase: 'model' })).status, 201)
  const { items } = await body(await edge.get('/v1/approvals', await asBob(edge)))
  const [{ approvalId, needs } = {}] = items as JsonObject[]
  const [need] = needs as JsonObject[]
  assert.equal([need?.source, need?.suspects], ['suspect', ['2.1', '2.2']])
  assert.match(String(need?.reason), '2.1 /order/carrier "K7Q" -> "X9P" (b); 2.2 /order/gate "B22" -> "C31" (b)')
  const decision = { argsDigest: jsonDigest(PAY.args) }
  assert.is((await edge.post(`/v1/runs/r/approvals/${approvalId}/grant`, decision, await asBob(edge))).status, 200)
  assert.is((await claim(edge)).status, 201)
  // The approval was for that call alone.
  assert.is(await codeOf(await claim(edge, { ...PAY, key: 'k4' })), '409 approval-pending')
})

for (const policy of [{}, { suspect: 'record' }]) {
  test(`under ${JSON.stringify(policy)} no call waits for a suspect (JUD-65)`, async () => {
    await using edge = await testEdge()
    await suspicious(edge, policy)
    assert.is((await claim(edge)).status, 201)
  })
}

test('a suspect that comes later is not covered by a yes that did not show it (JUD-66)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { policy: { suspect: 'hold', approve: [{ tools: ['pay'] }] } })
  const hand = (agent: string, payload: object) => edge.post('/v1/runs/r/envelopes', { agent, payload })
  await hand('a', { order: { carrier: 'K7Q', gate: 'B22' } })
  const first = await body(await claim(edge))
  const decision = { argsDigest: jsonDigest(PAY.args) }
  const grant = async (of: JsonObject) =>
    edge.post(`/v1/runs/r/approvals/${of.approvalId}/grant`, decision, await asBob(edge))
  assert.is((await grant(first)).status, 200)
  await hand('b', NOW)
  const second = await body(await claim(edge))
  assert.is(second.code, 'approval-pending')
  assert.is.not(second.approvalId, first.approvalId)
  assert.is(await codeOf(await grant(first)), '409 approval-decided')
  const { items } = await body(await edge.get('/v1/approvals', await asBob(edge)))
  assert.equal(
    (items as JsonObject[]).map(({ approvalId, needs }) => [
      approvalId,
      (needs as JsonObject[]).map(({ source }) => source),
    ]),
    [[second.approvalId, ['policy', 'suspect']]],
  )
  assert.is((await grant(second)).status, 200)
  assert.is((await claim(edge)).status, 201)
})

test('once each suspect is confirmed the call runs without another yes, and the approval that asked for it is no longer listed (JUD-66)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  assert.is(await codeOf(await claim(edge)), '409 approval-pending')
  assert.is((await review(edge, { suspects: ['2.1'] })).status, 200)
  assert.is(await codeOf(await claim(edge)), '409 approval-pending')
  assert.is((await review(edge, { suspects: ['2.2'] })).status, 200)
  const claimed = await claim(edge)
  assert.is(claimed.status, 201)
  const { callId } = await body(claimed)
  await edge.post(`/v1/runs/r/calls/${callId}/settle`, { fence: 1, error: { message: 'busy' } })
  assert.is((await claim(edge)).status, 201, 'another attempt at it runs as well')
  assert.equal((await body(await edge.get('/v1/approvals', await asBob(edge)))).items, [])
})

test('a rejection denies what waits on the rejected values: the call does not run, neither then nor later (JUD-64)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  assert.is(await codeOf(await claim(edge)), '409 approval-pending')
  const rejected = await body(await review(edge, { suspects: ['2.1'], decision: 'rejected' }))
  assert.equal([rejected.step, rejected.openSuspects], [1, 0])
  assert.is(await codeOf(await claim(edge)), '409 approval-denied')
  assert.equal((await body(await edge.get('/v1/runs/r/context'))).context, { order: { carrier: 'K7Q', gate: 'B22' } })
})

test('a rollback by hand opens no door: what waited on undone values still waits (JUD-66)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  assert.is(await codeOf(await claim(edge)), '409 approval-pending')
  assert.is((await edge.post('/v1/runs/r/rollback', { reason: 'back' })).status, 200)
  assert.is(await codeOf(await claim(edge)), '409 approval-pending')
})

test('a review is refused where it is none, of nothing, a second one, of ones own, or under a token that may not (JUD-63)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  const own = await bearer(edge, { subject: 'alice', scopes: ['approvals:write'] })
  assert.is(await codeOf(await review(edge, { suspects: ['3.1'] })), '404 suspect-not-found')
  assert.is(await codeOf(await review(edge, {}, own)), '403 self-review')
  assert.is(await codeOf(await review(edge, { suspects: [] })), '422 invalid-body')
  assert.is(await codeOf(await review(edge, { reason: '' })), '422 invalid-body')
  const writer = await bearer(edge, { subject: 'bob', scopes: ['runs:write'] })
  assert.is((await review(edge, {}, writer)).status, 403)
  const agents = await asBob(edge, { agent: 'b' })
  assert.is((await review(edge, {}, agents)).status, 403)
  assert.is((await review(edge, { suspects: ['2.1'] })).status, 200)
  assert.is(await codeOf(await review(edge, { suspects: ['2.1'] })), '409 suspect-closed')
})

test('a repeated review with its idempotency key is answered once more, and recorded once (JUD-63)', async () => {
  await using edge = await testEdge()
  await suspicious(edge)
  const headers = { ...(await asBob(edge)), 'idempotency-key': 'one' }
  const [first, again] = [await review(edge, {}, headers), await review(edge, {}, headers)]
  assert.equal([first.status, again.status], [200, 200])
  assert.equal(await body(again), await body(first))
})

test.run()
