import { EventStoreDBClient, type RecordedEvent } from '@eventstore/db-client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../../src/signing/canonical-json.ts'
import { sealEvents } from '../../../src/signing/seal.ts'
import { NO_STREAM } from '../../../src/store/event-store.ts'
import { differingCopies, toEvents, toRecord } from '../../../src/store/eventstoredb/event-form.ts'
import { appendOverCall } from '../../../src/store/eventstoredb/wire/append-calls.ts'
import { sealContext, testRing } from '../../signing/fixtures.ts'
import { startNode } from '../../support/eventstoredb-node.ts'
import { record } from '../../support/records.ts'

const test = suite('a record as an event of EventStoreDB')
const STREAM = 'run-acme.r1'
const CAUSE = '01900000-0000-7000-8000-000000000001'

function sealed(data: string): ReturnType<typeof record> {
  const made = record({ data, requestId: 'request-1' })
  const header = canonicalJson({ causation: CAUSE, id: made.id, request: { id: 'request-1' }, type: made.type, v: 1 })
  return { ...made, header }
}

/** What comes back of what was sent: the client parses data and metadata. */
function recorded(event: ReturnType<typeof toEvents>[number]): RecordedEvent {
  const metadata = JSON.parse(event.metadata)
  const data = JSON.parse(event.data)
  const place = {
    streamId: STREAM,
    revision: 0n,
    isJson: true,
    created: new Date(0),
    position: { commit: 7n, prepare: 7n },
  }
  return { ...place, id: event.id, type: event.type, data, metadata } as unknown as RecordedEvent
}

test('integer-like keys come back in the order that was signed', () => {
  const data = canonicalJson({ b: 1, 10: 'x', 9: 'y', é: [{ 2: 0, 1: 0, a: 0.1 }] })
  const record = sealed(data)
  const [event] = toEvents({ stream: STREAM, expectedRevision: NO_STREAM, records: [record] })
  if (event === undefined) throw new Error('one record is one event')
  const read = toRecord(recorded(event), canonicalJson)
  assert.is(read.data, data)
  assert.is(read.header, record.header)
  assert.equal(read.salt, record.salt)
  assert.is(read.requestId, 'request-1')
  assert.is(read.position, '7/7')
})

test('the metadata tells the server’s own tools which run it is and what caused it', () => {
  const [event] = toEvents({ stream: STREAM, expectedRevision: NO_STREAM, records: [sealed('{}')] })
  if (event === undefined) throw new Error('one record is one event')
  const back = recorded(event)
  const { $correlationId, $causationId } = back.metadata as Record<string, unknown>
  assert.is($correlationId, 'r1')
  assert.is($causationId, CAUSE)
  assert.equal(differingCopies(back), [])
})

test('an attacker who changes a copy beside the header is seen (STR-25)', () => {
  const [event] = toEvents({ stream: STREAM, expectedRevision: NO_STREAM, records: [sealed('{}')] })
  if (event === undefined) throw new Error('one record is one event')
  const back = recorded(event)
  const metadata = back.metadata as Record<string, unknown>
  const changed = (metadataOf: object, also: object = {}): readonly string[] =>
    differingCopies({ ...back, ...also, metadata: { ...metadata, ...metadataOf } } as RecordedEvent)
  assert.equal(changed({}, { type: 'Other' }), ['type'])
  assert.equal(changed({}, { id: CAUSE }), ['id'])
  assert.equal(changed({ $correlationId: 'r2' }), ['$correlationId'])
  assert.equal(changed({ $causationId: undefined }), ['$causationId'])
  assert.equal(changed({ requestId: 'request-2' }), ['requestId'])
})

test('what the client would wait for without end is refused beforehand', () => {
  const of =
    (change: object, stream = STREAM) =>
    () =>
      toEvents({ stream, expectedRevision: NO_STREAM, records: [{ ...record(), ...change }] })
  const bad = [
    of({ id: 'no-uuid' }),
    of({ id: '' }),
    of({ type: '' }),
    of({ type: '$metadata' }),
    of({ data: '' }),
    of({ data: 'undefined' }),
    of({ data: '{"a":1n}' }),
    of({ header: '{' }),
    of({}, '$all'),
    of({ data: JSON.stringify('x'.repeat(1_100_000)) }),
  ]
  for (const make of bad) {
    assert.throws(make, (error: unknown) => error instanceof RangeError || error instanceof TypeError)
  }
})

test('events of others come out as records that no check lets pass, and never as an error', () => {
  const place = {
    streamId: STREAM,
    revision: 3n,
    id: CAUSE,
    type: 'Odd',
    created: new Date(0),
    position: { commit: 1n, prepare: 1n },
  }
  const odd = [
    { data: { a: 1 }, metadata: undefined, isJson: true },
    { data: { a: 1 }, metadata: 'text', isJson: true },
    { data: '\ud800', metadata: { header: '\udc00', salt: 5 }, isJson: true },
    { data: Uint8Array.of(0, 255), metadata: Uint8Array.of(1), isJson: false },
    { data: [], metadata: [1], isJson: true },
  ]
  for (const each of odd) {
    const read = toRecord({ ...place, ...each } as unknown as RecordedEvent, canonicalJson)
    assert.is(read.revision, 3)
    assert.type(read.header, 'string')
    assert.type(read.data, 'string')
    assert.is(read.salt.length, 0)
  }
})

test('of a record that says that it was printed as JSON the same is sent as of one that is parsed first (STR-25)', () => {
  const drafts = ['EnvelopeAccepted', 'SnapshotTaken'].map((type) => ({
    type,
    data: { text: 'é "{}" \\', 2: 1, 10: null },
  }))
  const request = { id: CAUSE, mac: 'x'.repeat(43) }
  for (const more of [{}, { request }]) {
    const records = sealEvents(drafts, sealContext(testRing(), more)).map(({ record }) => record)
    assert.ok(records.every(({ printed }) => printed !== undefined))
    const parsed = records.map(({ printed: _, ...record }) => record)
    const sent = toEvents({ stream: STREAM, expectedRevision: NO_STREAM, records })
    assert.equal(sent, toEvents({ stream: STREAM, expectedRevision: NO_STREAM, records: parsed }))
    assert.ok(sent[1]?.metadata.includes('$causationId'))
  }
})

test('line separators of Unicode are sent escaped, also when sent again, and everything else as the bytes that were signed (F128)', async () => {
  await using node = await startNode()
  const data = canonicalJson({ 10: 'x', 9: 'y', text: 'one\u2028two\u2029three' })
  const plain = canonicalJson({ 10: 'x', 9: '…' })
  const client = EventStoreDBClient.connectionString(node.url)
  const events = toEvents({
    stream: STREAM,
    expectedRevision: NO_STREAM,
    records: [sealed(data), sealed(plain), sealed(data)],
  })
  const append = { stream: STREAM, expectedRevision: undefined, deadlineMs: Date.now() + 60_000, events }
  const first = await appendOverCall(client, append)
  assert.equal(await appendOverCall(client, append), first)
  assert.is(first.revision, 2)
  const stored = node.log.all.filter((event) => event.stream === STREAM)
  assert.is(stored.length, 3)
  for (const [at, event] of stored.entries()) {
    assert.is(event.contentType, 'application/json')
    const text = Buffer.from(event.data).toString('utf8')
    assert.is(text, at === 1 ? plain : data.replace('\u2028', '\\u2028').replace('\u2029', '\\u2029'))
  }
  await client.dispose()
})

test('an append that escaping would make too large goes as it is', () => {
  const data = canonicalJson({ text: '\u2028'.repeat(300_000) })
  const [event] = toEvents({ stream: STREAM, expectedRevision: NO_STREAM, records: [sealed(data)] })
  assert.is(event?.data, data)
})

test.run()
