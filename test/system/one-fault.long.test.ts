import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream, runStream } from '../../schemas/names.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { alteredStore, withOtherBody } from '../support/altered-store.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { owner, schemaOf, writeOpen } from '../support/postgres-owner.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { collect } from '../support/records.ts'
import { drive, ok } from '../support/run-driver.ts'
import { startLedgers } from '../support/shared-store.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { eventually } from '../support/within.ts'

const test = suite('one fault, several processes')

const PROCESSES = 3
const RUNS = ['a', 'b', 'c', 'd']
const TENANT = 'acme'
/** In the body of the second event of each run, and what takes its place. */
const [BEFORE, AFTER] = ['exactly 4,000', 'exactly 9,000']

interface Place extends AsyncDisposable {
  readonly url: string
  readonly open: () => Promise<EventStore>
  /** Past triggers and ledgers, in every run. */
  readonly alter: () => Promise<void>
}

async function onPostgres(): Promise<Place> {
  const url = await newPostgresUrl()
  const alter = async (): Promise<void> => {
    await using client = await owner(url)
    await client.query('SET session_replication_role = replica')
    const table = `${schemaOf(url)}.events`
    await client.query(`UPDATE ${table} SET data = replace(data, $1, $2) WHERE revision = 1`, [BEFORE, AFTER])
  }
  return { url, alter, open: () => openPostgresStore({ url }), [Symbol.asyncDispose]: async () => undefined }
}

async function onEventStoreDb(): Promise<Place> {
  const node = await startNode()
  const alter = async (): Promise<void> => {
    for (const event of node.log.all) {
      const data = Buffer.from(event.data).toString().replace(BEFORE, AFTER)
      if (event.revision === 1n) event.data.set(Buffer.from(data))
    }
  }
  const open = (): Promise<EventStore> => openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  return { url: node.url, alter, open, [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() }
}

/** Streams that are on record as broken, one for each time that one was put there. */
async function onRecord(store: EventStore, tenant: string): Promise<readonly string[]> {
  const records = await collect(store.readStream(ledgerStream(tenant)))
  const faults = records.filter(({ header }) => header.includes('"type":"IntegrityFaultFound"'))
  return faults.map(({ data }) => (JSON.parse(data) as { stream: string }).stream).sort()
}

for (const [name, start] of [
  ['PostgreSQL', onPostgres],
  ['the EventStoreDB protocol', onEventStoreDb],
] as const) {
  test(`ledger processes on ${name} that meet the same broken events at once put each on record once (LOG-24, F218)`, async () => {
    await using place = await start()
    await using ledgers = await startLedgers({ url: place.url, processes: PROCESSES })
    const clients = await Promise.all(ledgers.servers.map((server) => server.client()))
    for (const [index, run] of RUNS.entries()) {
      const client = clients[index % PROCESSES]
      assert.is((await client?.post('/v1/runs', { id: run, name: 'r' }))?.status, 201)
      const handed = await client?.post(`/v1/runs/${run}/envelopes`, { agent: 'a', payload: { facts: { a: BEFORE } } })
      assert.is(handed?.status, 201, handed?.text)
    }
    await place.alter()
    const read = clients.flatMap((client) => RUNS.map((run) => client.get(`/v1/runs/${run}/events`)))
    for (const answer of await Promise.all(read))
      assert.match(answer.text, /"seal":"invalid"|stream-damaged/, answer.text)

    const broken = RUNS.map((run) => runStream(TENANT, run))
    for (const [index, server] of ledgers.servers.entries()) {
      const found = (stream: string): boolean =>
        server.output
          .split('\n')
          .some((line) => line.includes(`"stream":"${stream}"`) && line.includes('was sealed for'))
      await eventually(() => (broken.every(found) ? true : undefined), `process ${index} met each of them`)
      const listed = async () => {
        const items = (await clients[index]?.get('/v1/integrity'))?.body.items as readonly object[] | undefined
        return items?.length === RUNS.length ? true : undefined
      }
      await eventually(listed, `process ${index} lists each of them once`)
    }
    // What one of them is still about to record, it records before it ends.
    for (const server of ledgers.servers) assert.is((await server.stop()).code, 0, server.stderr)
    await using store = await place.open()
    assert.equal(await onRecord(store, TENANT), broken)
  })
}

test('a write that hangs on PostgreSQL, and holds up every list, has no fault put on record twice (LOG-24, F251)', async () => {
  const url = await newPostgresUrl()
  const open = async () => alteredStore(await openPostgresStore({ url, timings: { writersMs: 20 } }))
  const [here, there] = [await open(), await open()]
  await using one = await testLedger({ store: here.store })
  await using two = await testLedger({ store: there.store, keys: one.keys.current() })
  const run = drive(one, 'r')
  await run.start()
  ok(await run.hand('ann', { facts: { total: BEFORE } }))
  await two.ledger.listRuns(alice, { limit: 1 })

  await using other = await owner(url)
  await writeOpen(other, url, 'run-other.held')
  for (const { alter } of [here, there]) alter(withOtherBody(runStream(alice.tenant, 'r'), 1, [BEFORE, AFTER]))
  for (const { ledger } of [one, two]) {
    const events = await ledger.runEvents(alice, 'r', { from: 0 })
    // Who has no state of the run meets it while it makes one.
    if (events.ok) for await (const _ of events.value);
    else assert.is(events.refusal.code, 'stream-damaged')
    await ledger.integrity.settled()
  }
  assert.equal(await onRecord(one.store, alice.tenant), [runStream(alice.tenant, 'r')])
  await other.query('ROLLBACK')
  await two.ledger.integrity.scrub()
  assert.equal(await onRecord(one.store, alice.tenant), [runStream(alice.tenant, 'r')])
})

test.run()
