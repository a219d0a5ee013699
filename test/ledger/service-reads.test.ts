import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { SYSTEM_STREAM } from '../../schemas/names.ts'
import { Sealer } from '../../src/ledger/identity/sealer.ts'
import { serviceReads } from '../../src/ledger/identity/service-reads.ts'
import type { ServicePage } from '../../src/ledger/service.ts'
import { createLedgerKeys, type LedgerKeys } from '../../src/signing/ledger-keys.ts'
import type { EventStore, RecordPages } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import { collect } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { bearer, testEdge } from '../support/test-edge.ts'
import { testLedger } from '../support/test-ledger.ts'
import { wrapStore } from '../support/wrap-store.ts'

const test = suite('what auditors are told of the service')

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const settings = { host: '10.1.2.3', webhook: 'hooks.internal', policy: 'default', 'strict-access': 'false' }
const token = (n: number, forTenant: string) => ({
  ...{ v: 1 as const, token: id(n), kid: 't1', subject: `kim-${n}`, forTenant, scopes: ['runs:read'] },
  ...{ issuedAt: '2026-01-02T03:04:05.000Z', expires: '2026-01-02T04:04:05.000Z' },
})
const told = { version: '1.2.3', node: 'v20.0.0', settings }

const keysOf = (byte: number): LedgerKeys =>
  createLedgerKeys('2026-01-01T00:00:00.000Z', (bytes) => Buffer.alloc(bytes, byte))
const KEYS = keysOf(7)

interface Answer {
  readonly items: ServicePage['items']
  readonly nextCursor: string | null
}

test('an auditor reads starts, ends, changed settings and rotations, without places and addresses of the machine, and the tokens of the own tenant alone (LOG-35)', async () => {
  await using edge = await testEdge({ store: openMemoryStore() })
  const { service } = edge.inner.ledger
  const start = await service.started(told)
  await service.changed(start, { setting: 'policy', digest: `sha256:${'a'.repeat(64)}` })
  for (const [n, tenant] of [edge.tenant, edge.foreign, edge.tenant].entries())
    await service.tokenIssued(token(n, tenant))
  await service.stopped(start)
  await service.started({ ...told, settings: { ...settings, 'strict-access': 'true', host: '10.9.9.9' } })
  const read = async (path: string, headers?: Record<string, string>): Promise<Answer> => {
    const response = await edge.get(path, headers)
    assert.is(response.status, 200)
    return (await response.json()) as Answer
  }
  const { items } = await read('/v1/audit/service')
  assert.equal(
    items.map(({ type, seal }) => [type, seal]),
    ['ServiceStarted', 'ServiceStopped', 'ConfigurationChanged', 'ServiceStarted'].map((type) => [type, 'valid']),
  )
  assert.equal(items[0]?.changed, ['host', 'strict-access'])
  assert.equal(items[0]?.settings, { policy: 'default', 'strict-access': 'true' })
  assert.not.match(JSON.stringify(items), /10\.1\.2\.3|10\.9\.9|hooks|kim-\d/)

  const ofTenant = async (headers?: Record<string, string>) =>
    (await read('/v1/audit/tokens', headers)).items.map(({ subject }) => subject)
  assert.equal(await ofTenant(), ['kim-2', 'kim-0'])
  assert.equal(await ofTenant(await bearer(edge, { tenant: edge.foreign })), ['kim-1'])
  const refused = await edge.get('/v1/audit/tokens', await bearer(edge, { scopes: ['runs:read'] }))
  assert.is(refused.status, 403)

  const found: unknown[] = []
  let cursor: string | null = ''
  for (let pages = 0; cursor !== null && pages < 9; pages += 1) {
    const page: Answer = await read(`/v1/audit/service?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
    found.push(...page.items)
    cursor = page.nextCursor
  }
  assert.equal(found, items)
  const first = await read('/v1/audit/tokens?limit=1')
  for (const path of [`service?cursor=${first.nextCursor}`, 'service?cursor=AAAA', 'service?type=x'])
    assert.is((await edge.get(`/v1/audit/${path}`)).status, 400, path)
})

test('what is on record of the service is narrowed by time and by type, and a cursor goes with its own filters alone (LOG-35)', async () => {
  await using edge = await testEdge({ store: openMemoryStore(), realClock: false })
  const { service } = edge.inner.ledger
  const start = await service.started(told)
  await service.tokenIssued(token(1, edge.tenant))
  edge.inner.clock.nowMs += 60_000
  const since = new Date(edge.inner.clock.nowMs).toISOString()
  await service.stopped(start)
  await service.tokenIssued(token(2, edge.tenant))
  const listed = async (path: string): Promise<readonly unknown[]> => {
    const response = await edge.get(`/v1/audit/${path}`)
    assert.is(response.status, 200, path)
    return ((await response.json()) as Answer).items.map(({ type, subject }) => subject ?? type)
  }
  assert.equal(await listed(`service?since=${since}`), ['ServiceStopped'])
  assert.equal(await listed(`service?until=${since}`), ['ServiceStarted'])
  assert.equal(await listed('service?types=ServiceStarted'), ['ServiceStarted'])
  assert.equal(await listed(`service?since=${since}&types=ServiceStarted`), [])
  assert.equal(await listed(`tokens?since=${since}`), ['kim-2'])
  assert.equal(await listed(`tokens?until=${since}`), ['kim-1'])
  const { nextCursor } = (await (await edge.get('/v1/audit/service?limit=1')).json()) as Answer
  const refused = [`service?limit=1&types=ServiceStarted&cursor=${nextCursor}`, 'service?since=today', 'tokens?types=x']
  for (const path of refused) assert.is((await edge.get(`/v1/audit/${path}`)).status, 400, path)
})

test('a page looks at a bounded number of events, whoever they are about, and says where it goes on (LOG-35, F190)', async () => {
  const store = openMemoryStore()
  await using inner = await testLedger({ store })
  await inner.ledger.service.tokenIssued(token(1, 'acme'))
  const [, record] = await collect(store.readStream(SYSTEM_STREAM))
  let looked = 0
  async function* endless(): RecordPages {
    for (;;) {
      looked += 100
      yield Array(100).fill(record)
    }
  }
  const sealer = new Sealer({ current: inner.keys.current, onChange: () => () => undefined })
  const page = await serviceReads({ store: { readStream: endless }, sealer }).tokens('beta', { limit: 10 })
  assert.equal(page, { items: [], next: 1 })
  assert.ok(looked <= 2_100, `${looked}`)
  const own = await serviceReads({ store: { readStream: endless }, sealer }).tokens('acme', { limit: 10 })
  assert.is(own.items.length, 10)
})

test('a record of the service that was altered is shown as broken (LOG-35)', async () => {
  const store = openMemoryStore()
  await using inner = await testLedger({ store })
  await inner.ledger.service.tokenIssued(token(1, 'acme'))
  const readStream: EventStore['readStream'] = async function* (...asked) {
    for await (const page of store.readStream(...asked))
      yield page.map((each) => ({ ...each, data: each.data.replace('runs:read', 'admin') }))
  }
  const sealer = new Sealer({ current: inner.keys.current, onChange: () => () => undefined })
  const { items } = await serviceReads({ store: { readStream }, sealer }).tokens('acme', { limit: 10 })
  assert.equal(
    items.map(({ scopes, seal }) => [scopes, seal]),
    [[['admin'], 'invalid']],
  )
})

/** Records of the ledger's own stream that a start reads. */
async function readAtStart(store: EventStore, path: string, keys = KEYS): Promise<number> {
  let read = 0
  const readStream: EventStore['readStream'] = async function* (stream, options) {
    for await (const page of store.readStream(stream, options)) {
      if (stream === SYSTEM_STREAM) read += page.length
      yield page
    }
  }
  const views = openSqliteViews({ path })
  await using _ = await testLedger({ store: wrapStore(store, { readStream }), views, keys })
  return read
}

test('a start reads what came to the stream of the ledger itself since it was kept, not all of it; what was kept decides nothing in other hands (F191)', async () => {
  const store = openMemoryStore()
  using folder = tempFolder()
  const path = folder.file('views.db')
  {
    await using first = await testLedger({ store, views: openSqliteViews({ path }), keys: KEYS })
    for (let n = 0; n < 300; n += 1) await first.ledger.service.tokenIssued(token(n, 'acme'))
  }
  const whole = await readAtStart(store, path)
  assert.ok(whole >= 300, `the first start after them: ${whole}`)
  const tail = await readAtStart(store, path)
  assert.ok(tail < 40, `the next start: ${tail}`)

  {
    using views = openSqliteViews({ path })
    const row = views.loadFold(SYSTEM_STREAM, 'system/1')
    assert.ok(row)
    views.saveFold({ ...row, text: row.text.replace(/"kid":"[^"]*"/, '"kid":"other"') })
  }
  assert.ok((await readAtStart(store, path)) >= 300, 'one that was altered is left aside')

  // Another store: a copy that ends before it, or another ledger's.
  const other = openMemoryStore()
  {
    await using _ = await testLedger({ store: other, keys: KEYS })
  }
  const refused = await readAtStart(other, path).then(
    (read) => `read ${read}`,
    (error: Error) => error.message,
  )
  assert.match(refused, /^read \d$/)
  const foreign = await readAtStart(store, path, keysOf(9)).catch((error: Error) => error.message)
  assert.match(String(foreign), /these keys did not found this ledger/)
})

test.run()
