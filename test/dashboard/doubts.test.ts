import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { drive, ok } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: calls in doubt')

async function seeded() {
  const edge = await testEdge({ realClock: false, audit: true })
  const run = drive(edge.inner, 'order', { tenant: edge.tenant, actor: 'alice' })
  await run.start()
  const call = await run.claimed('pay', { args: { to: '<b>bank</b>', cents: 2500 } })
  ok(await run.settle(call, { unknown: { reason: 'the line broke' } }))
  return {
    edge,
    run,
    call,
    path: `/ui/runs/order/calls/${call}/resolve`,
    [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose](),
  }
}

test('a call in doubt is listed with its arguments, and resolved by a form that needs no script (F111)', async () => {
  await using at = await seeded()
  const { edge, run, path } = at
  const olga = await signedIn(edge, { subject: 'olga' })
  const list = await olga.html('/ui/doubts')
  assert.match(list, /aria-current="page">In doubt|In doubt<\/a>/)
  assert.ok(
    (list.includes(`href="${path}"`) && list.includes('&lt;b>bank&lt;/b>')) || list.includes('&lt;b&gt;bank&lt;/b&gt;'),
  )
  assert.ok((await olga.html('/ui/runs/order')).includes(`href="${path}"`), 'the page of the run leads there, too')
  const page = await olga.html(path)
  assert.match(page, /the line broke/)
  for (const id of ['outcome-executed', 'outcome-not-executed', 'result', 'reason']) {
    assert.ok(page.includes(`id="${id}"`) && page.includes(`for="${id}"`), `${id} has a label`)
  }
  const said = { outcome: 'executed', result: '{"payment":"p-7"}', reason: 'on the statement' }
  const done = await olga.post(path, said)
  assert.is(done.status, 303)
  const after = await olga.html(done.headers.get('location') ?? '')
  assert.match(after, /role="status"/)
  assert.match(after, /No call is in doubt/)
  const event = (await run.events()).at(-1)
  assert.equal([event?.header.type, event?.header.actor], ['ToolCallResolved', 'olga'])
  assert.equal([event?.data.result, event?.data.evidence], [{ payment: 'p-7' }, { reason: 'on the statement' }])
  assert.is((await olga.post(path, said)).status, 303, 'sent twice, it is on record once')
  const other = await olga.post(path, { outcome: 'not-executed', reason: 'I thought again' })
  assert.is(other.status, 409)
  assert.match(await other.text(), /resolved before, in another way/)
  assert.is((await run.types()).filter((type) => type === 'ToolCallResolved').length, 1)
})

test('a call whose run within the run is open leads to that run, and not to a form; a batch resolves it no more (HTTP-117, RUN-292)', async () => {
  await using at = await seeded()
  const { edge, run } = at
  const call = await run.claimed('cs.run:inner', { key: 'inner', args: null, onUnknown: 'retry' })
  const inner = drive(edge.inner, 'inner-1', { tenant: edge.tenant, actor: 'alice' })
  await inner.start({ childOf: { run: 'order', callId: call, fence: 1 } })
  ok(await run.settle(call, { unknown: { reason: 'it waits', left: true } }))
  const olga = await signedIn(edge, { subject: 'olga' })
  const path = `/ui/runs/order/calls/${call}/resolve`
  for (const page of ['/ui/doubts', '/ui/runs/order']) {
    const html = await olga.html(page)
    assert.ok(html.includes('href="/ui/runs/inner-1"') && !html.includes(`href="${path}"`), page)
    assert.ok(html.includes(at.path), `${page}: the other call is resolved as ever`)
  }
  const form = await olga.html(path)
  assert.match(form, /its end decides how the call ended/)
  assert.not.match(form, /id="outcome-executed"/)
  const refused = await olga.post(path, { outcome: 'executed', reason: 'I looked' })
  assert.is(refused.status, 409)
  assert.match(await refused.text(), /inner-1/)
  const body = { outcome: 'executed', result: null, evidence: {} } as const
  const items = [{ runId: 'order', command: { kind: 'resolve', callId: call, body } }] as const
  const caller = { tenant: edge.tenant, actor: 'alice' }
  const [batched] = await edge.inner.ledger.executeBatch(caller, items, {})
  assert.is(batched?.ok === false && batched.refusal.code, 'call-not-in-doubt')
  ok(await inner.do({ kind: 'complete', body: { output: 1 } }))
  assert.ok((await olga.html('/ui/doubts')).includes(`href="${path}"`), 'the run within has ended')
  assert.is((await olga.post(path, { outcome: 'executed', result: '1', reason: 'inner-1 gave 1' })).status, 303)
})

test('a form that says too little, is forged, or comes under a token that may not, resolves nothing (A181)', async () => {
  await using at = await seeded()
  const { edge, run, path } = at
  const olga = await signedIn(edge)
  const before = (await run.types()).length
  const good = { outcome: 'executed', reason: 'on the statement' }
  const faults: readonly Record<string, string>[] = [
    {},
    { outcome: 'maybe', reason: 'x' },
    { outcome: 'executed', reason: '  ' },
    { ...good, result: 'p-7' },
    { ...good, result: '{"a":1,"a":2}' },
    { ...good, reason: 'x'.repeat(4_001) },
    { outcome: 'not-executed', result: '1', reason: 'x' },
  ]
  for (const form of faults) {
    const answer = await olga.post(path, form)
    assert.is(answer.status, 422, JSON.stringify(form))
    const html = await answer.text()
    assert.match(html, /role="alert"/)
    if (form.outcome === 'executed' && form.result === 'p-7')
      assert.match(html, /on the statement<\/textarea>/, 'what was typed stays')
  }
  assert.is((await olga.post(path, { ...good, csrf: 'x' })).status, 403)
  assert.is((await olga.post(path, good, { 'sec-fetch-site': 'cross-site' })).status, 403)
  const reader = await signedIn(edge, { scopes: ['runs:read'] })
  assert.not.match(await reader.html(path), /<textarea/)
  assert.is((await reader.post(path, good)).status, 403)
  const foreign = await signedIn(edge, { tenant: edge.foreign })
  assert.equal([(await foreign.get(path)).status, (await foreign.post(path, good)).status], [404, 404])
  assert.not.match(await foreign.html('/ui/doubts'), /bank/)
  const elsewhere = await signedIn(edge, { run: 'other' })
  assert.is((await elsewhere.post(path, good)).status, 403)
  assert.is((await olga.get('/ui/runs/order/calls/nothing/resolve')).status, 404)
  assert.is((await run.types()).length, before)
})

test('the list and the page of a run say how its rollback ended, what is in doubt and what is overdue, and list it by that (F156)', async () => {
  await using at = await seeded()
  const { edge } = at
  const run = drive(edge.inner, 'refund', { tenant: edge.tenant, actor: 'alice' })
  await run.start()
  const paid = await run.called('pay', { compensate: { tool: 'undo' } })
  const late = drive(edge.inner, 'late', { tenant: edge.tenant, actor: 'alice' })
  await late.start()
  await late.claimed('ship', { leaseMs: 1_000 })
  ok(await run.do({ kind: 'compensate', body: { reason: 'enough' } }))
  ok(await run.undo(paid, { error: { message: 'the bank is closed' } }))
  edge.inner.clock.nowMs += 60_000
  const olga = await signedIn(edge)
  const FAILED = /badge-bad"><bdi>compensation failed</
  const list = await olga.html('/ui/runs')
  for (const mark of [FAILED, /badge-warn"><bdi>1 call in doubt</, /badge-warn"><bdi>overdue</])
    assert.match(list, mark)
  assert.match(await olga.html('/ui/runs/refund'), FAILED)
  for (const path of ['/ui/audit/runs', '/ui/audit/sample?seed=a']) {
    const rows = await olga.html(path)
    assert.match(rows, FAILED, path)
    assert.not.match(rows, />compensated</, path)
  }
  const found = async (query: string) =>
    [...(await olga.html(`/ui/runs?${query}`)).matchAll(/<tr id="run-([\w-]+)"/g)].map(([, id]) => id)
  assert.equal(await found('compensation=COMPENSATION_FAILED'), ['refund'])
  assert.equal(await found('compensation=COMPENSATED'), [])
  assert.equal(await found('overdue=true'), ['late'])
  assert.equal(await found('inDoubt=true'), ['order'])
})

test.run()
