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

test.run()
