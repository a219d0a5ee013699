import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { type EventStore, NO_STREAM, StoreOpenError, StreamDeletedError } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { type EventStoreNode, startNode } from '../support/eventstoredb-node.ts'
import { appendOf, collect } from '../support/records.ts'
import { eventually } from '../support/within.ts'
import { failure } from './contract.ts'

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
  ['deleted', (client) => client.deleteStream(STREAM)],
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

const OTHER = 'run-acme.r2'
const forgottenBy = (store: EventStore): readonly string[] =>
  (store.status().forgetting ?? []).map(({ stream, why }) => `${stream}: ${why}`)

async function reported(store: EventStore, text: string): Promise<void> {
  await eventually(async () => forgottenBy(store).join().includes(text) || undefined, `the report of ${text}`)
}

for (const [what, set] of RETENTIONS.slice(0, 3)) {
  test(`${what} that is set while the store is open is reported by name, and no longer when it is taken back (F126)`, async () => {
    await withHistory(async (node, client) => {
      await using store = await open(node)
      await set(client)
      await reported(store, `${STREAM}: ${what}`)
      assert.is(store.status().state, 'ready')
      await client.setStreamMetadata(STREAM, {})
      await eventually(async () => forgottenBy(store).length === 0 || undefined, 'the end of the report')
    })
  })
}

test('what was set while the node was away is found when it is back (F126)', async () => {
  await withHistory(async (node, client) => {
    const timings = { probeMs: 20, probeCallMs: 200 }
    await using store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson, timings })
    await eventually(async () => node.reads > 3 || undefined, 'the watch')
    await node.stop()
    await node.start()
    await client
      .setStreamMetadata(STREAM, { maxCount: 2 })
      .catch(() => client.setStreamMetadata(STREAM, { maxCount: 2 }))
    await reported(store, '$maxCount 2')
  })
})

test('a run that is deleted under the store is reported and refused, never begun anew; other runs are written on (F126)', async () => {
  await withHistory(async (node, client) => {
    await using store = await open(node)
    await client.deleteStream(STREAM)
    await reported(store, STREAM)
    assert.instance(await failure(store.head(STREAM)), StreamDeletedError)
    assert.instance(await failure(collect(store.readStream(STREAM))), StreamDeletedError)
    for (const revision of [NO_STREAM, 2])
      assert.is((await store.append(appendOf(STREAM, revision))).kind, 'unavailable')
    assert.is((await store.append(appendOf(OTHER, NO_STREAM))).kind, 'appended')
    assert.is((await collect(store.readAll())).length, 4)

    await client.setStreamMetadata(STREAM, {})
    await eventually(async () => forgottenBy(store).length === 0 || undefined, 'the end of the report')
    assert.is((await store.append(appendOf(STREAM, 2))).kind, 'appended')
  })
})

test('an append that meets a deletion before it was heard of leaves no second one behind, and other runs are written on (F126)', async () => {
  await withHistory(async (node, client) => {
    await using store = await open(node)
    const deletion = client.deleteStream(STREAM)
    node.faults.onAppend = () => {
      node.faults.onAppend = () => undefined
      node.log.softDelete(STREAM)
      return undefined
    }
    const result = await store.append(appendOf(STREAM, NO_STREAM))
    await deletion
    assert.ok(result.kind === 'unknown' || result.kind === 'unavailable', result.kind)
    assert.is((await store.append(appendOf(STREAM, NO_STREAM))).kind, 'unavailable')
    assert.is(store.status().state, 'ready')
    assert.is((await store.append(appendOf(OTHER, NO_STREAM))).kind, 'appended')
  })
})

test('a run that is deleted for good, before the start or after it, stops nobody else; the scavenge neither (F126)', async () => {
  await withHistory(async (node, client) => {
    await using before = await open(node)
    await client.tombstoneStream(STREAM)
    await reported(before, `${STREAM}: deleted for good`)
    await using after = await open(node)
    for (const [index, store] of [before, after].entries()) {
      assert.equal(forgottenBy(store), [`${STREAM}: deleted for good`])
      assert.instance(await failure(store.head(STREAM)), StreamDeletedError)
      assert.is((await store.append(appendOf(STREAM, 2))).kind, 'unavailable')
      assert.is((await store.append(appendOf(`run-other.r${index}`, NO_STREAM))).kind, 'appended')
    }
    assert.equal(
      (await collect(after.readAll())).map(({ stream }) => stream),
      [STREAM, STREAM, STREAM, 'run-other.r0', 'run-other.r1'],
    )
    node.log.scavenge()
    assert.ok((await collect(after.readAll())).every(({ header }) => header !== 'null'))
    assert.is((await after.append(appendOf('run-other.r9', NO_STREAM))).kind, 'appended')
  })
})

test('the ledger’s own stream deleted for good refuses the start: only a backup helps (F126)', async () => {
  await withHistory(async (node, client) => {
    const store = await open(node)
    await store.append(appendOf('ledger-system', NO_STREAM))
    await store[Symbol.asyncDispose]()
    await client.tombstoneStream('ledger-system')
    assert.match(await refusal(node), /ledger-system \(deleted for good\).*backup of the server/)
  })
})

test.run()
