import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { jsonDigest } from '../../src/signing/digests.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: approvals')

const POLICY = { approve: [{ tools: ['pay'], when: 'args.amount > 1000' }] }
const PAY = { tool: 'pay', args: { amount: 5_000 }, key: 'k1' }

async function body(response: Response): Promise<JsonObject> {
  return (await response.json()) as JsonObject
}

/** A run in which one payment waits; the agent's token is alice's. */
async function waiting(edge: TestEdge, run = 'r', claim: JsonObject = PAY): Promise<JsonObject> {
  await edge.started(run, { policy: POLICY })
  const response = await edge.post(`/v1/runs/${run}/calls`, claim)
  assert.is(response.status, 409)
  const problem = await body(response)
  assert.is(problem.code, 'approval-pending')
  return problem
}

const approver = (edge: TestEdge, more: object = {}) =>
  bearer(edge, { subject: 'bob', scopes: ['approvals:write'], ...more })

const decided = async (
  edge: TestEdge,
  how: 'grant' | 'deny',
  of: { approvalId: Json | undefined; argsDigest?: Json | undefined; run?: string; headers?: Record<string, string> },
): Promise<Response> =>
  edge.post(
    `/v1/runs/${of.run ?? 'r'}/approvals/${of.approvalId}/${how}`,
    { argsDigest: of.argsDigest ?? jsonDigest(PAY.args) },
    of.headers ?? (await approver(edge)),
  )

test('a payment over the limit waits with its arguments in the queue, is granted by somebody else, and runs once (RUN-60, RUN-61, RUN-62)', async () => {
  await using edge = await testEdge()
  const { approvalId, argsDigest } = await waiting(edge)
  const headers = await approver(edge)
  const { items } = await body(await edge.get('/v1/approvals', headers))
  const [item] = items as readonly JsonObject[]
  assert.equal((items as readonly Json[]).length, 1)
  assert.equal(item?.args, PAY.args)
  assert.is(item?.status, 'pending')
  assert.equal(item?.requestedBy, { actor: 'alice' })
  const run = await body(await edge.get('/v1/runs/r'))
  assert.is((run.waiting as readonly JsonObject[])[0]?.approvalId, approvalId)
  assert.equal(run.openCalls, [])

  const granted = await decided(edge, 'grant', { approvalId, argsDigest, headers })
  assert.is(granted.status, 200)
  assert.is((await body(granted)).status, 'granted')
  assert.equal((await body(await edge.get('/v1/approvals', headers))).items, [])
  const claimed = await edge.post('/v1/runs/r/calls', PAY)
  assert.is(claimed.status, 201)
  const call = await body(await edge.get(`/v1/runs/r/calls/${(await body(claimed)).callId}`))
  assert.is(call.approvalId, approvalId)
  assert.is((await body(await edge.get(`/v1/runs/r/approvals/${approvalId}`, headers))).status, 'used')
})

test('a claim that prefers to wait is held until somebody has decided (RUN-60)', async () => {
  await using edge = await testEdge()
  const { approvalId } = await waiting(edge)
  const held = edge.post('/v1/runs/r/calls', PAY, { prefer: 'wait=20' })
  await new Promise((resolve) => setTimeout(resolve, 20))
  await decided(edge, 'grant', { approvalId })
  assert.is((await held).status, 201)
})

test('a claim under an idempotency key is asked again once it is approved: waiting is no answer that is kept (RUN-60)', async () => {
  await using edge = await testEdge()
  const { approvalId } = await waiting(edge)
  const keyed = { 'idempotency-key': 'claim-1' }
  assert.is((await edge.post('/v1/runs/r/calls', PAY, keyed)).status, 409)
  await decided(edge, 'grant', { approvalId })
  assert.is((await edge.post('/v1/runs/r/calls', PAY, keyed)).status, 201)
})

test('two who decide at once make one decision, in each of 20 rounds; the other is refused, and is on record (RUN-62)', async () => {
  await using edge = await testEdge()
  const [bob, carol] = [await approver(edge), await approver(edge, { subject: 'carol' })]
  for (let round = 0; round < 20; round += 1) {
    const run = `r${round}`
    const { approvalId } = await waiting(edge, run)
    const how = round % 2 === 0 ? 'grant' : 'deny'
    const answers = await Promise.all([
      decided(edge, 'grant', { approvalId, run, headers: bob }),
      decided(edge, how, { approvalId, run, headers: carol }),
    ])
    assert.equal(answers.map(({ status }) => status).sort(), [200, 409])
    const events = (await body(await edge.get(`/v1/runs/${run}/events?limit=500`))).items as readonly JsonObject[]
    const types = events.map(({ header }) => String((header as JsonObject).type))
    assert.is(types.filter((type) => type === 'ApprovalGranted' || type === 'ApprovalDenied').length, 1)
    assert.is(types.filter((type) => type === 'RequestRefused').length, 1)
    const claims = await Promise.all([1, 2].map(() => edge.post(`/v1/runs/${run}/calls`, PAY)))
    const granted = types.includes('ApprovalGranted')
    assert.equal(claims.map(({ status }) => status).sort(), granted ? [201, 409] : [409, 409])
  }
})

test('no token decides but one with approvals:write that is bound to no agent and to no other run (A185)', async () => {
  await using edge = await testEdge()
  const { approvalId } = await waiting(edge)
  const refused: readonly [claims: object, status: number][] = [
    [{ scopes: ['runs:write', 'runs:read', 'runs:admin', 'audit:read', 'audit:export', 'admin'] }, 403],
    [{ agent: 'ann' }, 403],
    [{ run: 'other' }, 403],
    [{ subject: 'alice' }, 403],
    [{ subject: 'bot', act: { sub: 'alice' } }, 403],
    [{ tenant: edge.foreign }, 404],
  ]
  for (const [claims, status] of refused) {
    for (const how of ['grant', 'deny'] as const) {
      // The requester may take it back.
      if (how === 'deny' && JSON.stringify(claims).includes('alice')) continue
      const answer = await decided(edge, how, { approvalId, headers: await approver(edge, claims) })
      assert.is(answer.status, status, `${how} ${JSON.stringify(claims)}`)
    }
  }
  assert.is((await body(await edge.get(`/v1/runs/r/approvals/${approvalId}`))).status, 'pending')
  assert.is((await decided(edge, 'grant', { approvalId, headers: await approver(edge, { run: 'r' }) })).status, 200)
})

test('nobody lists what waits in another tenant, nor with a token that is bound (A186)', async () => {
  await using edge = await testEdge()
  const { approvalId } = await waiting(edge)
  const foreign = await approver(edge, { tenant: edge.foreign })
  assert.equal((await body(await edge.get('/v1/approvals', foreign))).items, [])
  assert.is((await edge.get(`/v1/runs/r/approvals/${approvalId}`, foreign)).status, 404)
  for (const bound of [{ run: 'r' }, { agent: 'ann' }]) {
    assert.is((await edge.get('/v1/approvals', await approver(edge, bound))).status, 403)
  }
})

test('an approval of one run, or of one payment, decides and runs nothing elsewhere, and the try is on record (A187)', async () => {
  await using edge = await testEdge()
  const { approvalId } = await waiting(edge)
  const other = { ...PAY, args: { amount: 9_000 } }
  await waiting(edge, 'r2', other)
  assert.is((await decided(edge, 'grant', { approvalId, run: 'r2' })).status, 404)
  assert.is((await decided(edge, 'grant', { approvalId, argsDigest: jsonDigest(other.args) })).status, 422)
  assert.is((await decided(edge, 'grant', { approvalId })).status, 200)
  const named = await edge.post('/v1/runs/r2/calls', { ...other, approval: approvalId })
  assert.is((await body(named)).code, 'approval-not-found')
  const swapped = await edge.post('/v1/runs/r/calls', other)
  assert.is((await body(swapped)).code, 'approval-mismatch')
  for (const [run, codes] of [
    ['r', ['approval-mismatch', 'approval-mismatch']],
    ['r2', ['approval-not-found', 'approval-not-found']],
  ] as const) {
    const { items } = await body(await edge.get(`/v1/runs/${run}/events?type=RequestRefused`))
    assert.equal(
      (items as readonly { data: JsonObject }[]).map(({ data }) => data.code),
      [...codes],
    )
    assert.equal((await body(await edge.get(`/v1/runs/${run}/calls`))).items, [])
  }
})

test('roles that no rule names count for nothing, and a rule of roles that nobody has keeps its call waiting (RUN-63, A188)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { policy: { approve: [{ tools: ['pay'], roles: ['treasurer'] }] } })
  const { approvalId } = await body(await edge.post('/v1/runs/r/calls', PAY))
  const wrong: readonly (readonly [roles: unknown, status: number])[] = [
    [undefined, 403],
    [[], 403],
    [['Treasurer'], 403],
    [['treasurer '], 403],
    [['admin', 'root', '*'], 403],
    [['__proto__', 'constructor'], 403],
    ['treasurer', 401],
    [{ 0: 'treasurer' }, 401],
    [[['treasurer']], 401],
    [Array.from({ length: 1_000 }, (_, i) => `role-${i}`), 401],
    [['x'.repeat(10_000)], 401],
  ]
  for (const [roles, status] of wrong) {
    const answer = await decided(edge, 'grant', { approvalId, headers: await approver(edge, { roles }) })
    assert.is(answer.status, status, JSON.stringify(roles)?.slice(0, 60))
    if (status === 403) assert.is((await body(answer)).code, 'approval-role-missing')
  }
  assert.is((await body(await edge.get(`/v1/runs/r/approvals/${approvalId}`))).status, 'pending')
  assert.is((await edge.post('/v1/runs/r/calls', PAY)).status, 409)
  const treasurer = await approver(edge, { roles: ['cleaner', 'treasurer'] })
  assert.is((await decided(edge, 'grant', { approvalId, headers: treasurer })).status, 200)
})

const bad: readonly [what: string, value: unknown, status: number][] = [
  ['no digest', {}, 422],
  ['a digest that is none', { argsDigest: 'sha256:xyz' }, 422],
  ['a comment beyond its limit', { argsDigest: jsonDigest(1), comment: 'x'.repeat(4_097) }, 422],
  ['a comment that is no text', { argsDigest: jsonDigest(1), comment: { a: 1 } }, 422],
  ['a name to decide in', { argsDigest: jsonDigest(1), by: 'carol' }, 422],
  ['a list', [], 422],
  ['a comment of a megabyte', { argsDigest: jsonDigest(1), comment: 'x'.repeat(1024 * 1024) }, 413],
]
for (const [what, value, status] of bad) {
  test(`a decision with ${what} is refused with ${status} and decides nothing (A188)`, async () => {
    await using edge = await testEdge()
    const { approvalId } = await waiting(edge)
    const answer = await edge.post(`/v1/runs/r/approvals/${approvalId}/grant`, value, await approver(edge))
    assert.is(answer.status, status)
    assert.is((await body(await edge.get(`/v1/runs/r/approvals/${approvalId}`))).status, 'pending')
  })
}

test('a longest comment is kept whole, control characters and all that JSON can say (A188)', async () => {
  await using edge = await testEdge()
  const { approvalId } = await waiting(edge)
  const comment = `<script>alert(1)</script>\u0000\u202e${'😀'.repeat(2_000)}`
  const said = { argsDigest: jsonDigest(PAY.args), comment }
  assert.is((await edge.post(`/v1/runs/r/approvals/${approvalId}/deny`, said, await approver(edge))).status, 200)
  const claim = await body(await edge.post('/v1/runs/r/calls', PAY))
  assert.is(claim.code, 'approval-denied')
  assert.is(claim.comment, comment)
})

test('a decision that is repeated under its idempotency key is answered again; without one there is nothing left to decide (A189)', async () => {
  await using edge = await testEdge()
  const { approvalId } = await waiting(edge)
  const headers = { ...(await approver(edge)), 'idempotency-key': 'yes-1' }
  const [first, second] = [
    await decided(edge, 'grant', { approvalId, headers }),
    await decided(edge, 'grant', { approvalId, headers }),
  ]
  assert.is(first.status, 200)
  assert.is(second.headers.get('idempotency-replayed'), 'true')
  assert.equal(await body(first), await body(second))
  assert.is((await decided(edge, 'grant', { approvalId })).status, 409)
})

test('the queue gives each of many once, page after page, whatever their runs; what is decided meanwhile is left out', async () => {
  await using edge = await testEdge()
  const expected: string[] = []
  for (let run = 0; run < 5; run += 1) {
    await edge.started(`r${run}`, { policy: POLICY })
    for (let n = 0; n < 7; n += 1) {
      const claim = { tool: 'pay', args: { amount: 2_000 + n }, key: `k${n}` }
      expected.push(String((await body(await edge.post(`/v1/runs/r${run}/calls`, claim))).approvalId))
    }
  }
  const seen: string[] = []
  let cursor: Json = ''
  do {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(String(cursor))}`
    const page: JsonObject = await body(await edge.get(`/v1/approvals?limit=4${query}`))
    seen.push(...(page.items as readonly JsonObject[]).map(({ approvalId }) => String(approvalId)))
    cursor = page.nextCursor ?? null
  } while (cursor !== null)
  assert.is(seen.length, new Set(seen).size)
  assert.equal([...seen].sort(), [...expected].sort())
  assert.is((await edge.get('/v1/approvals?cursor=made-up')).status, 400)
})

test.run()
