import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Header } from '../../schemas/header.ts'
import { accessStream, SYSTEM_STREAM, valueStream } from '../../schemas/names.ts'
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

test.run()
