import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Header } from '../../schemas/header.ts'
import type { Json } from '../../schemas/json.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { checkRecord } from '../../src/signing/check.ts'
import { readAnyHeader, readHeader } from '../../src/signing/header-reader.ts'
import { readPlainHeader } from '../../src/signing/plain-header.ts'
import { headerParts } from '../../src/signing/seal.ts'
import { rounds } from '../support/rounds.ts'
import { fullEvent, keys } from './check-fixtures.ts'
import { faultCodes, NOW } from './fixtures.ts'

const test = suite('header reader')
const { event } = fullEvent()

const text = fc.oneof(
  fc.constantFrom(
    '',
    'x',
    'x'.repeat(256),
    'x'.repeat(257),
    'x'.repeat(63),
    'x'.repeat(64),
    'é'.repeat(256),
    'RunStarted',
    'run',
  ),
  fc.constantFrom(
    NOW,
    '2026-02-30T00:00:00.000Z',
    '2026-13-01T00:00:00.000Z',
    '2026-01-01T24:00:00.000Z',
    '2026-01-01T00:00:00Z',
  ),
  fc.constantFrom(
    'A'.repeat(43),
    'A'.repeat(42),
    `${'A'.repeat(42)}B`,
    `${'A'.repeat(43)}\n`,
    `sha256:${'a'.repeat(64)}`,
    `sha256:${'A'.repeat(64)}`,
  ),
  fc.constantFrom(
    '01890a5d-ac96-774b-bcce-b302099a8057',
    '01890A5D-ac96-774b-bcce-b302099a8057',
    `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`,
  ),
)
const value = fc.oneof(
  text,
  fc.constantFrom<unknown>(null, true, 0, -1, 1, 2, 1.5, 1e300, 2 ** 53, 2 ** 53 - 1, [], {}, [''], [null]),
  fc.array(text, { maxLength: 9 }),
  fc.record({ id: text, mac: text }),
  fc.record({ id: text, mac: text, more: text }),
)
const fields = [...Object.keys(Header.shape), 'extra']
/** The full header with one or two fields changed or left out. */
const changedHeader = fc
  .array(fc.tuple(fc.constantFrom(...fields), fc.option(value, { nil: undefined })), { minLength: 1, maxLength: 2 })
  .map((changes) => {
    const header: Record<string, unknown> = { ...event.header }
    for (const [field, given] of changes) {
      if (given === undefined) delete header[field]
      else header[field] = given
    }
    return header
  })

test('the hand-written header check agrees with the schema', () => {
  fc.assert(
    fc.property(changedHeader, (header) => {
      const text = canonicalJson(header as Json)
      assert.is(readHeader(text).ok, Header.safeParse(header).success, text)
    }),
    { numRuns: rounds(500, 3_000) },
  )
})

test('the short way of reading a header and the long one give the same', () => {
  fc.assert(
    fc.property(changedHeader, (header) => {
      const text = canonicalJson(header as Json)
      const plain = readPlainHeader(text)
      if (plain !== undefined) assert.equal(plain, readAnyHeader(text))
    }),
    { numRuns: rounds(500, 3_000) },
  )
  assert.ok(readPlainHeader(event.record.header), 'the short way must be taken')
})

test('half a surrogate pair in the text has no canonical form on either way', () => {
  const text = event.record.header.replace('"actor":"agent-1"', '"actor":"agent-\ud800"')
  assert.is(readPlainHeader(text), undefined)
  const read = readHeader(text)
  assert.is(read.ok ? 'ok' : read.code, 'header-not-canonical')
})

test('strings that need an escape, or hold a member like another, are read the same', () => {
  for (const actor of ['a"b', ',"mac":"', '{"actor":"x","mac":"', '\u0001', '😀', '\\', '\u2028']) {
    const header = { ...event.header, actor }
    const read = readHeader(canonicalJson(header as unknown as Json))
    assert.ok(read.ok)
    if (read.ok) assert.equal(read, { ok: true, header, parts: headerParts(header) })
  }
})

test('a header text that says the same in other bytes is refused (REC-1)', () => {
  const { expected } = fullEvent()
  const { header } = event.record
  const spellings = [
    ` ${header}`,
    `${header}\n`,
    header.replace('{"actor"', '{ "actor"'),
    header.replace('"actor":"agent-1"', '"actor":"\\u0061gent-1"'),
    header.replace('"revision":1', '"revision":1.0'),
    header.replace('{', '{"actor":"shadowed",'),
    JSON.stringify(Object.fromEntries(Object.entries(event.header).reverse())),
  ]
  for (const text of spellings) {
    assert.equal(
      faultCodes(checkRecord({ ...event.record, header: text }, expected, keys)),
      ['header-not-canonical'],
      text,
    )
  }
})

test.run()
