import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Header } from '../../schemas/header.ts'
import type { Json } from '../../schemas/json.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import { createSaltPool } from '../../src/signing/salt-pool.ts'
import { type EventDraft, type SealContext, sealEvents } from '../../src/signing/seal.ts'
import { sealContext, seededRandom, testRing } from './fixtures.ts'
import { readVectors } from './vectors.ts'

const test = suite('seal')
const ring = testRing()
const seal = (drafts: readonly EventDraft[], given: Partial<SealContext> = {}) =>
  sealEvents(drafts, sealContext(ring, given))
const draft = (type = 'EnvelopeAccepted'): EventDraft => ({ type, data: { b: [1], a: 'ä' } })

interface SealedVector {
  readonly secret: string
  readonly kid: string
  readonly tenant: string
  readonly stream: string
  readonly events: readonly { header: string; salt: string; data: string; digest: string }[]
}

test('the sealed bytes are those that another implementation makes', () => {
  const vector = readVectors<SealedVector>('sealed-events.json')
  const secret = Buffer.from(vector.secret, 'base64url')
  const { kid, tenant, stream } = vector
  const keys = createRunKeys({ keys: [{ kid, secret, created: '' }] })
  let prev: string | undefined
  let prevTime: string | undefined
  for (const [revision, event] of vector.events.entries()) {
    const header = JSON.parse(event.header) as Header
    const key = keys.keyFor(kid, tenant, stream)
    assert.ok(key)
    const data = JSON.parse(event.data)
    const [sealed] = sealEvents(
      [{ type: header.type, data, ...(header.causation && { causation: header.causation }) }],
      {
        ...header,
        revision,
        prev,
        prevTime,
        clock: header.clock ?? header.time,
        key,
        newId: () => header.id,
        newSalt: () => Buffer.from(event.salt, 'base64url'),
      } as SealContext,
    )
    assert.is(sealed?.record.header, event.header)
    assert.is(sealed?.record.data, event.data)
    assert.is(sealed?.digest, event.digest)
    prev = sealed?.digest
    prevTime = sealed?.header.time
  }
})

test('the header text is the JCS form of a header that the schema takes', () => {
  const full = {
    principal: 'alice "quoted"',
    via: ['b', 'é'],
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    request: { id: '2ed6657d-e927-568b-95e1-2665a8aea6a2', mac: 'A'.repeat(43) },
    prev: `sha256:${'0'.repeat(64)}`,
    prevTime: '2030-01-01T00:00:00.000Z',
    revision: 7,
  }
  for (const given of [{}, full, { actor: '\u2028😀' }]) {
    for (const event of seal([draft(), draft('SnapshotTaken')], given)) {
      assert.is(event.record.header, canonicalJson(event.header as unknown as Json))
      assert.equal(Header.parse(JSON.parse(event.record.header)), event.header)
    }
  }
})

test('the events of one request form a chain: revision, prev and cause', () => {
  const events = seal([
    draft(),
    draft('SnapshotTaken'),
    { ...draft(), causation: '01890a5d-ac96-774b-bcce-b302099a8057' },
  ])
  const [first, second, third] = events
  assert.equal(
    events.map(({ header }) => header.revision),
    [0, 1, 2],
  )
  assert.is(first?.header.prev, undefined)
  assert.is(first?.header.causation, undefined)
  assert.is(second?.header.prev, first?.digest)
  assert.is(second?.header.causation, first?.header.id)
  assert.is(third?.header.prev, second?.digest)
  assert.is(third?.header.causation, '01890a5d-ac96-774b-bcce-b302099a8057')
})

test('a request is marked on its first event only', () => {
  const request = { id: '2ed6657d-e927-568b-95e1-2665a8aea6a2', mac: 'A'.repeat(43) }
  const [first, second] = seal([draft(), draft()], { request })
  assert.equal(first?.header.request, request)
  assert.is(first?.record.requestId, request.id)
  assert.is(second?.header.request, undefined)
  assert.not.ok('requestId' in (second?.record ?? {}))
})

test('time never falls: a clock that went back is recorded beside it (A39, STR-1)', () => {
  const prevTime = '2026-06-01T00:00:00.000Z'
  for (const { header } of seal([draft(), draft()], { clock: '2026-05-31T23:59:59.999Z', prevTime })) {
    assert.is(header.time, prevTime)
    assert.is(header.clock, '2026-05-31T23:59:59.999Z')
  }
  const [ahead] = seal([draft()], { clock: prevTime, prevTime })
  assert.is(ahead?.header.time, prevTime)
  assert.is(ahead?.header.clock, undefined)
})

test('each sealing has an id and a salt of its own, so no two are alike (REC-4)', () => {
  const [first, second] = seal([draft(), draft()])
  assert.is.not(first?.header.id, second?.header.id)
  assert.is.not(first?.header.dataDigest, second?.header.dataDigest)
})

test('a canonical text that the caller has is taken as it is', () => {
  const [given] = seal([{ ...draft(), dataText: canonicalJson(draft().data) }])
  const [made] = seal([draft()])
  assert.equal(given?.record, made?.record)
})

test('a header over 8 KiB is refused (REC-6)', () => {
  const via = Array.from({ length: 8 }, () => '€'.repeat(256))
  assert.not.throws(() => seal([draft()], { via }))
  assert.throws(
    () => seal([draft()], { via: [...via, ...via] }),
    (error: unknown) => error instanceof TypeError,
  )
})

test('salts come from the pool whole, each once, and share no memory', () => {
  let drawn = 0
  const random = seededRandom('pool')
  const next = createSaltPool((bytes) => {
    drawn++
    return random(bytes)
  })
  const salts = Array.from({ length: 600 }, () => next())
  assert.is(new Set(salts.map((salt) => Buffer.from(salt).toString('hex'))).size, 600)
  assert.ok(salts.every((salt) => salt.length === 16 && salt.buffer.byteLength === 16))
  assert.is(drawn, 3)
})

test.run()
