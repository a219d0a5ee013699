import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Header } from '../../schemas/header.ts'
import type { Json } from '../../schemas/json.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { checkRecord } from '../../src/signing/check.ts'
import { rotateKeyRing } from '../../src/signing/key-ring.ts'
import { headerParts, sealEvents } from '../../src/signing/seal.ts'
import { fullEvent, keys, ring, withHeader } from './check-fixtures.ts'
import {
  checkKeys,
  faultCodes,
  NOW,
  STREAM,
  sealContext,
  sealedStream,
  seededRandom,
  testRing,
  verifyStream,
} from './fixtures.ts'

const test = suite('check: attacks')

test('two headers never give one signed text: shifting characters between fields changes it (A24)', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '"', ',', ':', '|', '\\', '\n', '}'),
    minLength: 1,
    maxLength: 6,
  })
  const fields = fc.record({ actor: text, kid: text, principal: fc.option(text, { nil: undefined }), stream: text })
  fc.assert(
    fc.property(fields, fields, (a, b) => {
      const { event } = fullEvent()
      const signed = (part: typeof a) => {
        const { before, after } = headerParts({ ...event.header, ...part } as Header)
        return before + after
      }
      assert.is(signed(a) === signed(b), canonicalJson(defined(a)) === canonicalJson(defined(b)))
    }),
  )
})

test('a mac that is cut, empty, longer, in hex or spelled another way is no mac (A25, REC-2)', () => {
  const { event, expected } = fullEvent()
  const { mac } = event.header
  const bytes = Buffer.from(mac, 'base64url')
  const last = mac.at(-1) ?? ''
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const respelled = mac.slice(0, -1) + alphabet[alphabet.indexOf(last) + 1]
  assert.equal(Buffer.from(respelled, 'base64url'), bytes)
  for (const bad of [
    '',
    mac.slice(0, -1),
    `${mac}=`,
    `${mac}A`,
    bytes.toString('hex'),
    respelled,
    mac.toLowerCase(),
    ` ${mac}`,
  ]) {
    assert.ok(!checkRecord(withHeader(event.record, { ...event.header, mac: bad }), expected, keys).ok, bad)
  }
})

test('a mac moved to another stream, revision, tenant or key does not fit there (A26, SEAL-4)', () => {
  const streams: [string, string][] = [
    ['acme', 'run-acme.run-1'],
    ['acme', 'run-acme.run-2'],
    ['other', 'run-other.run-1'],
    ['acme', 'ledger-acme'],
  ]
  const rotated = rotateKeyRing(ring, NOW, seededRandom('rotated'))
  const both = checkKeys(rotated)
  const events = [ring, rotated].flatMap((held) =>
    streams.flatMap(([tenant, stream]) => sealedStream(held, [{}, {}], { tenant, stream })),
  )
  for (const target of events) {
    const { stream, revision, prev } = target.header
    const expected = { stream, revision, prevDigest: prev, prevTime: undefined, minRingIndex: 0 }
    for (const source of events) {
      const moved = withHeader(target.record, { ...target.header, mac: source.header.mac })
      assert.is(checkRecord(moved, expected, both).ok, source === target)
    }
  }
})

test('an unknown version is refused by name, never skipped and never read as this one (A27, REC-3)', () => {
  const { event, expected } = fullEvent()
  for (const v of [0, 2, 1.5, 1e9]) {
    assert.equal(faultCodes(checkRecord(withHeader(event.record, { ...event.header, v }), expected, keys)), [
      'unknown-version',
    ])
  }
  for (const v of ['1', null, true, [1]]) {
    assert.equal(faultCodes(checkRecord(withHeader(event.record, { ...event.header, v }), expected, keys)), [
      'header-schema',
    ])
  }
})

test('after a rotation old events verify, new ones are sealed with the new key, unknown keys fail (A36)', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { minLength: 1, maxLength: 5 }), (batches) => {
      let held = ring
      const records = []
      let prev: string | undefined
      let revision = 0
      for (const [round, count] of batches.entries()) {
        if (round > 0) held = rotateKeyRing(held, NOW, seededRandom(`rotation ${round}`))
        for (let i = 0; i < count; i++) {
          const [event] = sealEvents(
            [{ type: 'UsageRecorded', data: i }],
            sealContext(held, { revision: revision++, prev }),
          )
          assert.ok(event)
          assert.is(event.header.kid, held.keys.at(-1)?.kid)
          prev = event.digest
          records.push(event.record)
        }
      }
      assert.ok(verifyStream(records, STREAM, checkKeys(held)).every((codes) => codes.length === 0))
      const stranger = verifyStream(records, STREAM, checkKeys(testRing('stranger')))
      assert.ok(stranger.every((codes) => codes.includes('unknown-key')))
    }),
    { numRuns: 20 },
  )
})

test('an event sealed with a key older than the one before it is an error (A36, SEAL-9)', () => {
  const rotated = rotateKeyRing(ring, NOW, seededRandom('rotated'))
  const [first] = sealEvents([{ type: 'RunStarted', data: {} }], sealContext(rotated))
  assert.ok(first)
  const [second] = sealEvents([{ type: 'RunFailed', data: {} }], sealContext(ring, { revision: 1, prev: first.digest }))
  assert.ok(second)
  assert.equal(verifyStream([first.record, second.record], STREAM, checkKeys(rotated)), [[], ['key-order']])
})

test('an edit, a loss, an insertion, a swap or a repeat within a stream is seen (A28)', () => {
  const records = sealedStream(ring, [1, 2, 3, 4, 5]).map(({ record }) => record)
  const [inserted] = sealedStream(ring, [9]).map(({ record }) => record)
  const [, , third, fourth] = records
  assert.ok(inserted && third && fourth)
  const tampered = {
    edit: records.with(2, { ...third, data: '33' }),
    loss: records.toSpliced(2, 1),
    insertion: records.toSpliced(2, 0, inserted),
    swap: records.with(2, fourth).with(3, third),
    repeat: records.toSpliced(2, 0, third),
  }
  for (const [name, stream] of Object.entries(tampered)) {
    assert.ok(
      verifyStream(stream, STREAM, keys).some((codes) => codes.length > 0),
      name,
    )
  }
})

function defined(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

test.run()
