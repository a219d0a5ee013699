import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { jsonDigest } from '../../src/signing/digests.ts'
import { bearer, bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: ways around an approval')

const POLICY = { approve: [{ tools: ['pay'] }] }
const ARGS = { amount: 5_000 }

/** What an agent may do that holds nothing but `runs:write`. */
async function agentOf(edge: TestEdge, policy: object = POLICY) {
  await edge.started('r', { policy })
  const headers = await bearer(edge, { subject: 'bot', scopes: ['runs:write'] })
  const call = async (body: object): Promise<JsonObject> =>
    (await bodyOf(await edge.post('/v1/runs/r/calls', body, headers))) as unknown as JsonObject
  const done = async (body: object): Promise<string> => {
    const { callId, fence } = await call(body)
    const settled = await edge.post(`/v1/runs/r/calls/${callId}/settle`, { fence, result: null }, headers)
    assert.is(settled.status, 200)
    return String(callId)
  }
  const rollBack = async (more: object = {}): Promise<void> => {
    const begun = await edge.post('/v1/runs/r/compensations', { reason: 'x', ...more }, headers)
    assert.is(begun.status, 201)
  }
  const undo = (callId: string, tool: string, args: Json): Promise<JsonObject> =>
    call({ tool, args, phase: 'compensation', key: callId })
  return { headers, call, done, rollBack, undo }
}

const grant = async (edge: TestEdge, approvalId: unknown, args: Json, claims: object = {}): Promise<Response> => {
  const headers = await bearer(edge, { subject: 'carol', scopes: ['approvals:write'], ...claims })
  return edge.post(`/v1/runs/r/approvals/${String(approvalId)}/grant`, { argsDigest: jsonDigest(args) }, headers)
}

test('a call that needs an approval is not made in the name of a compensation (RUN-131, A331)', async () => {
  await using edge = await testEdge()
  const agent = await agentOf(edge)
  const declared = await agent.done({ tool: 'noop', args: {}, compensate: { tool: 'undo' } })
  const silent = await agent.done({ tool: 'noop', args: { n: 2 } })
  await agent.rollBack()
  for (const callId of [declared, silent]) {
    const answer = await agent.undo(callId, 'pay', ARGS)
    assert.is(answer.code, 'approval-pending')
    assert.is(answer.argsDigest, jsonDigest(ARGS))
  }
  assert.is((await agent.undo(declared, 'undo', {})).fence, 1, 'what was declared is carried out')
})

test('what somebody else approves for a rollback is carried out in it (RUN-131)', async () => {
  await using edge = await testEdge()
  const agent = await agentOf(edge)
  const callId = await agent.done({ tool: 'noop', args: {} })
  await agent.rollBack()
  const { approvalId } = await agent.undo(callId, 'pay', ARGS)
  const queue = await bodyOf(await edge.get('/v1/approvals'))
  assert.equal(
    (queue.items as unknown as { approvalId: string }[]).map((item) => item.approvalId),
    [approvalId],
  )
  assert.is((await grant(edge, approvalId, ARGS)).status, 200)
  assert.is((await agent.undo(callId, 'pay', ARGS)).fence, 1)
})

test('a call that names one which needs an approval as its compensation needs it itself (RUN-131, A331)', async () => {
  await using edge = await testEdge()
  const agent = await agentOf(edge)
  const claim = { tool: 'noop', args: ARGS, key: 'k', compensate: { tool: 'pay' } }
  const asked = await agent.call(claim)
  assert.is(asked.code, 'approval-pending')
  assert.match(String(asked.detail), 'pay')
  assert.is((await grant(edge, asked.approvalId, ARGS)).status, 200)
  const callId = await agent.done(claim)
  await agent.rollBack()
  assert.is((await agent.undo(callId, 'pay', { amount: 9_000 })).code, 'approval-pending', 'of other arguments')
  assert.is((await agent.undo(callId, 'pay', ARGS)).fence, 1, 'approved with the call that it undoes')
})

test('an approval of a call is not one of what a later claim names as its compensation (RUN-131, A331)', async () => {
  await using edge = await testEdge()
  const agent = await agentOf(edge, { approve: [{ tools: ['noop', 'pay'] }] })
  const claim = { tool: 'noop', args: ARGS, key: 'k' }
  const asked = await agent.call(claim)
  assert.is((await grant(edge, asked.approvalId, ARGS)).status, 200)
  assert.is((await agent.call({ ...claim, compensate: { tool: 'pay' } })).code, 'approval-mismatch')
  const first = await agent.call(claim)
  const failed = { fence: first.fence, error: { message: 'no' } }
  await edge.post(`/v1/runs/r/calls/${String(first.callId)}/settle`, failed, agent.headers)
  assert.is(
    (await agent.call({ ...claim, compensate: { tool: 'pay' } })).code,
    'approval-mismatch',
    'nor of an attempt',
  )
  assert.is((await agent.call(claim)).fence, 2)
})

test('a call whose arguments lack something is undone on what the record has of them, and on nothing else (RUN-98, RUN-131)', async () => {
  await using edge = await testEdge()
  const redaction = [{ name: 'email', find: ['email'] }]
  const agent = await agentOf(edge, { approve: [{ tools: ['pay', 'refund'] }], redaction })
  const claim = { tool: 'pay', args: { mail: 'ann@example.com', amount: 5 }, key: 'k', compensate: { tool: 'refund' } }
  const { approvalId, argsDigest } = await agent.call(claim)
  const headers = await bearer(edge, { subject: 'carol', scopes: ['approvals:write'] })
  const granted = await edge.post(`/v1/runs/r/approvals/${String(approvalId)}/grant`, { argsDigest }, headers)
  assert.is(granted.status, 200)
  const callId = await agent.done(claim)
  await agent.rollBack()
  const mail = '[redacted: email]'
  assert.is((await agent.undo(callId, 'refund', { mail, amount: 9_000 })).code, 'approval-pending')
  assert.is((await agent.undo(callId, 'refund', { mail, amount: 5 })).fence, 1)
})

test('a run that is the work of a call, or leaves another at a step, has the rules of that one (RUN-132, A332)', async () => {
  await using edge = await testEdge()
  const agent = await agentOf(edge)
  const { callId, fence } = await agent.call({ tool: 'work', args: {} })
  const started: object[] = [
    { id: 'child', name: 'c', childOf: { run: 'r', callId, fence } },
    { id: 'branch', name: 'b', branchOf: { run: 'r', atStep: 0 }, policy: { approve: [{ tools: ['other'] }] } },
    { id: 'relay', name: 'b', branchOf: { run: 'child', atStep: 0 }, policy: 'relay' },
  ]
  const headers = await bearer(edge, { subject: 'bot', scopes: ['runs:write', 'runs:read'] })
  for (const body of started) {
    const answer = await edge.post('/v1/runs', body, headers)
    assert.is(answer.status, 201)
    const run = (body as { id: string }).id
    const claim = await bodyOf(await edge.post(`/v1/runs/${run}/calls`, { tool: 'pay', args: ARGS }, headers))
    assert.is(claim.code, 'approval-pending', run)
    assert.is((await edge.post('/v1/runs', body, headers)).status, 200, 'the same run again')
  }
  const same = { id: 'same', name: 'b', branchOf: { run: 'r', atStep: 0 }, policy: POLICY }
  assert.is((await edge.post('/v1/runs', same, headers)).status, 201)
  const claim = await bodyOf(await edge.post('/v1/runs/same/calls', { tool: 'pay', args: ARGS }, headers))
  const { approvalId } = claim as unknown as JsonObject
  const { needs } = (await bodyOf(
    await edge.get(`/v1/runs/same/approvals/${String(approvalId)}`),
  )) as unknown as JsonObject
  assert.is((needs as readonly Json[]).length, 1, 'one rule that both have is one')
  const own = await edge.post('/v1/runs/branch/calls', { tool: 'other', args: ARGS }, headers)
  assert.is((await bodyOf(own)).code, 'approval-pending', 'its own rules hold as well')
})

test('nobody through whom an approval was requested grants it, nor an agent that acts for one of them (RUN-63, A185)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { policy: POLICY })
  const chain = { subject: 'alice', act: { sub: 'tool-bot', act: { sub: 'planner', act: { sub: 'manager' } } } }
  const headers = await bearer(edge, { scopes: ['runs:write'], ...chain })
  const asked = await bodyOf(await edge.post('/v1/runs/r/calls', { tool: 'pay', args: ARGS }, headers))
  const { approvalId } = asked as unknown as JsonObject
  const members = [
    { subject: 'manager' },
    { subject: 'planner' },
    { subject: 'tool-bot' },
    { subject: 'alice' },
    { subject: 'carol', act: { sub: 'planner' } },
    { subject: 'carol', act: { sub: 'x', act: { sub: 'y', act: { sub: 'manager' } } } },
  ]
  for (const claims of members) {
    const answer = await grant(edge, approvalId, ARGS, claims)
    assert.equal([answer.status, (await bodyOf(answer)).code], [403, 'self-approval'], JSON.stringify(claims))
  }
  assert.is((await grant(edge, approvalId, ARGS, { subject: 'carol', act: { sub: 'x' } })).status, 200)
})

const amounts: readonly [amount: Json, waits: boolean][] = [
  [100, false],
  [100.01, true],
  ['99', false],
  ['99.50', false],
  ['0.500', false],
  ['5.000', true],
  ['5,000', true],
  ['-5.000', true],
  ['1,000,000', true],
  ['12,5', false],
  ['５０００', true],
  ['5e3', true],
  [{ value: 5, unit: 'EUR' }, false],
  [{ amount: '5', currency: 'EUR' }, false],
  [{ value: 1, amount: 5_000 }, true],
  [{ amount: 1, value: null }, true],
  [{ amount: 1, cents: 500_000 }, true],
  [{ amount: 1, factor: '5.000' }, true],
  [{ value: { amount: 5_000 }, amount: 1 }, true],
  [{ amount: '5.000' }, true],
]
for (const [amount, waits] of amounts) {
  const shown = JSON.stringify(amount)
  test(`an amount of ${shown} ${waits ? 'waits' : 'runs'} where more than 100 has to be approved (RUN-60, A333)`, async () => {
    await using edge = await testEdge()
    const agent = await agentOf(edge, { approve: [{ when: 'args.amount > 100' }] })
    const answer = await agent.call({ tool: 'pay', args: { amount } })
    assert.is(answer.code ?? answer.fence, waits ? 'approval-pending' : 1)
  })
}

const unclear: readonly [when: string, args: Json][] = [
  ['!all(args.items, price < 100)', { items: [{ price: 5 }, { cost: 5_000 }] }],
  ['args.amount == 5000', { amount: '5.000' }],
  ['args.amount == "5000"', { amount: '5.000' }],
  ['args.a - args.b > 100', { a: 1e308, b: -1e308 }],
  ['args.a * args.b - args.a * args.b > 100', { a: 1e200, b: 1e200 }],
]
for (const [when, args] of unclear) {
  test(`what ${when} cannot say of ${JSON.stringify(args)} waits (RUN-60, A333)`, async () => {
    await using edge = await testEdge()
    const agent = await agentOf(edge, { approve: [{ when }] })
    assert.is((await agent.call({ tool: 'pay', args })).code, 'approval-pending')
  })
}

test('a run has at most 256 approvals that wait for a decision; one that is decided makes room (RUN-133, A334)', async () => {
  await using edge = await testEdge()
  const agent = await agentOf(edge)
  const ids: unknown[] = []
  for (let n = 0; n < 256; n += 1) {
    const asked = await agent.call({ tool: 'pay', args: { n } })
    assert.is(asked.code, 'approval-pending')
    ids.push(asked.approvalId)
  }
  const before = (await bodyOf(await edge.get('/v1/runs/r'))).revision
  const full = await edge.post('/v1/runs/r/calls', { tool: 'pay', args: { n: 256 } }, agent.headers)
  const problem = await bodyOf(full)
  assert.equal([full.status, problem.code, problem.limit], [409, 'approvals-full', 256])
  assert.is((await bodyOf(await edge.get('/v1/runs/r'))).revision, before, 'nothing is recorded')
  assert.is((await agent.call({ tool: 'pay', args: { n: 7 } })).approvalId, ids[7], 'one that waits is still known')
  assert.is((await agent.call({ tool: 'look', args: {} })).fence, 1, 'what needs no approval runs')
  assert.is((await grant(edge, ids[0], { n: 0 })).status, 200)
  assert.is((await agent.call({ tool: 'pay', args: { n: 256 } })).code, 'approval-pending')
})

test.run()
