import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { type EventStore, NO_STREAM } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { type NodeCluster, startCluster, startNode } from '../support/eventstoredb-node.ts'
import { appendOf, collect, headerId } from '../support/records.ts'
import { eventually } from '../support/within.ts'

const test = suite('eventstoredb store: a cluster, and a server that others use too')

function open(url: string, timings = {}): Promise<EventStore> {
  return openEventStoreDbStore({ url, canonical: canonicalJson, timings: { openMs: 10_000, ...timings } })
}

/** Ways to name a cluster: its leader last, so that the first node named is a follower. */
const URLS: readonly (readonly [string, (at: NodeCluster) => string])[] = [
  ['one follower', ({ nodes }) => nodes[1]?.url ?? ''],
  ['every node', ({ nodes }) => `esdb://${hosts(nodes.toReversed())}?tls=false`],
  ['every node, followers first', ({ nodes }) => `esdb://${hosts(nodes)}?tls=false&nodePreference=follower`],
  ['discovery', ({ nodes }) => `esdb+discover://127.0.0.1:${nodes[2]?.port}?tls=false`],
]

function hosts(nodes: readonly { readonly port: number }[]): string {
  return nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')
}

for (const [how, urlOf] of URLS) {
  test(`named by ${how}, it is written and read at the leader, before and after the lead goes to another node (F23)`, async () => {
    await using at = await startCluster(3)
    await using store = await open(urlOf(at))
    const stream = 'run-acme.r1'
    for (let revision = 0; revision < 6; revision += 1) {
      if (revision % 2 === 0) at.cluster.leader = at.nodes[revision / 2]?.port
      const result = await patiently(() => store.append(appendOf(stream, revision - 1)))
      assert.is(result.kind, 'appended', JSON.stringify(result))
      assert.is(await store.head(stream), revision)
    }
    assert.is((await collect(store.readAll())).length, 6)
    assert.is(store.status().state, 'ready')
  })
}

test('every read, append and subscription asks for the leader: no follower that lags behind ever answers (F23)', async () => {
  await using at = await startCluster(1)
  await using store = await open(at.nodes[0]?.url ?? '')
  const stream = 'run-acme.r1'
  const result = await store.append(appendOf(stream, NO_STREAM, 3))
  await store.append(appendOf(stream, NO_STREAM))
  await store.head(stream)
  await store.end()
  await store.recordAt(result.kind === 'appended' ? result.position : '')
  await store.findRequest(stream, 'x')
  await collect(store.readStream(stream))
  await collect(store.readStream(stream, { direction: 'backwards' }))
  await collect(store.readAll())
  await collect(store.readAll({ tenant: 'acme' }))
  const stop = new AbortController()
  for await (const page of store.subscribe({}, stop.signal)) if (page === 'caught-up') stop.abort()
  assert.ok((at.nodes[0]?.reads ?? 0) > 8)
  assert.is(at.cluster.contentWithAny, 0)
})

/** As whoever is told "later" asks again. */
function patiently(append: () => ReturnType<EventStore['append']>): ReturnType<EventStore['append']> {
  return eventually(async () => {
    const result = await append()
    return result.kind === 'unavailable' ? undefined : result
  }, 'an append that is taken')
}

/** Others are on their way when the lead goes elsewhere. */
const APPENDS_A_TURN = 30

test('while the lead changes again and again, no append of many streams is lost, doubled or out of place (F23)', async () => {
  await using at = await startCluster(3)
  await using store = await open(`esdb://${hosts(at.nodes)}?tls=false`, { settleMs: 30_000 })
  let turns = 0
  let appended = 0
  const turn = (): void => {
    appended += 1
    if (appended % APPENDS_A_TURN !== 0) return
    turns += 1
    at.cluster.leader = at.nodes[turns % 3]?.port
  }
  const written = new Map<string, string[]>()
  const write = async (stream: string): Promise<void> => {
    const ids: string[] = []
    written.set(stream, ids)
    for (let revision = 0; revision < 30; revision += 1) {
      const append = appendOf(stream, revision - 1)
      const result = await patiently(() => store.append(append))
      assert.is(result.kind, 'appended', JSON.stringify(result))
      ids.push(append.records[0]?.id ?? '')
      turn()
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, index) => write(`run-acme.r${index}`)))
  assert.ok(turns > 2)
  for (const [stream, ids] of written) assert.equal((await collect(store.readStream(stream))).map(headerId), ids)
})

test('a reader that the server drops for being slow reads again, and disturbs no append under way', async () => {
  await using node = await startNode()
  await using store = await open(node.url)
  await store.append(appendOf('run-acme.r1', NO_STREAM, 3))
  const states: string[] = []
  store.onStatus(({ state }) => states.push(state))
  let drops = 2
  node.faults.onRead = () => {
    drops -= 1
    return drops < 0 ? undefined : 'too-slow'
  }
  node.faults.delayMs = 20
  const under = store.append(appendOf('run-acme.r2', NO_STREAM))
  assert.is((await collect(store.readStream('run-acme.r1'))).length, 3)
  assert.is((await under).kind, 'appended')
  assert.is(node.appends, 2, 'no append was sent again')
  assert.equal(states, [])
})

test('a cursor that lies between two records names no event, and is no outage', async () => {
  await using node = await startNode()
  await using store = await open(node.url)
  await store.append(appendOf('run-acme.r1', NO_STREAM))
  let asked = 0
  node.faults.onRead = ({ kind }) => {
    if (kind !== 'forwards') return undefined
    asked += 1
    return asked === 1 ? 'unknown' : undefined
  }
  assert.is(await store.recordAt('513/513'), undefined)
  assert.is(store.status().state, 'ready')
  assert.is((await store.recordAt((await store.end()) ?? ''))?.revision, 0)
})

test('what others wrote behind the ledger’s last event is looked at once, however often the end is requested', async () => {
  await using node = await startNode()
  await using store = await open(node.url)
  const last = await store.append(appendOf('run-acme.r1', NO_STREAM))
  const client = EventStoreDBClient.connectionString(node.url)
  const noted = Array.from({ length: 2_000 }, () => jsonEvent({ type: 'Noted', data: {} }))
  for (let turn = 0; turn < 3; turn += 1) await client.appendToStream('orders-1', noted)
  const position = last.kind === 'appended' ? last.position : ''
  assert.is(await store.end(), position)
  const before = node.reads
  for (let turn = 0; turn < 10; turn += 1) assert.is(await store.end(), position)
  assert.is(node.reads - before, 10, 'one look each')

  await client.appendToStream('orders-1', noted)
  const next = await store.append(appendOf('run-acme.r1', 0))
  assert.is(await store.end(), next.kind === 'appended' ? next.position : '')
  assert.is((await collect(store.readAll({ after: position }))).length, 1)
  await client.dispose()
})

/** What no ledger writes, under the name of a run: bytes that are no JSON though they say so, JSON that cannot be printed again, and others. */
const PLANTED: readonly (readonly [string, string, string])[] = [
  ['no JSON', 'application/json', '{"cut'],
  ['deeper than can be printed', 'application/json', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
  ['bytes', 'application/octet-stream', '\u0000\u0001'],
  ['null', 'application/json', 'null'],
  ['half a surrogate pair', 'application/json', '{"a":"\\ud800"}'],
  ['a number without end', 'application/json', '1e999'],
]

for (const [what, contentType, text] of PLANTED) {
  test(`an event of others under a run’s name, ${what}, is read as a record and stops nobody`, async () => {
    await using node = await startNode()
    await using store = await open(node.url)
    await store.append(appendOf('run-acme.r1', NO_STREAM))
    const bytes = Uint8Array.from(Buffer.from(text))
    const id = crypto.randomUUID()
    node.log.append('run-acme.planted', 'any', [{ id, type: 'Noted', contentType, data: bytes, metadata: bytes }])
    await store.append(appendOf('run-acme.r1', 0))
    const all = await collect(store.readAll())
    assert.equal(
      all.map(({ stream }) => stream),
      ['run-acme.r1', 'run-acme.planted', 'run-acme.r1'],
    )
    assert.is((await collect(store.readStream('run-acme.planted'))).length, 1)
    assert.is((await store.recordAt(all[1]?.position ?? ''))?.stream, 'run-acme.planted')
    assert.is(store.status().state, 'ready')
  })
}

test.run()
