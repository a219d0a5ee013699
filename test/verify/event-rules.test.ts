import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Header } from '../../schemas/header.ts'
import { accessStream, SYSTEM_STREAM, valueStream } from '../../schemas/names.ts'
import { signSuccession } from '../../src/merkle/key-succession.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { EventRules } from '../../src/verify/event-rules.ts'

const test = suite('verify: rules of events')

const ACCESS = accessStream('acme', '00000000-0000-4000-8000-000000000001')
const VALUE = valueStream('acme', '0'.repeat(64))
const RUN = 'run-acme.one'

function codesOf(type: string, stream: string, revision: number): readonly string[] {
  const rules = new EventRules({ ring: undefined, bodies: false })
  const header = { v: 1, type, stream, revision, tenant: 'acme', kid: 'k', time: '2026-01-01T00:00:00.000Z' }
  return rules.check(header as unknown as Header, '{}').map(({ code }) => code)
}

test('an event stands in the kind of stream that its type belongs in, and nowhere else (A179)', () => {
  for (const [type, stream, revision] of [
    ['LedgerCreated', SYSTEM_STREAM, 0],
    ['AccessRecorded', ACCESS, 1],
    ['ValueStored', VALUE, 0],
    ['RunStarted', RUN, 0],
    ['EnvelopeAccepted', RUN, 1],
  ] as const)
    assert.not.ok(codesOf(type, stream, revision).includes('first-event'), `${type} in ${stream}`)
  for (const [type, stream, revision] of [
    ['LedgerCreated', RUN, 1],
    ['LedgerCreated', ACCESS, 1],
    ['AccessRecorded', RUN, 1],
    ['EnvelopeAccepted', ACCESS, 1],
    ['ValueStored', RUN, 1],
    ['EnvelopeAccepted', VALUE, 1],
    ['RunStarted', RUN, 1],
    ['EnvelopeAccepted', RUN, 0],
    ['KeyRotated', SYSTEM_STREAM, 0],
    ['LedgerCreated', SYSTEM_STREAM, 1],
  ] as const)
    assert.ok(codesOf(type, stream, revision).includes('first-event'), `${type} in ${stream} @ ${revision}`)
})

const ORIGIN = 'ledger.example'
const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey
const [first, second, mallory] = [newKey(), newKey(), newKey()]
const keyText = (key: KeyObject): string => noteVerifier(ORIGIN, key).text
const follow = (from: KeyObject, to: KeyObject, origin = ORIGIN): string =>
  signSuccession({ origin, from, to, time: '2026-01-01T00:00:00.000Z' })

/** Faults of rotations of the log's key on record, after the founding with `first`; `own` are the keys that the reader has. */
function rotated(bodies: readonly object[], own: readonly KeyObject[] = [first, second]): readonly string[] {
  const rules = new EventRules({ ring: undefined, bodies: true, verifierKeys: () => own.map(keyText) })
  const founding = { ledgerId: '00000000-0000-7000-8000-000000000001', origin: ORIGIN, kid: 'k' }
  const events: readonly (readonly [string, object])[] = [
    ['LedgerCreated', { ...founding, verifierKey: keyText(first) }],
    ...bodies.map((body) => ['LogKeyRotated', body] as const),
  ]
  return events.flatMap(([type, body], revision) => {
    const header = {
      v: 1,
      type,
      stream: SYSTEM_STREAM,
      revision,
      tenant: 'system',
      kid: 'k',
      time: '2026-01-01T00:00:00.000Z',
    }
    return rules.check(header as unknown as Header, JSON.stringify({ v: 1, ...body })).map(({ code }) => code)
  })
}

const rotation = (from: KeyObject, to: KeyObject, succession = follow(from, to)): object => ({
  previousKey: keyText(from),
  verifierKey: keyText(to),
  succession,
})

test('a key of the log is announced by the one before it, of this ledger, and is the one that the reader has (A211, A212)', () => {
  assert.equal(rotated([rotation(first, second)]), [])
  assert.equal(rotated([rotation(first, second)], [first]), [], 'an older key file')
  for (const [what, bodies] of [
    ['signed for by nobody', [rotation(first, second, 'no note')]],
    ['signed for by another key', [rotation(first, second, follow(mallory, second))]],
    ['another successor than the note names', [rotation(first, second, follow(first, mallory))]],
    ['of another ledger', [rotation(first, second, follow(first, second, 'other.example'))]],
    ['of a key that is not the last one', [rotation(mallory, second)]],
    ['twice', [rotation(first, second), rotation(first, second)]],
    ['another successor than the reader has', [rotation(first, mallory)]],
  ] as const)
    assert.equal(rotated(bodies), ['key-rotation'], what)
})

interface Told {
  readonly type: string
  readonly body?: object
  readonly stream?: string
  readonly kid?: string
}

const RING = { keys: ['k1', 'k2', 'k3'].map((kid) => ({ kid })) }

/** Faults of these events, which follow the founding under `k1`: each at the next revision of its stream. */
function toldBy(rules: EventRules, events: readonly Told[]): readonly string[] {
  const ledgerId = '00000000-0000-7000-8000-000000000001'
  const founding = { ledgerId, origin: ORIGIN, kid: 'k1', verifierKey: keyText(first) }
  const next = new Map<string, number>()
  return [{ type: 'LedgerCreated', body: founding }, ...events].flatMap(({ type, body = {}, ...at }: Told) => {
    const { stream = SYSTEM_STREAM, kid = 'k1' } = at
    const revision = next.get(stream) ?? 0
    next.set(stream, revision + 1)
    const header = { v: 1, type, stream, revision, tenant: 'acme', kid, time: '2026-01-01T00:00:00.000Z' }
    return rules.check(header as unknown as Header, JSON.stringify({ v: 1, ...body })).map(({ code }) => code)
  })
}

const told = (...events: readonly Told[]): readonly string[] =>
  toldBy(new EventRules({ ring: RING, bodies: false }), events)
const toKey = (kid: string, previousKid: string): Told => ({ type: 'KeyRotated', body: { kid, previousKid } })
const inRun = (type: string, more: Partial<Told> = {}): Told => ({ type, stream: RUN, ...more })

test('a key seals from its announcement on, and follows the one before it in the ring (A184)', () => {
  assert.equal(told(inRun('RunStarted'), toKey('k2', 'k1'), inRun('RunFailed', { kid: 'k2' })), [])
  assert.equal(told(inRun('RunStarted', { kid: 'k2' }), toKey('k2', 'k1')), ['key-not-announced'])
  assert.equal(told(toKey('k2', 'k1'), inRun('RunStarted', { kid: 'k3' })), ['key-not-announced'])
  assert.equal(told(toKey('k2', 'k1'), toKey('k3', 'k1')), ['key-rotation'], 'not the key before it')
  assert.equal(told(toKey('k3', 'k1'), toKey('k2', 'k3')), ['key-rotation'], 'back in the ring')
  assert.equal(told(toKey('k1', 'k1')), ['key-rotation'], 'no other key')
  assert.equal(
    told(toKey('k9', 'k1'), { ...toKey('k8', 'k9'), kid: 'k9' }),
    [],
    'keys that an older key file does not have yet',
  )
})

test('a rotation that a run holds announces no key (A184)', () => {
  const rules = new EventRules({ ring: RING, bodies: true })
  const started = { type: 'RunStarted', stream: RUN, body: { name: 'one' } }
  const found = toldBy(rules, [started, { ...toKey('k2', 'k1'), stream: RUN }, { ...toKey('k3', 'k1'), kid: 'k2' }])
  assert.ok(found.includes('key-not-announced'), found.join())
  assert.equal([rules.wasAnnounced('k1'), rules.wasAnnounced('k2'), rules.wasAnnounced('k3')], [true, false, true])
})

test('the founding says which ledger this is, and under which key its logs begin: another key file is named', () => {
  const rules = (key: KeyObject): EventRules =>
    new EventRules({ ring: RING, bodies: false, verifierKeys: () => [keyText(key)] })
  assert.equal([toldBy(rules(first), []), toldBy(rules(second), [])], [[], ['foreign-verifier-key']])
  const founded = rules(first)
  assert.is(founded.facts, undefined)
  toldBy(founded, [])
  assert.equal(founded.facts, { ledgerId: '00000000-0000-7000-8000-000000000001', origin: ORIGIN })
})

test('nothing follows the disclosure of a run’s keys in that run, and other runs go on', () => {
  const rules = new EventRules({ ring: RING, bodies: false })
  const other = { type: 'RunStarted', stream: 'run-acme.two' }
  const found = toldBy(rules, [inRun('RunStarted'), inRun('RunFailed'), inRun('RunKeyDisclosed'), other])
  assert.equal([found, rules.disclosedRuns], [[], 1])
  const behind = toldBy(new EventRules({ ring: RING, bodies: false }), [
    inRun('RunStarted'),
    inRun('RunKeyDisclosed'),
    inRun('EnvelopeAccepted'),
  ])
  assert.equal(behind, ['after-disclosure'])
})

test('a type and a version of a body that this build does not know are named, with bodies read or not, and misfits where they are read', () => {
  for (const bodies of [false, true]) {
    const rules = (): EventRules => new EventRules({ ring: RING, bodies })
    for (const type of ['NoSuchType', 'toString', '__proto__'])
      assert.equal(toldBy(rules(), [inRun('RunStarted'), inRun(type)]).includes('unknown-type'), true, type)
    assert.equal(toldBy(rules(), [{ type: 'NoSuchType' }]), ['unknown-type'])
    assert.equal(toldBy(rules(), [{ type: 'KeyRotated', body: { v: 99 } }]), ['body-version'])
    assert.equal(toldBy(rules(), [{ type: 'KeyRotated', body: { kid: 'k2' } }]), ['body-schema'])
    const misfit = toldBy(rules(), [inRun('RunStarted', { body: { name: 1 } })])
    assert.equal(misfit, bodies ? ['body-schema'] : [])
  }
})

test('whatever stands in a body, it is a fault and nothing is thrown', () => {
  for (const text of ['', 'null', '1', '"x"', '[]', '[null]', '{', '{"v":null}', '{"v":1}']) {
    for (const [type, stream] of [
      ['LedgerCreated', SYSTEM_STREAM],
      ['KeyRotated', SYSTEM_STREAM],
      ['LogKeyRotated', SYSTEM_STREAM],
      ['RunStarted', RUN],
    ] as const) {
      const header = { v: 1, type, stream, revision: 0, tenant: 'acme', kid: 'k1', time: '2026-01-01T00:00:00.000Z' }
      const rules = new EventRules({ ring: RING, bodies: true })
      const codes = rules.check(header as unknown as Header, text).map(({ code }) => code)
      assert.ok(codes.includes('body-version') || codes.includes('body-schema'), `${type} ${text}: ${codes}`)
    }
  }
})

test.run()
