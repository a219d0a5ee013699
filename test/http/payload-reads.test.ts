import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AccessEntry } from '../../schemas/events/access-recorded.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { PayloadReads } from '../../src/ledger/audit/payload-reads.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { OverloadedError } from '../../src/resources/overloaded-error.ts'
import { collect } from '../support/records.ts'
import { drive, ok } from '../support/run-driver.ts'
import { bearer, bodyOf, type TestEdge, type TestEdgeOptions, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('http: who read the bodies of a run')

async function seeded(options: TestEdgeOptions = {}): Promise<TestEdge> {
  const edge = await testEdge({ audit: true, ...options })
  const run = drive(edge.inner, 'order', { tenant: edge.tenant, actor: 'alice' })
  await run.start()
  ok(await run.hand('ann', { facts: { secret: 'p-7' } }))
  return edge
}

/** Sign-ins stand in the same streams. */
async function recorded({ inner, tenant }: TestEdge): Promise<readonly JsonObject[]> {
  const records = await collect(inner.store.readAll({ tenant }))
  const events = records.filter(({ stream }) => stream.startsWith(`access-${tenant}.`))
  return events.flatMap(({ data }) => {
    const { v, entries } = JSON.parse(data) as { v: Json; entries: readonly JsonObject[] }
    const reads = entries.filter(({ query }) => query !== 'sign-in')
    return reads.map(({ actor = null, query = null, run = null, reads = null }) => ({ v, actor, query, run, reads }))
  })
}

const PAYLOADS = ['context', 'envelopes', 'findings', 'calls', 'events', 'replay', 'compensations']
const STATES = [
  '/v1/runs',
  '/v1/runs/order',
  '/v1/runs/order/budget',
  '/v1/runs/order/manifests',
  '/ui/runs',
  '/ui/runs/order',
]

test('reads of bodies by runs:read are on record, one entry for all of a reader and a run: who, which, how often (LOG-26, A219)', async () => {
  await using edge = await seeded()
  const olga = await bearer(edge, { subject: 'olga', scopes: ['runs:read'] })
  for (const name of PAYLOADS) {
    const answer = await edge.get(`/v1/runs/order/${name}`, olga)
    assert.is(answer.status, 200, name)
    await answer.text()
  }
  for (const path of STATES.filter((each) => each.startsWith('/v1'))) await edge.get(path, olga)
  assert.is((await edge.get('/v1/runs/nobody/context', olga)).status, 404)
  const ben = await signedIn(edge, { subject: 'ben', scopes: ['runs:read'] })
  for (const page of ['context', 'events/1', 'diff?from=0&to=1'])
    assert.is((await ben.get(`/ui/runs/order/${page}`)).status, 200)
  await ben.get('/ui/runs/order')
  assert.equal(await recorded(edge), [], 'nothing is written for each of them')
  await edge.inner.ledger[Symbol.asyncDispose]()
  assert.equal(
    (await recorded(edge)).filter(({ reads }) => reads !== null),
    [
      { v: 2, actor: 'olga', query: 'payloads', run: 'order', reads: PAYLOADS.length },
      { v: 2, actor: 'ben', query: 'payloads', run: 'order', reads: 3 },
    ],
  )
})

test('under strict access each read of bodies is on record before it is answered (LOG-26, A220)', async () => {
  await using edge = await seeded({ settings: { strictAccess: true } })
  const olga = await bearer(edge, { subject: 'olga', scopes: ['runs:read'] })
  assert.is((await edge.get('/v1/runs/order/context', olga)).status, 200)
  assert.is((await edge.get('/v1/runs/order', olga)).status, 200)
  const ben = await signedIn(edge, { subject: 'ben', scopes: ['runs:read'] })
  await ben.get('/ui/runs/order/context')
  assert.equal(await recorded(edge), [
    { v: 1, actor: 'olga', query: 'runs/context', run: 'order', reads: null },
    { v: 1, actor: 'ben', query: 'page/runs/context', run: 'order', reads: null },
  ])
  const rows = (await (await edge.get('/v1/audit/access?run=order')).json()) as { items: readonly JsonObject[] }
  assert.equal(
    rows.items.map(({ actor, run }) => [actor, run]),
    [
      ['olga', 'order'],
      ['ben', 'order'],
    ],
  )
})

test('where payloads:read is required, runs:read gives states and digests alone, over HTTP and on the pages (HTTP-13, A221)', async () => {
  await using edge = await seeded({ payloadScope: 'required' })
  const states = await bearer(edge, { scopes: ['runs:read', 'runs:write'] })
  const bodies = await bearer(edge, { scopes: ['payloads:read'] })
  for (const name of [...PAYLOADS, 'tail', 'forks']) {
    const refused = await edge.get(`/v1/runs/order/${name}`, states)
    const { code, required } = (await refused.json()) as JsonObject
    assert.equal([refused.status, code, required], [403, 'scope-missing', ['payloads:read', 'audit:read']], name)
    if (name === 'tail') continue
    const answered = await edge.get(`/v1/runs/order/${name}`, bodies)
    assert.is(answered.status, 200, name)
    await answered.text()
  }
  const client = await signedIn(edge, { scopes: ['runs:read'] })
  for (const path of STATES) {
    const answer = path.startsWith('/ui') ? await client.get(path) : await edge.get(path, states)
    assert.is(answer.status, 200, path)
    assert.not.match(await answer.text(), /p-7/, path)
  }
  for (const page of ['context', 'events/1', 'diff?from=0&to=1']) {
    const answer = await client.get(`/ui/runs/order/${page}`)
    assert.is(answer.status, 403, page)
    assert.not.match(await answer.text(), /p-7/, page)
  }
})

test('what cannot be recorded stays counted, and is written when the store takes it (LOG-26)', async () => {
  const entries: object[] = []
  let isAway = true
  const recordEntry = async (_: string, entry: object): Promise<void> => {
    if (isAway) throw new Error('the store is away')
    entries.push(entry)
  }
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const warned: string[] = []
  await using reads = new PayloadReads({
    log: { recordEntry },
    effects: { nowMs: () => nowMs },
    warn: (_, message) => void warned.push(message),
  })
  const olga = { tenant: 'one-tenant', actor: 'olga', principal: 'dana' }
  reads.note(olga, 'order')
  await reads.flush()
  assert.equal([entries.length, warned.length], [0, 1])
  nowMs += 5_000
  reads.note(olga, 'order')
  isAway = false
  await reads.flush()
  const [at, until] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:05.000Z']
  assert.equal(entries, [{ at, actor: 'olga', principal: 'dana', query: 'payloads', run: 'order', until, reads: 2 }])
})

test('where reads cannot be recorded none is forgotten: beyond what is remembered the next is refused, and a try for all of them is no try for each (F118)', async () => {
  const recorded = new Map<string, number>()
  let [isAway, tries] = [true, 0]
  const recordEntry = async (_: string, { run = '', reads = 0 }: AccessEntry): Promise<void> => {
    tries += 1
    if (isAway) throw new Error('the store is away')
    recorded.set(run, (recorded.get(run) ?? 0) + reads)
  }
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  await using reads = new PayloadReads({ log: { recordEntry }, effects: { nowMs: () => nowMs }, warn: () => undefined })
  const olga = { tenant: 'one-tenant', actor: 'olga' }
  const given = new Set<string>()
  let refused = 0
  for (let n = 0; n < 12_000; n += 1) {
    try {
      reads.note(olga, `r${n}`)
      given.add(`r${n}`)
    } catch (error) {
      assert.instance(error, OverloadedError)
      refused += 1
    }
    await Promise.resolve()
  }
  await settle()
  assert.equal([given.size, refused], [10_000, 2_000])
  assert.ok(tries <= 10_000, `${tries} tries`)
  reads.note(olga, 'r0')

  isAway = false
  nowMs += 1_000
  assert.throws(() => reads.note(olga, 'new'), /too many reads/)
  await settle()
  reads.note(olga, 'new')
  await reads.flush()
  assert.equal([...recorded.keys()].sort(), [...given, 'new'].sort())
  assert.is(recorded.get('r0'), 2)
})

test('a read that can no longer be remembered is refused with 503, and a stream of it gives its slot back (F118)', async () => {
  const notePayloads = (): never => {
    throw new OverloadedError('too many reads wait to be recorded', 1_000)
  }
  const wrap = (ledger: Ledger): Ledger => {
    const { audit } = ledger
    return audit === undefined ? ledger : { ...ledger, audit: { ...audit, notePayloads } }
  }
  await using edge = await testEdge({ audit: true, wrap })
  await edge.started('r')
  for (const path of ['/v1/runs/r/events', '/v1/runs/r/tail', '/v1/runs/r/replay']) {
    const headers = { authorization: `Bearer ${await edge.token({ scopes: ['runs:read', 'payloads:read'] })}` }
    const response = await edge.app.request(path, { headers })
    assert.equal([response.status, (await bodyOf(response)).code], [503, 'overloaded'], path)
  }
  assert.match(await (await edge.get('/metrics')).text(), /^countersign_http_streams 0$/m)
})

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

test('where bodies need a scope of their own, a token that only writes gets none of the context by handing over what contradicts it (HTTP-13, A337)', async () => {
  await using edge = await seeded({ payloadScope: 'required' })
  const body = { agent: 'ann', payload: { facts: {} } }
  const writer = await bearer(edge, { subject: 'bot', scopes: ['runs:write', 'runs:read'] })
  const answers = [
    await edge.post('/v1/runs/order/envelopes', body, writer),
    await edge.post('/v1/batch', { items: [{ run: 'order', op: 'envelope', body }] }, writer),
  ]
  for (const answer of answers) {
    const text = await answer.text()
    assert.match(text, 'contradiction')
    assert.match(text, '"path":"/facts')
    assert.match(text, '"contextDigest":"sha256:')
    assert.not.match(text, 'p-7')
  }
  const reader = await bearer(edge, { subject: 'ann', scopes: ['runs:write', 'payloads:read'] })
  const whole = await bodyOf(await edge.post('/v1/runs/order/envelopes', body, reader))
  assert.equal(whole.restored.context, { facts: { secret: 'p-7' } })
  assert.match(JSON.stringify(whole.findings), 'p-7')
})

test.run()
