import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bearer, bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('http: runs that a worker may carry on')

const PAST = '2020-01-01T00:00:00Z'
const FUTURE = '9999-01-01T00:00:00Z'

type Row = {
  readonly runId: string
  readonly fence: number
  readonly dueAt: string
  readonly stuck?: { attempts: number }
}

async function dueIn(edge: TestEdge, query: string, headers: Record<string, string> = {}): Promise<readonly Row[]> {
  const response = await edge.get(`/v1/runs?due=true&${query}`, headers)
  const body = await bodyOf(response)
  assert.is(response.status, 200, JSON.stringify(body))
  return body.items as unknown as readonly Row[]
}

const ids = (rows: readonly Row[]): readonly string[] => rows.map(({ runId }) => runId)

/** Carries a run on as a worker does. */
const take = (edge: TestEdge, { runId, fence }: Row, more: object = {}) =>
  edge.post('/v1/runs', { id: runId, name: 'order', worker: { fence, holdMs: 60_000, ...more } })

test('a run with `after` is recorded and not carried; again it is the same run, whatever its time (RUN-220, HTTP-66)', async () => {
  await using edge = await testEdge()
  const start = { id: 'r', name: 'order', input: { cents: 5 }, after: PAST }
  const first = await edge.post('/v1/runs', start)
  assert.is(first.status, 201)
  const again = await edge.post('/v1/runs', { ...start, after: FUTURE })
  assert.is(again.status, 200)
  assert.is((await bodyOf(again)).fence, 1)
  assert.is((await bodyOf(await edge.post('/v1/runs', { ...start, input: 6 }))).code, 'run-exists')
  assert.is((await bodyOf(await edge.get('/v1/runs/r'))).revision, 0)
  assert.is((await edge.post('/v1/runs', { ...start, id: 's', after: 'tomorrow' })).status, 422)
})

test('a time in another zone is recorded as the same time, or refused past the year 9999 by UTC (RUN-220, A484)', async () => {
  await using edge = await testEdge()
  const start = { name: 'order', input: null }
  const times = [
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T18:30:00-05:00', '9999-12-31T23:30:00.000Z'],
    ['9999-12-31T23:30:00+05:00', '9999-12-31T18:30:00.000Z'],
  ] as const
  for (const [n, [after, utc]] of times.entries()) {
    assert.is((await edge.post('/v1/runs', { ...start, id: `r${n}`, after })).status, 201)
    const { items } = await bodyOf(await edge.get('/v1/runs'))
    assert.is((items as unknown as readonly Row[]).find(({ runId }) => runId === `r${n}`)?.dueAt, utc)
  }
  for (const after of ['9999-12-31T23:30:00-05:00', '9999-12-31T23:59:59.9999-00:01']) {
    const refused = await edge.post('/v1/runs', { ...start, id: 'late', after })
    assert.is(refused.status, 422, after)
    assert.match(JSON.stringify(await bodyOf(refused)), /years 0 to 9999 in UTC/)
  }
  await edge.started('w', { name: 'order' })
  const wait = { name: 'go', until: '9999-12-31T23:30:00-05:00' }
  assert.is((await edge.post('/v1/runs/w/waits', wait)).status, 422)
})

test('what is due comes in order of its time, by names, and no further than the limit (RUN-222, HTTP-65)', async () => {
  await using edge = await testEdge()
  for (const [id, name, after] of [
    ['c', 'order', PAST],
    ['a', 'order', PAST],
    ['b', 'refund', PAST],
    ['z', 'other', PAST],
    ['later', 'order', FUTURE],
  ] as const) {
    await edge.started(id, { name, after })
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  assert.equal(ids(await dueIn(edge, 'name=order')), ['c', 'a'])
  assert.equal(ids(await dueIn(edge, `names=${encodeURIComponent('["order","refund"]')}`)), ['c', 'a', 'b'])
  assert.equal(ids(await dueIn(edge, 'name=order&limit=1')), ['c'])
  for (const query of [
    '',
    'name=order&tag=x',
    'name=order&cursor=AAAA',
    'names=order',
    'names=[]',
    'name=order&asOf=1',
  ]) {
    const response = await edge.get(`/v1/runs?due=true&${query}`)
    assert.is(response.status, 400, query)
  }
  assert.is((await edge.get('/v1/runs?names=["order"]')).status, 400)
})

test('a full page of what is due has a cursor, which is good for the same names and versions of the same tenant (HTTP-85)', async () => {
  await using edge = await testEdge()
  for (const id of ['a', 'b', 'c', 'd', 'e']) await edge.started(id, { name: 'order', after: PAST })
  const all = ids(await dueIn(edge, 'name=order'))
  const seen: string[] = []
  let cursor: unknown = ''
  for (let pages = 0; cursor !== null; pages += 1) {
    assert.ok(pages < 4)
    const place = cursor === '' ? '' : `&cursor=${String(cursor)}`
    const body = await bodyOf(await edge.get(`/v1/runs?due=true&name=order&limit=2${place}`))
    seen.push(...ids(body.items as unknown as readonly Row[]))
    if (cursor === '') {
      const others = [`name=refund`, `name=order&versions=["1"]`, `names=["order","refund"]`]
      for (const other of others) {
        const answer = await edge.get(`/v1/runs?due=true&${other}&cursor=${String(body.nextCursor)}`)
        assert.equal([answer.status, (await bodyOf(answer)).code], [400, 'invalid-cursor'], other)
      }
      const foreign = await bearer(edge, { tenant: 'beta' })
      const answer = await edge.get(`/v1/runs?due=true&name=order&cursor=${String(body.nextCursor)}`, foreign)
      assert.is((await bodyOf(answer)).code, 'invalid-cursor')
    }
    cursor = body.nextCursor
  }
  assert.equal(seen, all)
  assert.equal((await bodyOf(await edge.get('/v1/runs?due=true&name=order'))).nextCursor, null)
})

test('of two workers that saw the same fence, one gets the run; nobody is listed a run that is held (RUN-222, HTTP-67)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { name: 'order', after: PAST })
  const [row] = await dueIn(edge, 'name=order')
  assert.ok(row)
  const answers = await Promise.all([take(edge, row), take(edge, row)])
  assert.equal(answers.map(({ status }) => status).sort(), [200, 409])
  const codes = await Promise.all(answers.map(async (each) => (await bodyOf(each)).code))
  assert.ok(codes.includes('run-taken-over'))
  assert.equal(await dueIn(edge, 'name=order'), [])
  assert.is((await bodyOf(await take(edge, { ...row, runId: 'nobody' }))).code, 'run-not-found')
})

test('a worker whose token reads no bodies is not told what a run recorded, alone or in a batch (HTTP-13, HTTP-67)', async () => {
  await using edge = await testEdge({ payloadScope: 'required' })
  await edge.started('open', { name: 'order', after: PAST })
  await edge.started('ended', { name: 'order' })
  assert.is((await edge.post('/v1/runs/ended/complete', { output: 'not for everybody' })).status, 200)
  const blind = await bearer(edge, { scopes: ['runs:write', 'runs:read'] })
  for (const id of ['open', 'ended']) {
    const body = { id, name: 'order', worker: { fence: 1, holdMs: 1_000 } }
    const refused = await edge.post('/v1/runs', body, blind)
    assert.equal([refused.status, (await bodyOf(refused)).code], [403, 'scope-missing'], id)
    const { items } = await bodyOf(await edge.post('/v1/batch', { items: [{ op: 'start', body }] }, blind))
    assert.is(items[0]?.status, 403, id)
    assert.is(items[0]?.body.code, 'scope-missing', id)
  }
  assert.is((await bodyOf(await edge.get('/v1/runs/open'))).revision, 0)
  const reader = await bearer(edge, { scopes: ['runs:write', 'payloads:read'] })
  const body = { id: 'open', name: 'order', worker: { fence: 1, holdMs: 1_000 } }
  assert.is((await edge.post('/v1/runs', body, reader)).status, 200)
})

test('a worker starts no branch and no work of a call, and carries on neither (RUN-222, HTTP-67)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { name: 'order' })
  const branchOf = { run: 'r', atStep: 0 }
  const worker = { fence: 1, holdMs: 1_000 }
  const short = { worker: { fence: 1, holdMs: 999 } }
  for (const more of [short, { worker, branchOf }, { worker, after: PAST }, { after: PAST, branchOf }]) {
    const answer = await edge.post('/v1/runs', { id: 'b', name: 'order', ...more })
    assert.is(answer.status, 422, JSON.stringify(more))
  }
  await edge.started('b', { name: 'order', branchOf })
  const refused = await edge.post('/v1/runs', { id: 'b', name: 'order', worker })
  assert.equal([refused.status, (await bodyOf(refused)).code], [409, 'run-owned'])
})

test('a run that is left as stuck says why and since when, on its own and in the list, is counted, and is found by that (RUN-226, HTTP-68, HTTP-87)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { name: 'order', after: PAST })
  const error = { code: 'resume-diverged', message: 'the code asks for another call' }
  const left: string[] = []
  for (const attempts of [1, 2]) {
    const [row] = await eventually(async () => {
      const rows = await dueIn(edge, 'name=order')
      return rows.length === 0 ? undefined : rows
    }, 'the run')
    assert.ok(row)
    assert.is(row.stuck?.attempts, attempts === 1 ? undefined : 1)
    const { fence: runFence } = await bodyOf(await take(edge, row))
    const answer = await bodyOf(
      await edge.post('/v1/runs/r/leave', { because: 'stuck', error, retryAfterMs: 1, runFence }),
    )
    left.push(String(answer.until))
  }
  const run = (await bodyOf(await edge.get('/v1/runs/r'))) as { stuck?: Record<string, unknown> }
  const { items } = await bodyOf(await edge.get('/v1/runs?name=order'))
  assert.equal((items as readonly { stuck?: unknown }[])[0]?.stuck, run.stuck)
  await edge.started('other', { name: 'order', after: PAST })
  assert.equal(ids((await bodyOf(await edge.get('/v1/runs?stuck=true'))).items as unknown as readonly Row[]), ['r'])
  assert.is((await edge.get('/v1/runs?stuck=maybe')).status, 400)
  const { since, ...stuck } = run.stuck ?? {}
  assert.equal(stuck, { ...error, attempts: 2, until: left[1] })
  assert.ok(String(since) <= String(left[0]))
  for (const body of [
    { because: 'stuck', runFence: 3 },
    { because: 'waiting', retryAfterMs: 1, runFence: 3 },
    { because: 'waiting' },
  ])
    assert.is((await edge.post('/v1/runs/r/leave', body)).status, 422)
})

test('only a run that is left as stuck is left to be tried again: one that is carried is not taken from its worker (RUN-286)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { name: 'order', after: PAST })
  const retry = async (runFence: number): Promise<unknown> => {
    const answer = await edge.post('/v1/runs/r/leave', { because: 'retry', runFence })
    return answer.ok ? answer.status : (await bodyOf(answer)).code
  }
  const dueRow = async (): Promise<Row> =>
    await eventually(async () => (await dueIn(edge, 'name=order'))[0], 'the run is due')
  assert.is(await retry(1), 'run-owned', 'it was never stuck')
  const { fence: first } = await bodyOf(await take(edge, await dueRow()))
  const error = { code: 'resume-diverged', message: 'other code' }
  const leave = async (runFence: unknown, retryAfterMs: number): Promise<void> => {
    assert.ok((await edge.post('/v1/runs/r/leave', { because: 'stuck', error, retryAfterMs, runFence })).ok)
  }
  await leave(first, 1)
  const { fence: second } = await bodyOf(await take(edge, await dueRow()))
  assert.is(await retry(Number(first)), 'run-taken-over')
  assert.is(await retry(Number(second)), 'run-owned', 'it is being tried')
  await leave(second, 60_000)
  assert.equal(await dueIn(edge, 'name=order'), [])
  assert.is(await retry(Number(second)), 200)
  assert.is((await dueRow()).stuck, undefined, 'it is counted anew')
})

test('with `perTenant` a worker takes no run beyond the limit, and hears of one once another has ended or is left (RUN-244, HTTP-88)', async () => {
  await using edge = await testEdge()
  for (const id of ['a', 'b', 'c']) await edge.started(id, { name: 'order', after: PAST })
  const rows = await dueIn(edge, 'name=order&perTenant=1')
  assert.is(rows.length, 3)
  const taken = await Promise.all(rows.map((row) => take(edge, row, { perTenant: 2 })))
  assert.equal(taken.map(({ status }) => status).sort(), [200, 200, 409], 'side by side')
  const [full] = await Promise.all(taken.filter(({ status }) => status === 409).map(bodyOf))
  assert.equal([full?.code, full?.limit], ['workers-full', 2])
  assert.equal(await dueIn(edge, 'name=order&perTenant=2'), [])
  assert.is((await dueIn(edge, 'name=order&perTenant=3')).length, 1)
  const own = rows.find((_, n) => taken[n]?.status === 200)
  const left = rows.find((_, n) => taken[n]?.status === 409)
  assert.ok(own && left)
  const body = { id: left.runId, name: 'order', worker: { fence: left.fence, holdMs: 60_000, perTenant: 2 } }
  const batch = await bodyOf(await edge.post('/v1/batch', { items: [{ op: 'start', body }] }))
  assert.is(batch.items[0]?.body.code, 'workers-full', 'in a batch')
  const next = edge.get('/v1/runs?due=true&name=order&perTenant=2', { prefer: 'wait=20' })
  await edge.post(`/v1/runs/${own.runId}/complete`, {})
  assert.equal(ids((await bodyOf(await within(next, 'the end of a run'))).items as unknown as readonly Row[]), [
    left.runId,
  ])
  assert.is((await take(edge, left, { perTenant: 2 })).status, 200)
  const others = await bearer(edge, { tenant: 'beta' })
  await edge.post('/v1/runs', { id: 'x', name: 'order', after: PAST }, others)
  const foreign = { id: 'x', name: 'order', worker: { fence: 1, holdMs: 60_000, perTenant: 1 } }
  assert.is((await edge.post('/v1/runs', foreign, others)).status, 200, 'of another tenant')
  for (const bad of ['0', '-1', '100001', 'all'])
    assert.is((await edge.get(`/v1/runs?due=true&name=order&perTenant=${bad}`)).status, 400, bad)
  assert.is((await edge.get('/v1/runs?perTenant=1')).status, 400)
})

test('a worker that takes a run again after a lost answer is not refused for that run (RUN-244)', async () => {
  await using edge = await testEdge()
  await edge.started('a', { name: 'order', after: PAST })
  const body = { id: 'a', name: 'order', worker: { fence: 1, holdMs: 60_000, perTenant: 1 } }
  const key = { 'idempotency-key': 'take-a' }
  assert.is((await edge.post('/v1/runs', body, key)).status, 200)
  const again = await edge.post('/v1/runs', body, key)
  assert.equal([again.status, (await bodyOf(again)).fence], [200, 2])
  // Another worker, without a limit, takes a run meanwhile.
  await edge.started('b', { name: 'order', after: PAST })
  assert.is((await edge.post('/v1/runs', { id: 'b', name: 'order', worker: { fence: 1, holdMs: 60_000 } })).status, 200)
  const later = await edge.post('/v1/runs', body, key)
  assert.equal([later.status, (await bodyOf(later)).fence], [200, 2])
  assert.is((await bodyOf(await edge.post('/v1/runs', body))).code, 'run-taken-over', 'not a repeat, and too late')
})

test('a worker hears of room where a program without a hold takes over what a worker carried (RUN-244, HTTP-88)', async () => {
  await using edge = await testEdge()
  for (const id of ['a', 'b']) await edge.started(id, { name: 'order', after: PAST })
  const [first] = await dueIn(edge, 'name=order')
  assert.ok(first)
  assert.is((await take(edge, first)).status, 200)
  const next = edge.get('/v1/runs?due=true&name=order&perTenant=1', { prefer: 'wait=20' })
  await edge.post('/v1/runs', { id: first.runId, name: 'order' })
  const { items } = await bodyOf(await within(next, 'room'))
  assert.equal(ids(items as unknown as readonly Row[]), [first.runId === 'a' ? 'b' : 'a'])
})

test('only the owner leaves a run or keeps it (RUN-223, RUN-224, HTTP-68)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { name: 'order', after: PAST })
  const [row] = await dueIn(edge, 'name=order')
  assert.ok(row)
  const { fence } = await bodyOf(await take(edge, row))
  assert.is((await edge.post('/v1/runs/r/carry', { runFence: fence })).status, 200)
  for (const what of ['leave', 'carry']) {
    const body = { ...(what === 'leave' && { because: 'waiting' }), runFence: fence + 1 }
    assert.is(
      (await bodyOf(await edge.post(`/v1/runs/r/${what}`, body))).code,
      'run-taken-over',
      'nobody has this fence',
    )
  }
  await edge.post('/v1/runs', { id: 'r', name: 'order' })
  for (const [what, body] of [
    ['leave', { because: 'waiting', runFence: fence }],
    ['carry', { runFence: fence }],
  ] as const) {
    const refused = await edge.post(`/v1/runs/r/${what}`, body)
    assert.equal([refused.status, (await bodyOf(refused)).code], [409, 'run-taken-over'], what)
  }
})

test('a run is listed for workers of its version, for those that name it, and for those without a version (RUN-225, HTTP-69)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { name: 'order', after: PAST })
  const version = (list: readonly string[]) => `name=order&versions=${encodeURIComponent(JSON.stringify(list))}`
  const [row] = await dueIn(edge, version(['2']))
  assert.ok(row, 'nobody has carried it yet')
  const { fence: runFence } = await bodyOf(await take(edge, row, { version: '1' }))
  const error = { code: 'x', message: 'y' }
  await edge.post('/v1/runs/r/leave', { because: 'stuck', error, retryAfterMs: 1, runFence })
  const listed = async (query: string) => ids(await dueIn(edge, query))
  await eventually(async () => ((await listed('name=order')).length === 1 ? true : undefined), 'the run')
  assert.equal(await listed(version(['2'])), [])
  assert.equal(await listed(version(['2', '1'])), ['r'])
  assert.is((await bodyOf(await edge.get('/v1/runs/r'))).version, '1')
})

test('with `Prefer: wait` an empty list waits: for a start, for a time, and no longer than was asked (RUN-228, HTTP-65)', async () => {
  await using edge = await testEdge()
  const wait = { prefer: 'wait=30' }
  const waiting = dueIn(edge, 'name=order', wait)
  await edge.started('other', { name: 'other', after: PAST })
  await edge.started('now', { name: 'order', after: PAST })
  const [row] = await within(waiting, 'the start')
  assert.is(row?.runId, 'now')
  assert.ok(row)
  await take(edge, row)
  await edge.started('soon', { name: 'order', after: new Date(Date.now() + 300).toISOString() })
  assert.equal(ids(await within(dueIn(edge, 'name=order', wait), 'the time')), ['soon'])
  assert.equal(await within(dueIn(edge, 'name=nothing', { prefer: 'wait=1' }), 'the end of the wait'), [])
})

test('a wait takes a slot of the tenant, gives it back, and ends with the server and its reader (HTTP-65)', async () => {
  await using edge = await testEdge({ settings: { streamsPerTenant: 1 } })
  const over = new AbortController()
  const headers = { authorization: `Bearer ${await edge.token()}`, prefer: 'wait=30' }
  const first = edge.app.request('/v1/runs?due=true&name=order', { headers, signal: over.signal })
  await new Promise((resolve) => setTimeout(resolve, 50))
  const none = await within(Promise.resolve(edge.get('/v1/runs?due=true&name=order')), 'the answer without a slot')
  assert.is(none.status, 429)
  over.abort()
  await within(
    Promise.resolve(first).catch(() => undefined),
    'the end of the first wait',
  )
  const second = dueIn(edge, 'name=order', { prefer: 'wait=30' })
  await new Promise((resolve) => setTimeout(resolve, 20))
  edge.draining.abort()
  assert.equal(await within(second, 'the end of the second wait'), [])
})

test('a run whose wait ended by a signal that came too late is due (RUN-223)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { name: 'order', after: PAST })
  const [row] = await dueIn(edge, 'name=order')
  assert.ok(row)
  const { fence: runFence } = await bodyOf(await take(edge, row))
  await edge.post('/v1/runs/r/waits', { name: 'go', forMs: 20, runFence })
  await edge.post('/v1/runs/r/leave', { because: 'waiting', runFence })
  assert.equal(ids(await within(dueIn(edge, 'name=order', { prefer: 'wait=30' }), 'the end of the wait')), ['r'])
  assert.is((await edge.post('/v1/runs/r/signals/go', { payload: 1 })).status, 202, 'held: the wait is over')
  assert.equal(ids(await dueIn(edge, 'name=order')), ['r'])
})

test('an approval that is granted while no process carries the run makes it due (RUN-223)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { name: 'order', after: PAST, policy: { approve: [{ tools: ['pay'], selfApproval: true }] } })
  const [row] = await dueIn(edge, 'name=order')
  assert.ok(row)
  const { fence: runFence } = await bodyOf(await take(edge, row))
  const claim = await bodyOf(await edge.post('/v1/runs/r/calls', { tool: 'pay', args: 1, runFence }))
  assert.is(claim.code, 'approval-pending', JSON.stringify(claim))
  await edge.post('/v1/runs/r/leave', { because: 'waiting', runFence })
  assert.equal(await dueIn(edge, 'name=order'), [])
  const waiting = dueIn(edge, 'name=order', { prefer: 'wait=30' })
  const { approvalId, argsDigest } = claim
  const granted = await edge.post(`/v1/runs/r/approvals/${approvalId}/grant`, { argsDigest })
  assert.is(granted.status, 200, await granted.text())
  assert.equal(ids(await within(waiting, 'the grant')), ['r'])
})

test.run()
