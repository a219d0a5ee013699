import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AppendResult } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'
import { eventually } from '../support/within.ts'
import { wrapStore } from '../support/wrap-store.ts'

const test = suite('http: what auditors ask')

interface Row {
  readonly [member: string]: unknown
}

interface Answer {
  readonly items: readonly Row[]
  readonly nextCursor: string | null
  readonly asOf: { readonly treeSize: number }
  readonly code: string
  readonly detail: string
  readonly errors: readonly { readonly pointer: string }[]
}

interface Progress {
  readonly percent: number
  readonly indexedEvents: number
}

interface Readiness {
  readonly building?: readonly (Progress & { readonly name: string })[]
}

async function edgeWithRun(): Promise<TestEdge> {
  const edge = await testEdge({ audit: true })
  await edge.started('r')
  await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: { entities: ['Apple'] } })
  await edge.post('/v1/runs/r/envelopes', { agent: 'b', payload: { note: 'x' } })
  return edge
}

const get = async (edge: TestEdge, path: string, headers = {}): Promise<Answer> =>
  (await (await edge.get(path, headers)).json()) as Answer

const auditor = (edge: TestEdge) => bearer(edge, { scopes: ['audit:read', 'audit:export'], subject: 'auditor' })

async function reads(edge: TestEdge): Promise<readonly Row[]> {
  return (await get(edge, '/v1/audit/access?limit=500')).items.filter(({ actor }) => actor === 'auditor')
}

test('pages are walked by their cursor, pinned to the size of the log that the first one told', async () => {
  await using edge = await edgeWithRun()
  const first = await get(edge, '/v1/audit/events?limit=2')
  const leaves = first.items.map(({ leaf }) => leaf)
  for (let { nextCursor } = first; nextCursor !== null; ) {
    const page = await get(edge, `/v1/audit/events?limit=2&cursor=${nextCursor}`)
    assert.is(page.asOf.treeSize, first.asOf.treeSize)
    leaves.push(...page.items.map(({ leaf }) => leaf))
    nextCursor = page.nextCursor
  }
  assert.equal(
    leaves,
    Array.from({ length: first.asOf.treeSize }, (_, leaf) => leaf),
  )
})

test('while the index is being built every query is refused, with its progress and when to try again, and never answered in part (F130)', async () => {
  const inner = openMemoryStore()
  let goOn = (): void => undefined
  let isHeld = false
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const store = wrapStore(inner, {
    readAll: async function* (...args: Parameters<typeof inner.readAll>) {
      for await (const page of inner.readAll(...args)) {
        for (const record of page) {
          yield [record]
          if (isHeld) await held
        }
      }
    },
  })
  await using edge = await testEdge({ audit: true, auditWaitMs: 100, store })
  await edge.started('r')
  isHeld = true
  for (const run of ['s', 't', 'u', 'v', 'w', 'x']) await edge.started(run)
  const ready = async () => (await (await edge.app.request('/readyz')).json()) as Readiness
  // Where the index has got to does not move any more: the store holds back what comes after it.
  await eventually(async () => ((await ready()).building?.[0]?.indexedEvents ? true : undefined), 'a begun index')
  for (const path of ['/v1/audit/events', '/v1/audit/open-calls', '/v1/audit/rejections']) {
    const answer = await edge.get(path)
    assert.is(answer.status, 503, path)
    assert.ok(Number(answer.headers.get('retry-after')) >= 1)
    const { code, progress } = (await answer.json()) as { code: string; progress: Progress }
    assert.is(code, 'index-building')
    assert.ok(progress.percent <= 99 && progress.indexedEvents > 0, JSON.stringify(progress))
    assert.is((await edge.app.request('/readyz')).status, 200, 'appends are taken meanwhile')
    const { indexedEvents } = progress
    const { building = [], ...rest } = await ready()
    assert.equal(rest, { status: 'ready', store: 'ready' })
    assert.equal(
      building.map((one) => [one.name, one.indexedEvents]),
      [['audit', indexedEvents]],
    )
  }
  goOn()
  const answered = async () => (await get(edge, '/v1/audit/events')).items?.length
  assert.ok((await eventually(answered, 'an answer of the whole index')) > 0)
  assert.equal(await ready(), { status: 'ready', store: 'ready' })
})

test('every row leads to its event, and the event is the sealed record', async () => {
  await using edge = await edgeWithRun()
  const { items } = await get(edge, '/v1/audit/rejections')
  const { event, links } = items[0] as { event: string; links: { event: string } }
  const record = (await (await edge.get(links.event)).json()) as { header: { id: string; type: string } }
  assert.equal([record.header.id, record.header.type], [event, 'EnvelopeRejected'])
})

test('a cursor is good for its own query, filters and tenant, and for nothing else (A42)', async () => {
  await using edge = await edgeWithRun()
  const { nextCursor } = await get(edge, '/v1/audit/events?limit=1')
  assert.ok(nextCursor)
  const paths = [`/v1/audit/events?actor=x&cursor=${nextCursor}`, `/v1/audit/refusals?cursor=${nextCursor}`]
  for (const path of [...paths, '/v1/audit/events?cursor=AAAA', `/v1/audit/events?cursor=${nextCursor}A`]) {
    assert.is((await get(edge, path)).code, 'invalid-cursor', path)
  }
  const foreign = await get(edge, `/v1/audit/events?cursor=${nextCursor}`, await bearer(edge, { tenant: 'beta' }))
  assert.is(foreign.code, 'invalid-cursor')
})

test('parameters come from the list of the query: another name, a misspelt type, a bad time are refused by name (A22)', async () => {
  await using edge = await edgeWithRun()
  const bad = {
    '/v1/audit/events?e.tenant=beta': '/e.tenant',
    '/v1/audit/events?types=EnvelopeRejcted': '/types/0',
    '/v1/audit/events?since=yesterday': '/since',
    '/v1/audit/events?order=leaf;--': '/order',
    '/v1/audit/runs?tool=x': '/tool',
    '/v1/audit/runs?toolContains=x': '/toolContains',
    '/v1/audit/events?contains=': '/contains',
    [`/v1/audit/events?agentContains=${'x'.repeat(257)}`]: '/agentContains',
    '/v1/audit/search': '/text',
    '/v1/audit/events?run=..%2Fx': '/run',
  }
  for (const [path, pointer] of Object.entries(bad)) {
    const { code, errors = [] } = await get(edge, path)
    assert.is(code, 'invalid-query', path)
    if (path !== '/v1/audit/search') assert.is(errors[0]?.pointer, pointer)
  }
  assert.match((await get(edge, '/v1/audit/spend?by=colour')).detail, /run, agent, model/)
})

test('hostile values are values: nothing is found and nothing breaks (A22)', async () => {
  await using edge = await edgeWithRun()
  for (const value of ["' OR 1=1 --", '%', '_', '"; DROP TABLE events', '\u0000', '\n'].map(encodeURIComponent)) {
    const parts = ['actorContains', 'toolContains', 'runContains', 'ruleContains', 'contains']
    for (const name of ['actor', 'agent', 'tool', 'rule', 'model', 'kid', ...parts]) {
      assert.equal((await get(edge, `/v1/audit/events?${name}=${value}`)).items, [], `${name}=${value}`)
    }
  }
})

test('names are found by a part, in any case, on every page of an answer, and as of then (HTTP-32)', async () => {
  await using edge = await edgeWithRun()
  await edge.started('Bill-7')
  await edge.post('/v1/runs/Bill-7/complete', {})
  const { items, asOf, nextCursor } = await get(edge, '/v1/audit/events?runContains=bILL&limit=1')
  assert.equal([items[0]?.run, typeof nextCursor], ['Bill-7', 'string'])
  const next = await get(edge, `/v1/audit/events?runContains=bILL&limit=1&cursor=${nextCursor}`)
  assert.equal([next.items[0]?.run, next.code], ['Bill-7', undefined])
  assert.is((await get(edge, `/v1/audit/events?runContains=bIL&cursor=${nextCursor}`)).code, 'invalid-cursor')
  const runs = async (query: string) => (await get(edge, `/v1/audit/runs?${query}`)).items.map(({ run }) => run)
  assert.equal(await runs(`runContains=ILL&asOf=${asOf.treeSize}`), ['Bill-7'])
  assert.equal(await runs('runContains=ILL&asOf=2'), [])
  assert.is((await get(edge, '/v1/audit/events?contains=ILL-&types=RunStarted')).items.length, 1)
})

test('reads that an audit scope alone allows are on record; the log itself and reads of agents are not (LOG-21)', async () => {
  await using edge = await edgeWithRun()
  const headers = await auditor(edge)
  for (const path of [
    '/v1/events?type=RunStarted',
    '/v1/runs?name=test',
    '/v1/runs/r',
    '/v1/runs/r/events',
    '/v1/runs/r/findings',
  ])
    assert.is((await edge.get(path, headers)).status, 200, path)
  await (await edge.get('/v1/runs/r/replay', headers)).text()
  await (await edge.get('/v1/export', headers)).text()
  await edge.get('/v1/runs/nobody', headers)
  await edge.get('/v1/log/checkpoint', headers)
  await edge.get('/v1/runs/r', await bearer(edge, { scopes: ['runs:read'], subject: 'auditor' }))

  const seen = (await reads(edge)).map(({ query, run, count, verdict }) => ({ query, run, count, verdict }))
  const own = (query: string, more: Row = {}) => ({
    query,
    run: undefined,
    count: undefined,
    verdict: undefined,
    ...more,
  })
  assert.equal(seen.slice(0, 6), [
    own('events', { count: 1 }),
    own('runs', { count: 1 }),
    own('runs', { run: 'r' }),
    own('runs/events', { run: 'r', count: 4 }),
    own('runs/findings', { run: 'r', count: 2 }),
    own('runs/replay', { run: 'r', count: 4, verdict: 'VERIFIED' }),
  ])
  // An export is on record twice: before its first byte, and with its digest before its last.
  assert.equal(
    seen.slice(6).map(({ query }) => query),
    ['export', 'export'],
  )
})

test('filters are on record as they were asked, places to go on from are not', async () => {
  await using edge = await edgeWithRun()
  const headers = await auditor(edge)
  const { nextCursor } = await get(edge, '/v1/events?type=EnvelopeAccepted&limit=1', headers)
  await edge.get(`/v1/events?type=EnvelopeAccepted&limit=1&cursor=${nextCursor}`, headers)
  const seen = (await reads(edge)).map(({ filters }) => filters)
  assert.equal(seen, [{ type: 'EnvelopeAccepted' }, { type: 'EnvelopeAccepted' }])
})

test('a tail is on record when it opens, a replay that was left as cut', async () => {
  await using edge = await edgeWithRun()
  const headers = await auditor(edge)
  for (const path of ['/v1/tail', '/v1/runs/r/replay']) {
    const reader = (await edge.get(path, headers)).body?.getReader()
    await reader?.read()
    await reader?.cancel()
  }
  const seen = (await reads(edge)).map(({ query, cut, verdict }) => [query, cut, verdict])
  assert.equal(seen, [
    ['tail', undefined, undefined],
    ['runs/replay', true, undefined],
  ])
})

test('an event that the index has and the store has not is named, never passed over', async () => {
  let gone = false
  const inner = openMemoryStore()
  const store = wrapStore(inner, {
    readStream: (stream, options) => inner.readStream(gone && stream.endsWith('.r') ? 'run-none' : stream, options),
  })
  await using edge = await testEdge({ audit: true, store })
  await edge.started('r')
  assert.is((await edge.get('/v1/audit/events?types=RunStarted')).status, 200)
  gone = true
  const answer = await get(edge, '/v1/audit/events?types=RunStarted')
  assert.is(answer.code, 'stream-damaged')
  assert.match(answer.detail, /run-.*\.r @ 0 is in the index and not in the store: run "countersign verify"/)
})

test('with the store away an auditor is answered 503, and an agent still reads', async () => {
  let away = false
  const inner = openMemoryStore()
  const store = wrapStore(inner, {
    append: (append) =>
      away
        ? Promise.resolve<AppendResult>({ kind: 'unavailable', detail: 'away', retryAfterMs: 2_000 })
        : inner.append(append),
  })
  await using edge = await testEdge({ audit: true, store })
  await edge.started('r')
  away = true
  const headers = await auditor(edge)
  for (const path of ['/v1/audit/events', '/v1/events', '/v1/runs/r']) {
    const response = await edge.get(path, headers)
    assert.equal([response.status, response.headers.get('retry-after')], [503, '2'], path)
  }
  assert.is((await edge.get('/v1/runs/r')).status, 200)
})

test.run()
