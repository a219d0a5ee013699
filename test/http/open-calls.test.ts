import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { drive, ok } from '../support/run-driver.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: calls without an outcome')

const bodyOf = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject

async function seeded() {
  const edge = await testEdge({ realClock: false })
  const caller = { tenant: edge.tenant, actor: 'alice' }
  const run = async (id: string) => {
    edge.inner.clock.nowMs += 1_000
    const driven = drive(edge.inner, id, caller)
    await driven.start()
    return driven
  }
  return { edge, run, [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose]() }
}

async function listed(edge: TestEdge, query = '', headers?: Record<string, string>): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = []
  for (let cursor = ''; ; ) {
    const more = cursor === '' ? '' : `&cursor=${cursor}`
    const body = await bodyOf(await edge.get(`/v1/calls?limit=2${query}${more}`, headers))
    items.push(...(body.items as readonly JsonObject[]))
    if (typeof body.nextCursor !== 'string') return items
    cursor = body.nextCursor
  }
}

const IN_DOUBT = '&status=in-doubt'
const OVERDUE = '&status=overdue'

test('calls in doubt of all runs are listed, and overdue ones apart from them, with what is known and since when, page by page (F111, HTTP-103)', async () => {
  await using at = await seeded()
  const { edge, run } = at
  const [doubts, late]: [string[], string[]] = [[], []]
  for (const id of ['a', 'b', 'c']) {
    const driven = await run(id)
    await driven.called('done')
    const doubtful = await driven.claimed('pay', { args: { to: id }, agent: 'ann' })
    ok(await driven.settle(doubtful, { unknown: { reason: 'the line broke' } }))
    const overdue = await driven.claimed('ship', { leaseMs: 1_000 })
    const again = await driven.claimed('again', { leaseMs: 1_000, onUnknown: 'retry' })
    const model = await driven.claimed('model', { phase: 'model', leaseMs: 1_000 })
    await driven.claimed('runs', { leaseMs: 600_000 })
    assert.ok(again !== model)
    doubts.unshift(doubtful)
    late.unshift(overdue, again)
  }
  edge.inner.clock.nowMs += 60_000
  const items = await listed(edge, IN_DOUBT)
  assert.equal(
    items.map(({ callId }) => callId),
    doubts,
    'newest run first',
  )
  const overdue = await listed(edge, OVERDUE)
  assert.equal(
    overdue.map(({ callId }) => callId),
    late,
    'whether or not they may be made again',
  )
  const [first = {}, second = {}] = [items[0], overdue[0]]
  const { runId, run: name, tool, args, status, unknown, agent } = first
  assert.equal([runId, name, tool, args, agent], ['c', 'test', 'pay', { to: 'c' }, 'ann'])
  assert.equal([status, unknown], ['in-doubt', { cause: 'outcome-unknown', reason: 'the line broke' }])
  assert.equal([second.status, second.overdue, second.since], ['claimed', true, second.leaseUntil])
  const open = await listed(edge)
  assert.equal(
    open.map((call) => call.tool),
    ['pay', 'ship', 'again', 'runs', 'pay', 'ship', 'again', 'runs', 'pay', 'ship', 'again', 'runs'],
  )
  const ann = await bearer(edge, { agent: 'ann' })
  assert.equal(
    (await listed(edge, IN_DOUBT, ann)).map((call) => call.tool),
    ['pay', 'pay', 'pay'],
  )
  const bound = await edge.get('/v1/calls', await bearer(edge, { run: 'a' }))
  assert.is(bound.status, 403)
  const foreign = await bearer(edge, { tenant: edge.foreign })
  assert.equal(await listed(edge, '', foreign), [])
  for (const fault of ['?status=x', '?cursor=AAAA', '?limit=0', '?run=a'])
    assert.is((await edge.get(`/v1/calls${fault}`)).status, 400, fault)
})

test('the open calls equal to one are those with its tool and arguments as they are recorded, in every run that the token may read (CAP-40)', async () => {
  await using at = await seeded()
  const { edge, run } = at
  const [a, b, c] = [await run('a'), await run('b'), await run('c')]
  const before = await a.claimed('pay', { args: { to: 'x' } })
  const equalTo = async (call: string, headers?: Record<string, string>) =>
    (await listed(edge, `&equalTo=${call}`, headers)).map(({ callId }) => callId)
  assert.equal(await equalTo(before), [before], 'what was open before the first question')
  const second = await b.claimed('pay', { args: { to: 'x' } })
  await b.claimed('pay', { args: { to: 'y' } })
  await b.claimed('refund', { args: { to: 'x' } })
  const doubtful = await c.claimed('pay', { args: { to: 'x' }, agent: 'ann' })
  ok(await c.settle(doubtful, { unknown: { reason: 'the line broke' } }))
  assert.equal(await equalTo(second), [before, second, doubtful], 'what came since, page by page')
  assert.equal(await equalTo(doubtful, await bearer(edge, { agent: 'ann' })), [doubtful])
  assert.equal(await equalTo(before, await bearer(edge, { tenant: edge.foreign })), [])
  ok(await a.settle(before))
  assert.equal(await equalTo(second), [second, doubtful])
  assert.equal(await equalTo(before), [], 'a call that is open no more has no equal')
  assert.is((await edge.get('/v1/calls?equalTo=x')).status, 400)
})

test('a resolution is said once: the same again is answered, another one is refused, and it says who said what (RUN-17, F111)', async () => {
  await using at = await seeded()
  const { edge, run } = at
  const driven = await run('a')
  const call = await driven.claimed('pay')
  ok(await driven.settle(call, { unknown: { reason: 'the line broke' } }))
  const path = `/v1/runs/a/calls/${call}/resolve`
  const said = { outcome: 'executed', result: { payment: 'p-7' }, evidence: { reason: 'on the statement' } }
  const reader = await bearer(edge, { scopes: ['runs:read'] })
  assert.is((await edge.post(path, said, reader)).status, 403)
  const olga = await bearer(edge, { subject: 'olga', scopes: ['runs:write'] })
  assert.is((await edge.post(path, said, olga)).status, 200)
  const resolved = (await driven.events()).at(-1)
  assert.equal([resolved?.header.type, resolved?.header.actor], ['ToolCallResolved', 'olga'])
  const before = (await driven.events()).length
  const again = await edge.post(path, { ...said, evidence: { reason: 'said in other words' } }, olga)
  assert.equal([again.status, (await bodyOf(again)).result], [200, { payment: 'p-7' }])
  for (const other of [
    { ...said, result: 'p-8' },
    { outcome: 'not-executed', evidence: {} },
  ]) {
    const refused = await edge.post(path, other, olga)
    const { code, resolved: known } = await bodyOf(refused)
    assert.equal([refused.status, code, (known as JsonObject).outcome], [409, 'call-not-in-doubt', 'executed'])
  }
  assert.is((await driven.events()).length, before, 'nothing is recorded for them')
  assert.equal(await listed(edge, IN_DOUBT), [])
})

test('what is open is known of runs that end, that are undone, and that hold more than 500 (F111, RUN-184)', async () => {
  await using at = await seeded()
  const { edge, run } = at
  const driven = await run('a')
  const paid = await driven.called('pay', { compensate: { tool: 'undo' } })
  ok(await driven.do({ kind: 'compensate', body: { reason: 'enough' } }))
  ok(await driven.undo(paid, { unknown: { reason: 'the line broke' } }))
  const rows = (await bodyOf(await edge.get('/v1/runs?compensation=IN_DOUBT'))).items as readonly JsonObject[]
  assert.equal(
    rows.map(({ runId, openCalls, compensation }) => [runId, openCalls, compensation]),
    [['a', 1, 'IN_DOUBT']],
  )
  const [undoing] = await listed(edge, IN_DOUBT)
  assert.equal([undoing?.tool, undoing?.phase, undoing?.compensates], ['undo', 'compensation', paid])
  const path = `/v1/runs/a/calls/${undoing?.callId}/resolve`
  assert.is((await edge.post(path, { outcome: 'executed', evidence: {} })).status, 200)
  assert.equal([(await bodyOf(await edge.get('/v1/runs?compensation=IN_DOUBT'))).items, await listed(edge)], [[], []])

  const many = await run('many')
  const claims = Array.from({ length: 600 }, (_, n) => ({ kind: 'claim', body: { tool: 't', args: n } }) as const)
  const caller = { tenant: edge.tenant, actor: 'alice' }
  const items = claims.map((command) => ({ runId: 'many', command }))
  const outcomes = await edge.inner.ledger.executeBatch(caller, items, {})
  for (const outcome of outcomes.slice(0, 550)) ok(await many.settle(String(ok(outcome).callId)))
  const [row] = (await bodyOf(await edge.get('/v1/runs?name=test&limit=1'))).items as readonly JsonObject[]
  assert.is(row?.openCalls, 50)
  const page = await bodyOf(await edge.get('/v1/calls?limit=500'))
  assert.is((page.items as readonly JsonObject[]).length, 50)
  for (const outcome of outcomes.slice(550)) ok(await many.settle(String(ok(outcome).callId)))
  const [done] = (await bodyOf(await edge.get('/v1/runs?name=test&limit=1'))).items as readonly JsonObject[]
  assert.is(done?.openCalls, 0)
})

test('a run whose rollback failed or is in doubt, and one whose lease is over, say so in the list and are found by it (F156)', async () => {
  await using at = await seeded()
  const { edge, run } = at
  const ends = [
    ['fine', { result: 'undone' }],
    ['failed', { error: { message: 'the bank is closed' } }],
    ['unknown', { unknown: { reason: 'the line broke' } }],
  ] as const
  for (const [id, outcome] of ends) {
    const driven = await run(id)
    const paid = await driven.called('pay', { compensate: { tool: 'undo' } })
    ok(await driven.do({ kind: 'compensate', body: { reason: 'enough' } }))
    ok(await driven.undo(paid, outcome))
  }
  const late = await run('late')
  const call = await late.claimed('ship', { leaseMs: 1_000 })
  await (await run('renewed')).claimed('ship', { leaseMs: 600_000 })
  const doubtful = await run('doubtful')
  ok(await doubtful.settle(await doubtful.claimed('pay'), { unknown: { reason: 'the line broke' } }))

  const rows = async (query: string) => (await bodyOf(await edge.get(`/v1/runs?${query}`))).items as JsonObject[]
  const ids = async (query: string) => (await rows(query)).map(({ runId }) => runId)
  assert.equal(await ids('overdue=true'), [], 'no lease is over yet')
  edge.inner.clock.nowMs += 60_000
  assert.equal(await ids('overdue=true'), ['late'])
  assert.equal(await ids('inDoubt=true'), ['doubtful', 'unknown'])
  assert.equal(await ids('compensation=COMPENSATION_FAILED'), ['failed'])
  const marks = new Map((await rows('limit=50')).map((row) => [row.runId, row]))
  assert.equal(
    ['fine', 'failed', 'unknown'].map((id) => marks.get(id)?.compensation),
    ['COMPENSATED', 'COMPENSATION_FAILED', 'IN_DOUBT'],
  )
  assert.equal(
    [...marks].filter(([, row]) => row.overdue === true).map(([id]) => id),
    ['late'],
  )
  assert.is(marks.get('doubtful')?.inDoubtCalls, 1)
  ok(await late.settle(call))
  assert.equal(await ids('overdue=true'), [])
  for (const fault of ['status=gone', 'compensation=failed', 'overdue=yes', 'inDoubt=1'])
    assert.is((await edge.get(`/v1/runs?${fault}`)).status, 400, fault)
})

test.run()
