import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { NO_STREAM, type ReadRecord } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { appendOf } from '../support/records.ts'
import { within } from '../support/within.ts'

const test = suite('eventstoredb: what wakes a reader')

const READERS = 3
const EVENTS = 30

type Tail = AsyncIterator<readonly ReadRecord[] | 'caught-up'>

/** Reads on until the event with this stream is there. */
async function untilSeen(tail: Tail, stream: string): Promise<void> {
  for (;;) {
    const { value, done } = await within(tail.next(), `the event of ${stream}`)
    if (done === true) throw new Error('the tail has ended')
    if (Array.isArray(value) && value.some((record) => record.stream === stream)) return
  }
}

test('what wakes tails holds no event, one look for the end serves all of them, and each is sent what it reads (F147)', async () => {
  await using node = await startNode()
  // The look every so often never comes.
  const timings = { pollMs: 3_600_000 }
  await using store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson, timings })
  await using other = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  await store.append(appendOf('run-acme.first', NO_STREAM))
  const stop = new AbortController()
  const tails = Array.from({ length: READERS }, () => store.subscribe({}, stop.signal)[Symbol.asyncIterator]())
  for (const tail of tails) await untilSeen(tail, 'run-acme.first')
  const before = { ...node.sent }
  for (let event = 0; event < EVENTS; event += 1) {
    const stream = `run-acme.r${event}`
    await other.append(appendOf(stream, NO_STREAM))
    await Promise.all(tails.map((tail) => untilSeen(tail, stream)))
  }
  const sent = {
    subscription: node.sent.subscription - before.subscription,
    backwards: node.sent.backwards - before.backwards,
  }
  stop.abort()
  // A tail that has what it wanted may be sent the next event before the server hears that it left.
  assert.ok(sent.subscription <= 2 * READERS * EVENTS, `${sent.subscription} events for ${READERS} tails`)
  assert.ok(sent.backwards <= 4 * EVENTS, `${sent.backwards} events of looks for the end`)
})

test('where nobody follows a store, the server tells it of no event; whoever comes then is woken, and by the events of others (F240)', async () => {
  await using node = await startNode()
  const timings = { pollMs: 3_600_000 }
  await using store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson, timings })
  await using other = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  for (let event = 0; event < EVENTS; event += 1) await other.append(appendOf(`run-acme.r${event}`, NO_STREAM))
  assert.is(node.sent.checkpoints, 0)

  for (const name of ['once', 'again']) {
    const stop = new AbortController()
    const tail = store.subscribe({}, stop.signal)[Symbol.asyncIterator]()
    await untilSeen(tail, `run-acme.r${EVENTS - 1}`)
    const next = untilSeen(tail, `run-acme.${name}`)
    await other.append(appendOf(`run-acme.${name}`, NO_STREAM))
    await next
    stop.abort()
    await tail.return?.()
  }
})

test.run()
