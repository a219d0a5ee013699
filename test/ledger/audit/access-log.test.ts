import { setImmediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { AccessLog } from '../../../src/ledger/audit/access-log.ts'
import { realEffects } from '../../../src/ledger/effects.ts'
import { Sealer } from '../../../src/ledger/identity/sealer.ts'
import type { LedgerEvent } from '../../../src/ledger/ledger-event.ts'
import type { Effects } from '../../../src/ledger/ports.ts'
import { MemoryBudget } from '../../../src/resources/memory-budget.ts'
import { type AppendResult, StoreUnavailableError } from '../../../src/store/event-store.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { askAll, auditOf } from '../../support/audited.ts'
import { collect } from '../../support/records.ts'
import { drive } from '../../support/run-driver.ts'
import { alice, ownCaller, TestKeys, type TestLedger, testLedger } from '../../support/test-ledger.ts'
import { testStoreKeys } from '../../support/test-store.ts'
import { wrapStore } from '../../support/wrap-store.ts'

const access = suite('audit: who read what')

const auditor = ownCaller('acme', { actor: 'audit-desk', principal: 'carol', via: ['portal'] })

async function accessEvents({ ledger }: TestLedger, caller = alice): Promise<LedgerEvent[]> {
  const events: LedgerEvent[] = []
  for await (const page of ledger.tenantEvents(caller, {})) events.push(...page)
  return events.filter(({ header }) => header.type === 'AccessRecorded')
}

const entriesOf = (events: readonly LedgerEvent[]) =>
  events.flatMap(({ data }) => data.entries as readonly JsonObject[])

access(
  'every query is on record before it is answered: who asked, for whom, what, as of when, and how much was given (LOG-20)',
  async () => {
    await using test = await testLedger({ audit: true })
    await drive(test, 'r').start()
    await askAll(test.ledger, 'events', { filter: { run: 'r', types: ['RunStarted'] }, caller: auditor })
    const [entry, ...more] = entriesOf(await accessEvents(test))
    assert.equal(more, [])
    const { at, asOf, ...rest } = entry ?? {}
    assert.match(String(at), /^\d{4}-/)
    assert.is((asOf as JsonObject).treeSize, 1)
    assert.equal(rest, {
      actor: 'audit-desk',
      principal: 'carol',
      via: ['portal'],
      query: 'audit/events',
      run: 'r',
      filters: { run: 'r', types: 'RunStarted' },
      count: 1,
    })
  },
)

access('reads of one moment share one event, one entry each; those of another tenant stand elsewhere', async () => {
  await using test = await testLedger({ audit: true })
  await drive(test, 'r').start()
  const eve = ownCaller('beta', { actor: 'eve' })
  const reads = Array.from({ length: 20 }, (_, at) => auditOf(test.ledger).record(auditor, { query: `read-${at}` }))
  await Promise.all([...reads, auditOf(test.ledger).record(eve, { query: 'page' })])
  const events = await accessEvents(test)
  assert.is(events.length, 1)
  assert.equal(
    entriesOf(events).map(({ query }) => query),
    Array.from({ length: 20 }, (_, at) => `read-${at}`),
  )
  assert.equal(
    entriesOf(await accessEvents(test, eve)).map(({ query }) => query),
    ['page'],
  )
})

access('a read after a pause waits for no other, and those that follow it share the next event (LOG-20)', async () => {
  const slept: number[] = []
  let nowMs = 1_000
  const effects: Effects = {
    ...realEffects(),
    monotonicMs: () => nowMs,
    sleep: async (ms) => {
      slept.push(ms)
      nowMs += ms
      await setImmediate()
    },
  }
  const store = openMemoryStore()
  const sealer = new Sealer(new TestKeys(testStoreKeys()))
  await using log = new AccessLog({ store, sealer, effects, memory: new MemoryBudget(), writer: effects.newId() })
  const read = (query: string) => log.record(auditor, { query })
  await read('first')
  nowMs += 30
  await Promise.all(['second', 'third'].map(read))
  nowMs += 500
  await read('fourth')
  assert.equal(slept, [0, 70, 0])
  const entries = (await collect(store.readAll())).map(({ data }) => (JSON.parse(data) as JsonObject).entries)
  assert.equal(
    entries.map((list) => (list as readonly JsonObject[]).map(({ query }) => query)),
    [['first'], ['second', 'third'], ['fourth']],
  )
})

access('the record is a sealed stream of its own for each start, and reading it is on record too', async () => {
  await using test = await testLedger({ audit: true })
  await askAll(test.ledger, 'events', { caller: auditor })
  const rows = await askAll(test.ledger, 'access', { caller: auditor })
  assert.equal(
    rows.map(({ query }) => query),
    ['audit/events'],
  )
  const again = await askAll(test.ledger, 'access', { caller: auditor })
  assert.equal(
    again.map(({ query }) => query),
    ['audit/events', 'audit/access'],
  )
  const streams = new Set((await accessEvents(test)).map(({ header }) => header.stream))
  assert.is(streams.size, 1)
  const [stream = ''] = streams
  assert.match(stream.replace(auditor.tenant, 'own'), /^access-own\.[0-9a-f-]{36}$/)
  const sealed = await askAll(test.ledger, 'events', { filter: { types: ['AccessRecorded'] } })
  assert.ok(sealed.every(({ seal }) => seal === 'valid'))
})

access('more reads than one event holds go into several, and none is lost', async () => {
  await using test = await testLedger({ audit: true })
  const filters = { text: 'x'.repeat(5_000) }
  await Promise.all(
    Array.from({ length: 600 }, (_, at) => auditOf(test.ledger).record(auditor, { query: `read-${at}`, filters })),
  )
  const events = await accessEvents(test)
  assert.ok(events.length > 2)
  assert.is(entriesOf(events).length, 600)
})

access('where the store takes no writes, a read of an auditor is not answered', async () => {
  let away = false
  const inner = openMemoryStore()
  const store = wrapStore(inner, {
    append: (append) =>
      away
        ? Promise.resolve<AppendResult>({ kind: 'unavailable', detail: 'away', retryAfterMs: 700 })
        : inner.append(append),
  })
  await using test = await testLedger({ audit: true, store })
  away = true
  try {
    await askAll(test.ledger, 'events')
    assert.unreachable('it must not answer')
  } catch (error) {
    assert.instance(error, StoreUnavailableError)
    assert.is((error as StoreUnavailableError).retryAfterMs, 700)
  }
  away = false
  assert.equal(await askAll(test.ledger, 'events'), [])
})

access('an append whose answer was lost is on record once', async () => {
  let lose = false
  const inner = openMemoryStore()
  const store = wrapStore(inner, {
    append: async (append) => {
      const result = await inner.append(append)
      return lose ? { kind: 'unknown', detail: 'the answer was lost' } : result
    },
  })
  await using test = await testLedger({ audit: true, store })
  lose = true
  await auditOf(test.ledger).record(auditor, { query: 'page' })
  lose = false
  await auditOf(test.ledger).record(auditor, { query: 'page' })
  assert.is(entriesOf(await accessEvents(test)).length, 2)
})

access('replays that auditors ask for are the verification history', async () => {
  await using test = await testLedger({ audit: true })
  await auditOf(test.ledger).record(auditor, { query: 'runs/replay', run: 'r', verdict: 'VERIFIED' })
  await auditOf(test.ledger).record(auditor, { query: 'events' })
  const rows = await askAll(test.ledger, 'verifications')
  assert.equal(
    rows.map(({ run, verdict, actor }) => [run, verdict, actor]),
    [['r', 'VERIFIED', 'audit-desk']],
  )
})

access.run()
