import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Header } from '../../schemas/header.ts'
import { checkRecord, firstExpectation, nextExpectation } from '../../src/signing/check.ts'
import { dataDigest } from '../../src/signing/digests.ts'
import { sealEvents } from '../../src/signing/seal.ts'
import { fullEvent, keys, ring, withHeader } from './check-fixtures.ts'
import { faultCodes, STREAM, sealContext, sealedStream, verifyStream } from './fixtures.ts'

const test = suite('check')

test('a sealed stream passes, fast and full', () => {
  const events = sealedStream(ring, [{ a: 1 }, {}, { ä: ['x', null] }, 'text'])
  for (const depth of ['fast', 'full'] as const) {
    assert.equal(
      verifyStream(
        events.map(({ record }) => record),
        STREAM,
        { ...keys, depth },
      ),
      [[], [], [], []],
    )
  }
})

test('a change to any one field of the header is seen, each in turn (SEAL-4)', () => {
  const { event, expected } = fullEvent()
  assert.equal(faultCodes(checkRecord(event.record, expected, keys)), [])

  const other: { [field in keyof Header]-?: unknown } = {
    v: 2,
    id: '01890a5d-ac96-774b-bcce-b302099a9999',
    stream: 'run-acme.run-2',
    revision: 2,
    type: 'EnvelopeRejected',
    time: '2026-01-02T03:04:05.679Z',
    clock: '2025-12-31T00:00:00.001Z',
    tenant: 'other',
    actor: 'agent-2',
    principal: 'mallory',
    via: ['hub', 'desk'],
    causation: '01890a5d-ac96-774b-bcce-b302099a9998',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00',
    request: { id: '2ed6657d-e927-568b-95e1-2665a8aea6a2', mac: `${'A'.repeat(42)}E` },
    dataDigest: `sha256:${'0'.repeat(64)}`,
    prev: `sha256:${'0'.repeat(64)}`,
    kid: 'k9-00000000',
    mac: 'A'.repeat(43),
  }
  assert.equal(Object.keys(other).sort(), Object.keys(event.header).sort(), 'the event must have every field')
  for (const [field, value] of Object.entries(other)) {
    const forged = withHeader(event.record, { ...event.header, [field]: value })
    assert.ok(!checkRecord(forged, expected, keys).ok, `${field} changed`)
    const { [field as keyof Header]: _, ...without } = event.header
    assert.ok(!checkRecord(withHeader(event.record, without), expected, keys).ok, `${field} left out`)
  }
})

test('a header whose mac was recomputed still fails where the place or the chain disagrees', () => {
  const { event, expected } = fullEvent()
  const forge = (change: Partial<Header>) =>
    faultCodes(checkRecord(withHeader(event.record, { ...event.header, ...change }, true), expected, keys))
  assert.equal(forge({ revision: 5 }), ['wrong-revision'])
  assert.equal(forge({ stream: 'run-acme.run-2' }), ['wrong-stream'])
  assert.equal(forge({ stream: 'run-other.run-1', tenant: 'other' }), ['wrong-stream'])
  assert.equal(forge({ tenant: 'other' }), ['tenant', 'mac'])
  assert.equal(forge({ prev: `sha256:${'0'.repeat(64)}` }), ['prev'])
  assert.equal(forge({ time: '2026-01-01T00:00:00.000Z' }), ['time-order'])
  assert.equal(forge({ clock: event.header.time }), ['time-order'])
  assert.equal(forge({ dataDigest: `sha256:${'0'.repeat(64)}` }), ['data-digest'])
})

test('the columns of the store must agree with the header', () => {
  const { event, expected } = fullEvent()
  assert.equal(faultCodes(checkRecord({ ...event.record, stream: STREAM, revision: 1 }, expected, keys)), [])
  assert.equal(faultCodes(checkRecord({ ...event.record, stream: 'run-acme.x' }, expected, keys)), ['wrong-stream'])
  assert.equal(faultCodes(checkRecord({ ...event.record, revision: 2 }, expected, keys)), ['wrong-revision'])
})

test('a first event that names a predecessor, and a later one that names none, do not fit', () => {
  const [first, second] = sealedStream(ring, [{}, {}])
  assert.ok(first && second)
  assert.ok(faultCodes(checkRecord(second.record, firstExpectation(STREAM), keys)).includes('prev'))
  const passed = checkRecord(first.record, firstExpectation(STREAM), keys)
  assert.ok(passed.ok)
  if (passed.ok) assert.ok(faultCodes(checkRecord(first.record, nextExpectation(passed), keys)).includes('prev'))
})

test('a body or a salt that was changed in any byte is seen', () => {
  const { event, expected } = fullEvent()
  const { salt } = event.record
  for (let i = 0; i < salt.length; i++) {
    const flipped = salt.with(i, (salt[i] ?? 0) ^ 1)
    assert.equal(faultCodes(checkRecord({ ...event.record, salt: flipped }, expected, keys)), ['data-digest'])
  }
  for (const changed of [new Uint8Array(0), salt.subarray(1), Buffer.concat([salt, salt])]) {
    assert.equal(faultCodes(checkRecord({ ...event.record, salt: changed }, expected, keys)), ['data-digest'])
  }
  assert.ok(faultCodes(checkRecord({ ...event.record, data: '{"b":3}' }, expected, keys)).includes('data-digest'))
})

test('the salt cannot lend a byte to the body', () => {
  const { event, expected } = fullEvent()
  const joined = Buffer.concat([event.record.salt, Buffer.from(event.record.data)])
  const shifted = { ...event.record, salt: joined.subarray(0, 17), data: joined.subarray(17).toString() }
  assert.is(dataDigest(shifted.salt, shifted.data), event.header.dataDigest)
  assert.ok(faultCodes(checkRecord(shifted, expected, keys)).includes('data-digest'))
})

test('a body that is not canonical is seen by the full check, even under a valid seal', () => {
  for (const dataText of ['{"b":1,"a":2}', '{"a": 1}', '1.0', '"\\u0041"', '{"a":1,"a":1}', '{', '']) {
    const [event] = sealEvents([{ type: 'RunStarted', data: {}, dataText }], sealContext(ring))
    assert.ok(event)
    const check = (depth: 'fast' | 'full') =>
      faultCodes(checkRecord(event.record, firstExpectation(STREAM), { ...keys, depth }))
    assert.equal(check('fast'), [])
    assert.equal(check('full'), ['data-not-canonical'], dataText)
  }
})

test('a stream of any of our three kinds fits its tenant, others fit none (REC-9)', () => {
  const access = 'access-acme.01890a5d-ac96-774b-bcce-b302099a8057'
  for (const stream of [STREAM, 'ledger-acme', access, 'run-acme.a.b']) {
    const records = sealedStream(ring, [{}], { stream }).map(({ record }) => record)
    assert.equal(verifyStream(records, stream, keys), [[]], stream)
  }
  for (const stream of ['run-other.x', 'acme', 'access-acme.x', 'run-acme', '$run-acme.x', 'run-acme.', 'RUN-acme.x']) {
    const records = sealedStream(ring, [{}], { stream }).map(({ record }) => record)
    assert.ok(verifyStream(records, stream, keys)[0]?.includes('tenant'), stream)
  }
})

test('whatever stands in a record, the check answers and does not throw (SEAL-7)', () => {
  const { event, expected } = fullEvent()
  const value = fc.oneof(
    fc.jsonValue({ noUnicodeString: false }),
    fc.constantFrom('\ud800', -0, '€'.repeat(256), '\u0001'.repeat(256)),
  )
  const field = fc.constantFrom(...Object.keys(event.header), 'extra', '__proto__', '')
  fc.assert(
    fc.property(fc.array(fc.tuple(field, value), { minLength: 1, maxLength: 3 }), fc.string(), (changes, data) => {
      const header = JSON.stringify({ ...event.header, ...Object.fromEntries(changes) })
      checkRecord({ header, salt: event.record.salt, data }, expected, keys)
    }),
  )
  for (const header of [
    '',
    'null',
    '[]',
    '"x"',
    '{}',
    '['.repeat(5000),
    `${'['.repeat(4000)}${']'.repeat(4000)}`,
    'x'.repeat(9000),
  ]) {
    assert.ok(!checkRecord({ ...event.record, header }, expected, keys).ok)
  }
})

test.run()
