import { setTimeout as sleep } from 'node:timers/promises'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import {
  type AppendResult,
  type EventStore,
  NO_STREAM,
  StoreOpenError,
  StoreUnavailableError,
} from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import type { Timings } from '../../src/store/eventstoredb/timings.ts'
import type { AppendFault } from '../support/eventstoredb/faults.ts'
import { type EventStoreNode, startNode } from '../support/eventstoredb-node.ts'
import { appendOf, collect, headerId } from '../support/records.ts'
import { eventually, within } from '../support/within.ts'
import { failure } from './contract.ts'

const test = suite('eventstoredb store: faults')

const FAST: Timings = {
  callMs: 800,
  settleMs: 4_000,
  graceMs: 100,
  probeMs: 20,
  probeCallMs: 200,
  openMs: 1_000,
  pollMs: 500,
}
const STREAM = 'run-acme.r1'

interface Opened extends AsyncDisposable {
  readonly node: EventStoreNode
  readonly store: EventStore
}

async function setUp(timings: Partial<Timings> = {}): Promise<Opened> {
  const node = await startNode()
  const store = await open(node, timings)
  return {
    node,
    store,
    [Symbol.asyncDispose]: async () => {
      node.faults.clear()
      await store[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

function open(node: EventStoreNode, timings: Partial<Timings> = {}): Promise<EventStore> {
  return openEventStoreDbStore({ url: node.url, canonical: canonicalJson, timings: { ...FAST, ...timings } })
}

/** A fault for the next append, none after it. */
function once(node: EventStoreNode, fault: AppendFault): void {
  node.faults.onAppend = () => {
    node.faults.onAppend = () => undefined
    return fault
  }
}

async function revisionsOf(store: EventStore): Promise<readonly number[]> {
  return (await collect(store.readStream(STREAM))).map(({ revision }) => revision)
}

for (const fault of ['unavailable', 'not-ready', 'lose-request', 'lose-answer', 'cut', 'write-and-cut'] as const) {
  test(`an append whose answer is "${fault}" is written once and answered as written (F21)`, async () => {
    await using opened = await setUp()
    const { node, store } = opened
    await store.append(appendOf(STREAM, NO_STREAM, 2))
    once(node, fault)
    const append = appendOf(STREAM, 1, 3)
    const result = await store.append(append)
    assert.is(result.kind, 'appended')
    const read = await collect(store.readStream(STREAM))
    assert.equal(
      read.slice(2).map(headerId),
      append.records.map(({ id }) => id),
    )
    assert.is(read.length, 5)
    assert.equal(result, { kind: 'appended', revision: 4, position: read[4]?.position })
    assert.is((await store.append(appendOf(STREAM, 4))).kind, 'appended')
  })
}

test('an event is missing only where the server says so more than once (F360, STR-67)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  const appended = await store.append(appendOf(STREAM, NO_STREAM))
  assert.ok(appended.kind === 'appended')
  let asked = 0
  node.faults.onRead = ({ kind }) => {
    asked += kind === 'forwards' ? 1 : 0
    return kind === 'forwards' && asked <= 2 ? 'unknown' : undefined
  }
  assert.is((await store.recordAt(appended.position))?.revision, 0)
  node.faults.onRead = ({ kind }) => (kind === 'forwards' ? 'unknown' : undefined)
  assert.is(await store.recordAt(appended.position), undefined)
  node.faults.onRead = ({ kind }) => (kind === 'forwards' ? 'internal' : undefined)
  const error = await store.recordAt(appended.position).catch((thrown: unknown) => thrown)
  assert.instance(error, StoreUnavailableError)
})

test('a read of all events that the server ends in order before its end is no whole one (F361, STR-67)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  for (let revision = 0; revision < 3; revision += 1)
    assert.is((await store.append(appendOf(STREAM, revision === 0 ? NO_STREAM : revision - 1))).kind, 'appended')
  let cut = 0
  node.faults.onRead = ({ kind }) => {
    if (kind !== 'subscription' || cut > 0) return undefined
    cut += 1
    return 'ended'
  }
  const read = async (): Promise<number | 'unavailable'> => {
    try {
      let records = 0
      for await (const page of store.readAll()) records += page.filter(({ stream }) => stream === STREAM).length
      return records
    } catch (error) {
      assert.instance(error, StoreUnavailableError)
      return 'unavailable'
    }
  }
  const first = await read()
  assert.is(cut, 1)
  assert.ok(first === 3 || first === 'unavailable', String(first))
  assert.is(await read(), 3)
})

test('an append is not late by the server’s clock because this machine’s is behind it', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  let aheadMs = 0
  node.faults.onAppend = ({ deadline }) => {
    aheadMs = (deadline?.getTime() ?? 0) - Date.now()
    return undefined
  }
  assert.is((await store.append(appendOf(STREAM, NO_STREAM))).kind, 'appended')
  assert.ok(aheadMs > 30 * 60_000, `${aheadMs} ms`)
})

test('a lost answer whose place another process took is a conflict, never a success (F21, STR-19)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  await store.append(appendOf(STREAM, NO_STREAM))
  const client = EventStoreDBClient.connectionString(node.url)
  let foreign: Promise<unknown> | undefined
  node.faults.onAppend = () => {
    node.faults.onAppend = () => undefined
    foreign = client.appendToStream(STREAM, jsonEvent({ type: 'Foreign', data: {} }), { expectedRevision: 0n })
    return 'lose-request'
  }
  assert.equal(await store.append(appendOf(STREAM, 0, 2)), { kind: 'conflict', actual: 1 })
  await foreign
  assert.equal(await revisionsOf(store), [0, 1])
  await client.dispose()
})

test('two sealings under one id: the server says yes to both, the store only to the one whose header is there', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  const append = appendOf(STREAM, NO_STREAM)
  const [record] = append.records
  if (record === undefined) throw new Error('the append has one record')
  const forged = { ...append, records: [{ ...record, header: record.header.replace('"v":1', '"v":2') }] }
  assert.is((await store.append(append)).kind, 'appended')
  once(node, 'lose-answer')
  assert.equal(await store.append(forged), { kind: 'conflict', actual: 0 })
  assert.is((await collect(store.readStream(STREAM)))[0]?.header, record.header)
})

test('when the answer of one append is lost and its place is taken, the append built on it conflicts too', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  await store.append(appendOf(STREAM, NO_STREAM))
  const client = EventStoreDBClient.connectionString(node.url)
  node.faults.onAppend = () => {
    node.faults.onAppend = () => undefined
    void client.appendToStream(STREAM, jsonEvent({ type: 'Foreign', data: {} }), { expectedRevision: 0n })
    return 'lose-request'
  }
  const results = await Promise.all([store.append(appendOf(STREAM, 0)), store.append(appendOf(STREAM, 1))])
  assert.equal(
    results.map(({ kind }) => kind),
    ['conflict', 'conflict'],
  )
  assert.equal(await revisionsOf(store), [0, 1])
  await client.dispose()
})

test('while the node is down appends and reads are refused at once with a time to ask again, and nothing waits (F21)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  await store.append(appendOf(STREAM, NO_STREAM))
  const states: string[] = []
  store.onStatus(({ state }) => states.push(state))
  await node.stop()

  assert.is((await store.append(appendOf(STREAM, 0))).kind, 'unknown')
  assert.is(store.status().state, 'unavailable')
  await atOnce(async () => {
    assert.ok(isRefusedForNow(await store.append(appendOf(STREAM, 0))))
    assert.instance(await failure(store.head(STREAM)), StoreUnavailableError)
    assert.instance(await failure(collect(store.readAll())), StoreUnavailableError)
  })

  await node.start()
  await eventually(() => store.status().state === 'ready' || undefined, 'the end of the outage')
  assert.is((await store.append(appendOf(STREAM, 0))).kind, 'appended')
  assert.equal(states, ['unavailable', 'ready'])
  assert.equal(await revisionsOf(store), [0, 1])
})

/** Nobody waits for a node that is known to be down: asked so often, one after the other, a deadline each would take twice as long. */
async function atOnce(ask: () => Promise<void>): Promise<void> {
  const times = 50
  const startedMs = performance.now()
  for (let time = 0; time < times; time += 1) await ask()
  assert.ok(performance.now() - startedMs < (times * FAST.callMs) / 2)
}

function isRefusedForNow(result: AppendResult): boolean {
  return result.kind === 'unavailable' && result.retryAfterMs > 0
}

test('what was under way when the node died is either there once or was never acknowledged (F21)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  // What is there is read without hurry, however busy the machine is.
  await using patient = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  for (let round = 0; round < 3; round += 1) {
    const streams = Array.from({ length: 64 }, (_, index) => `run-acme.round${round}-${index}`)
    node.faults.onAppend = ({ ids }) => (ids.some((id) => id.endsWith('0')) ? 'write-and-cut' : undefined)
    const under = streams.map((stream) => store.append(appendOf(stream, NO_STREAM, 2)))
    await sleep(round)
    await node.stop()
    node.faults.clear()
    await node.start()
    const results = await Promise.all(under)
    for (const [index, stream] of streams.entries()) {
      const written = (await collect(patient.readStream(stream))).length
      assert.ok(written === 0 || written === 2, 'all or nothing')
      if (results[index]?.kind === 'appended') assert.is(written, 2)
    }
  }
})

test('a start on a node that comes up late waits for it; on one that stays away it says so (F21)', async () => {
  await using node = await startNode()
  const { url } = node
  await node.stop()
  const options = { url, canonical: canonicalJson, timings: { ...FAST, openMs: 3_000 } }
  const opening = openEventStoreDbStore(options)
  await sleep(300)
  await node.start()
  await using store = await opening
  assert.is(await store.end(), undefined)

  await node.stop()
  const error = await failure(openEventStoreDbStore({ ...options, timings: { ...FAST, openMs: 200 } }))
  assert.ok(error instanceof StoreOpenError && error.code === 'store-away')
})

test('a frozen node costs one deadline, then nobody waits for it; thawed, it serves again (F22)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  await store.append(appendOf(STREAM, NO_STREAM))
  node.faults.freeze()
  const first = await within(store.append(appendOf(STREAM, 0)), 'an append to a frozen node')
  assert.is(first.kind, 'unknown')
  await atOnce(async () => {
    assert.ok(isRefusedForNow(await store.append(appendOf(STREAM, 0))))
    assert.instance(await failure(store.head(STREAM)), StoreUnavailableError)
  })

  node.faults.thaw()
  await eventually(() => store.status().state === 'ready' || undefined, 'the end of the outage')
  const { length } = await revisionsOf(store)
  assert.is((await store.append(appendOf(STREAM, length - 1))).kind, 'appended')
})

test('a slow node is waited for within the deadline (F22)', async () => {
  await using opened = await setUp({ callMs: 30_000 })
  const { node, store } = opened
  node.faults.delayMs = 100
  assert.is((await store.append(appendOf(STREAM, NO_STREAM))).kind, 'appended')
  assert.is(await store.head(STREAM), 0)
})

test('through reset connections reads answer and a subscriber misses nothing and sees nothing twice (F22)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  const stop = new AbortController()
  const seen: number[] = []
  const following = (async () => {
    for await (const step of store.subscribe({}, stop.signal)) {
      if (step !== 'caught-up') seen.push(...step.map(({ revision }) => revision))
      if (seen.length >= 200) stop.abort()
    }
  })()
  for (let revision = 0; revision < 200; revision += 1) {
    if (revision % 80 === 20) node.cut()
    const result = await store.append(appendOf(STREAM, revision - 1))
    assert.is(result.kind, 'appended')
  }
  await within(following, 'the subscriber')
  assert.equal(
    seen,
    Array.from({ length: 200 }, (_, revision) => revision),
  )
})

test('a subscriber waits through an outage and reads on from where it was (F22)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  await store.append(appendOf(STREAM, NO_STREAM, 3))
  const stop = new AbortController()
  const seen: number[] = []
  const following = (async () => {
    for await (const step of store.subscribe({}, stop.signal)) {
      if (step !== 'caught-up') seen.push(...step.map(({ revision }) => revision))
      if (seen.length === 5) stop.abort()
    }
  })()
  await eventually(() => seen.length === 3 || undefined, 'the history')
  await node.stop()
  await sleep(100)
  await node.start()
  await eventually(
    async () => (await store.append(appendOf(STREAM, 2, 2))).kind === 'appended' || undefined,
    'the return',
  )
  await within(following, 'the subscriber')
  assert.equal(seen, [0, 1, 2, 3, 4])
})

test('a node that has forgotten every event id takes a repeated append once all the same (F23)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  await store.append(appendOf(STREAM, NO_STREAM))
  const restart = async (): Promise<void> => {
    await node.stop()
    await node.start()
  }
  for (const forgetful of [() => node.log.forgetIds(), restart]) {
    const before = await store.head(STREAM)
    node.faults.onAppend = () => {
      node.faults.onAppend = () => undefined
      setTimeout(forgetful, 1)
      return 'lose-answer'
    }
    const append = appendOf(STREAM, before, 2)
    assert.is((await store.append(append)).kind, 'appended')
    node.log.forgetIds()
    assert.is(await store.head(STREAM), before + 2)
  }
})

test('a store over the bound on waiting appends refuses more instead of growing (F22)', async () => {
  await using opened = await setUp()
  const { node, store } = opened
  node.faults.freeze()
  const waiting = Array.from({ length: 10_200 }, (_, index) =>
    store.append(appendOf(`run-acme.r${index % 50}`, NO_STREAM)),
  )
  const refused = await Promise.all(waiting.slice(10_000))
  assert.ok(refused.every(isRefusedForNow))
  node.faults.thaw()
  await Promise.all(waiting)
})

test.run()
