import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { type EventStore, NO_STREAM, StoreOpenError } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { type EventStoreNode, startNode } from '../support/eventstoredb-node.ts'
import { appendOf, collect } from '../support/records.ts'

const test = suite('eventstoredb store: what the server may forget')
const STREAM = 'run-acme.r1'

function open(node: EventStoreNode): Promise<EventStore> {
  return openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
}

/** A node with a run of three events, and a client of its operator. */
async function withHistory(use: (node: EventStoreNode, client: EventStoreDBClient) => Promise<void>): Promise<void> {
  await using node = await startNode()
  const store = await open(node)
  await store.append(appendOf(STREAM, NO_STREAM, 3))
  await store[Symbol.asyncDispose]()
  const client = EventStoreDBClient.connectionString(node.url)
  await use(node, client)
  await client.dispose()
}

async function refusal(node: EventStoreNode): Promise<string> {
  try {
    await (await open(node))[Symbol.asyncDispose]()
    return ''
  } catch (error) {
    assert.ok(error instanceof StoreOpenError && error.code === 'store-unsupported')
    return error.message
  }
}

const RETENTIONS: readonly (readonly [string, (client: EventStoreDBClient) => Promise<unknown>])[] = [
  ['$maxCount', (client) => client.setStreamMetadata(STREAM, { maxCount: 2 })],
  ['$maxAge', (client) => client.setStreamMetadata(STREAM, { maxAge: 3_600 })],
  ['$tb', (client) => client.setStreamMetadata(STREAM, { truncateBefore: 1 })],
  ['$tb', (client) => client.deleteStream(STREAM)],
  ['deleted for good', (client) => client.tombstoneStream(STREAM)],
]

for (const [index, [what, set]] of RETENTIONS.entries()) {
  test(`a store whose streams lose events by ${what} is refused at the start, by name (${index}) (STR-27)`, async () => {
    await withHistory(async (node, client) => {
      assert.is(await refusal(node), '')
      await set(client)
      const message = await refusal(node)
      assert.ok(message.includes(STREAM) && message.includes(what), message)
    })
  })
}

test('a limit that was set behind thousands of events of others, which take longer to look through than a silence may last, is found', async () => {
  await withHistory(async (node, client) => {
    const others = Array.from({ length: 3_000 }, () => jsonEvent({ type: 'Ordered', data: {} }))
    await client.appendToStream('orders-1', others)
    await client.setStreamMetadata(STREAM, { maxCount: 2 })
    // Each event that the node looks at takes a turn of its timers: longer than a second in all.
    node.faults.delayMs = 0.5
    assert.match(await refusal(node), /\$maxCount/)
  })
})

test('limits on streams of others, and ones that were taken back, are nobody’s trouble', async () => {
  await withHistory(async (node, client) => {
    await client.appendToStream('orders-1', jsonEvent({ type: 'Ordered', data: {} }))
    await client.setStreamMetadata('orders-1', { maxCount: 1 })
    await client.deleteStream('orders-1')
    await client.setStreamMetadata(STREAM, { maxCount: 1 })
    await client.setStreamMetadata(STREAM, {})
    assert.is(await refusal(node), '')
  })
})

test('streams of others on the same server are neither read nor followed', async () => {
  await withHistory(async (node, client) => {
    for (let index = 0; index < 100; index += 1)
      await client.appendToStream('orders-1', jsonEvent({ type: 'Ordered', data: {} }))
    await using store = await open(node)
    const all = await collect(store.readAll())
    assert.equal(
      all.map(({ stream }) => stream),
      [STREAM, STREAM, STREAM],
    )
    assert.is(await store.end(), all.at(-1)?.position)
    for await (const step of store.subscribe({ after: all[2]?.position }, AbortSignal.timeout(5_000))) {
      assert.is(step, 'caught-up')
      break
    }
  })
})

test('a ledger’s few events are found among thousands of others, which may go on for longer than a deadline', async () => {
  await withHistory(async (node, client) => {
    const others = Array.from({ length: 800 }, () => jsonEvent({ type: 'Ordered', data: {} }))
    for (let turn = 0; turn < 4; turn += 1) await client.appendToStream('orders-1', others)
    const timings = { callMs: 2_000 }
    await using store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson, timings })
    await store.append(appendOf(STREAM, 2))
    // The node looks through 3,200 events in as many turns of the event loop, some of which take a while.
    node.faults.delayMs = 0.2
    const all = await collect(store.readAll())
    assert.is(all.length, 4)
  })
})

test('after a deletion under its feet the store reports a stream that does not begin at its beginning', async () => {
  await withHistory(async (node, client) => {
    await using store = await open(node)
    await client.deleteStream(STREAM)
    assert.is(await store.head(STREAM), NO_STREAM)
    const result = await store.append(appendOf(STREAM, NO_STREAM))
    assert.is(result.kind, 'unknown')
    assert.is(store.status().state, 'failed')
  })
})

test.run()
