import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Header } from '../../schemas/header.ts'
import { SYSTEM_STREAM, valueStream } from '../../schemas/names.ts'
import { ValueChecks } from '../../src/verify/value-checks.ts'

const test = suite('verify: large values, by whoever has the keys')

const SALT = Buffer.alloc(16, 7)

interface Part {
  readonly text: string
  readonly part: number
  readonly parts: number
  readonly bytes?: number
}

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(SALT).update(text).digest('hex')}`

const headerOf = (type: string, stream: string): Header => ({ type, stream, tenant: 'acme' }) as unknown as Header

/** Parts of the value that has this digest, sealed or not: their seals are checked elsewhere. */
function stored(checks: ValueChecks, digest: string, parts: readonly Part[], stream = digest): readonly string[] {
  return parts.flatMap(({ text, part, parts: of, bytes }) => {
    const about = { v: 1, run: 'r', digest, mediaType: 'application/json', salt: SALT.toString('base64url') }
    const body = { ...about, part, parts: of, bytes, text }
    const header = headerOf('ValueStored', valueStream('acme', stream.slice('sha256:'.length)))
    return checks.take(header, JSON.stringify(body)).map(({ code }) => code)
  })
}

function named(checks: ValueChecks, reference: object, type = 'ToolCallSucceeded'): readonly string[] {
  const data = JSON.stringify({ v: 1, callId: 'c', resultRef: reference })
  return checks.take(headerOf(type, 'run-acme.r'), data).map(({ code }) => code)
}

const halves = (text: string, bytes = Buffer.byteLength(text)): readonly Part[] => [
  { text: text.slice(0, 3), part: 0, parts: 2, bytes },
  { text: text.slice(3), part: 1, parts: 2, bytes },
]

test('a value is whole with all its parts in order, and what nobody names is counted', () => {
  const checks = new ValueChecks()
  const [one, other] = [digestOf('"value"'), digestOf('"other"')]
  assert.equal([...stored(checks, one, halves('"value"')), ...stored(checks, other, halves('"other"'))], [])
  assert.equal(named(checks, { digest: one, bytes: 7 }), [])
  assert.equal([checks.values, checks.named, checks.unnamed], [2, 1, 1])
  assert.equal(named(checks, { digest: other, bytes: 7 }), [])
  assert.is(checks.unnamed, 0)
})

test('a value whose text or length is not what its digest and its parts say is altered, and so is what names it, under whatever seal (A183)', () => {
  for (const parts of [halves('"other"'), halves('"value"', 8), halves('"val', 7)]) {
    const checks = new ValueChecks()
    const digest = digestOf('"value"')
    assert.equal(stored(checks, digest, parts), ['value-altered'], JSON.stringify(parts))
    assert.equal(named(checks, { digest, bytes: 7 }), ['value-altered'])
    assert.is(checks.values, 0)
  }
})

test('a part in the stream of another value is altered, and makes neither of the two whole (A183)', () => {
  const checks = new ValueChecks()
  const [digest, other] = [digestOf('"value"'), digestOf('"other"')]
  assert.equal(stored(checks, digest, halves('"value"'), other), ['value-altered', 'value-altered'])
  assert.equal(named(checks, { digest, bytes: 7 }), ['value-missing'])
  assert.equal(named(checks, { digest: other, bytes: 7 }), ['value-missing'])
})

test('a value with a part that is missing, doubled or out of order is missing (A183)', () => {
  const [first, second] = halves('"value"')
  assert.ok(first !== undefined && second !== undefined)
  for (const parts of [[first], [second], [second, first], [first, first]]) {
    const checks = new ValueChecks()
    const digest = digestOf('"value"')
    stored(checks, digest, parts)
    assert.equal(named(checks, { digest, bytes: 7 }), ['value-missing'], JSON.stringify(parts))
  }
})

test('a part that was spoiled, and an event that names what is not stored, say so', () => {
  const checks = new ValueChecks()
  const digest = digestOf('"value"')
  stored(checks, digest, halves('"value"'))
  checks.spoil(valueStream('acme', digest.slice('sha256:'.length)))
  assert.equal(named(checks, { digest, bytes: 7 }), ['value-altered'])
  assert.equal(named(checks, { digest: digestOf('"gone"'), bytes: 6, kept: false }), [])
  assert.equal(named(checks, { digest: digestOf('"gone"'), bytes: 6, kept: true }), ['value-missing'])
  assert.equal(checks.take(headerOf('KeyRotated', SYSTEM_STREAM), '{"resultRef":{"digest":"x"}}'), [])
})

test('whatever stands in a body, nothing is thrown, and no value is whole by it', () => {
  const checks = new ValueChecks()
  const stream = valueStream('acme', '0'.repeat(64))
  for (const text of [
    '',
    'null',
    '1',
    '[]',
    '{',
    '{"digest":1}',
    '{"resultRef":1}',
    '"\\"resultRef\\":"',
    '{"resultRef":null}',
  ]) {
    checks.take(headerOf('ValueStored', stream), text)
    checks.take(headerOf('ToolCallSucceeded', 'run-acme.r'), text)
    checks.take(headerOf('NoSuchType', 'run-acme.r'), text)
  }
  assert.equal([checks.values, checks.named], [0, 0])
  assert.equal(named(checks, { digest: digestOf('"gone"') }, 'EnvelopeAccepted'), [])
})

test.run()
