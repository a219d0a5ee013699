import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { numberFault } from '../../src/signing/json-number.ts'
import {
  JSON_MAX_BYTES,
  type JsonResult,
  parseStrictJson,
  parseStrictJsonInSlices,
  parseStrictText,
  type StrictJsonOptions,
} from '../../src/signing/strict-json.ts'
import { anyCharacter } from '../support/any-character.ts'
import { rounds } from '../support/rounds.ts'
import { decimalFault } from './number-reference.ts'
import { readVectors } from './vectors.ts'

interface Vector {
  readonly name: string
  readonly text?: string
  readonly hex?: string
  readonly code?: string
  readonly pointer?: string
}

const test = suite('strict JSON')
const bytes = (text: string) => new TextEncoder().encode(text)
const outcome = (result: JsonResult) => (result.ok ? 'accepted' : `${result.error.code} at "${result.error.pointer}"`)
const code = (result: JsonResult) => (result.ok ? undefined : result.error.code)

for (const { name, text, hex, code: expected, pointer } of readVectors<Vector[]>('strict-json.json')) {
  test(`vector: ${name}`, () => {
    const input = hex === undefined ? bytes(text ?? '') : Buffer.from(hex, 'hex')
    assert.is(outcome(parseStrictJson(input)), expected === undefined ? 'accepted' : `${expected} at "${pointer}"`)
  })
}

test('what passes is the value that JSON.parse gives', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), fc.nat(2), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      const parsed = parseStrictJson(bytes(text))
      if (parsed.ok) assert.equal(parsed.value, JSON.parse(text))
      else assert.ok(['json-key', 'json-number'].includes(parsed.error.code), parsed.error.code)
    }),
  )
})

test('any bytes get an answer, and what JSON.parse refuses is refused', () => {
  const junk = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .array(fc.constantFrom(...'{}[]:,"\\ud8-0.1eE+ \n\ttruefalsn'), { maxLength: 40 })
      .map((chars) => bytes(chars.join(''))),
  )
  fc.assert(
    fc.property(junk, (input) => {
      const parsed = parseStrictJson(input)
      if (parsed.ok) assert.equal(parsed.value, JSON.parse(Buffer.from(input).toString('utf8')))
      else assert.type(parsed.error.pointer, 'string')
    }),
    { numRuns: rounds(200, 2_000) },
  )
})

test('a text damaged in one place is refused exactly where JSON.parse or a rule refuses it', () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.nat(),
      fc.constantFrom('"', '\\', '{', '}', ',', ':', '0', '', '\u0001'),
      (value, at, char) => {
        const text = JSON.stringify(value)
        const place = at % (text.length + 1)
        const damaged = text.slice(0, place) + char + text.slice(place + 1)
        if (parseStrictText(damaged).ok) assert.not.throws(() => JSON.parse(damaged))
        else if (code(parseStrictText(damaged)) === 'json-syntax') assert.throws(() => JSON.parse(damaged))
      },
    ),
    { numRuns: rounds(100, 1_000) },
  )
})

test('a number passes exactly where its decimal value says so (REC-14)', () => {
  const digits = fc
    .array(fc.constantFrom(...'0012345678999'), { minLength: 1, maxLength: 25 })
    .map((list) => list.join(''))
  const token = fc
    .tuple(fc.boolean(), digits, fc.option(digits), fc.option(fc.integer({ min: -340, max: 340 })))
    .map(([minus, whole, fraction, e]) => {
      const integer = whole.replace(/^0+(?=\d)/, '')
      return `${minus ? '-' : ''}${integer}${fraction === null ? '' : `.${fraction}`}${e === null ? '' : `e${e}`}`
    })
  fc.assert(
    fc.property(token, (text) => {
      assert.is(numberFault(text) !== undefined, decimalFault(text), text)
      assert.is(parseStrictText(`[${text}]`).ok, !decimalFault(text), text)
    }),
    { numRuns: rounds(200, 2_000) },
  )
})

test('every spelling of a number that passes has one digest form (A15, REC-11)', () => {
  for (const group of [
    ['1', '1.0', '1e0', '10e-1', '0.1E+1'],
    ['100', '1E2', '1.00e2', '100.0'],
    ['0.1', '0.10', '1e-1'],
  ]) {
    const forms = group.map((text) => {
      const parsed = parseStrictText(text)
      return parsed.ok ? canonicalJson(parsed.value) : 'refused'
    })
    assert.is(new Set(forms).size, 1, forms.join())
  }
  for (const text of ['-0', '1e400', '9007199254740993']) assert.is(code(parseStrictText(text)), 'json-number')
})

test('a duplicate key is refused in raw bytes, in any depth and any spelling (A14, REC-12)', () => {
  for (const text of ['{"a":1,"a":1}', '[{"b":{"a":1,"c":0,"\\u0061":2}}]']) {
    assert.is(code(parseStrictJson(bytes(text))), 'json-duplicate-key')
  }
})

test('lone surrogates, invalid UTF-8, a byte order mark and overlong forms never become U+FFFD (A16, REC-12)', () => {
  assert.is(code(parseStrictJson(bytes('"\\ud83d"'))), 'json-surrogate')
  for (const second of ['\\ud83d', '\\u0041'])
    assert.is(code(parseStrictJson(bytes(`"\\ud83d${second}"`))), 'json-surrogate', second)
  assert.is(code(parseStrictText('"\ud83d"')), 'json-surrogate')
  for (const hex of ['22ff22', 'efbbbf31', '22c08022'])
    assert.is(code(parseStrictJson(Buffer.from(hex, 'hex'))), 'json-encoding')
})

test('the offset of bad UTF-8 is that of its first bad byte', () => {
  const place = (hex: string) => {
    const parsed = parseStrictJson(Buffer.from(hex, 'hex'))
    return parsed.ok ? -1 : parsed.error.offset
  }
  assert.is(place('22e282ac61ff22'), 5)
  assert.is(place('22e282'), 1)
})

test('composed and decomposed keys stay two keys (A17)', () => {
  const parsed = parseStrictText('{"\u00e9":1,"e\u0301":2}')
  assert.ok(parsed.ok)
  assert.is(Object.keys(parsed.ok ? (parsed.value as object) : {}).length, 2)
})

test('keys that name prototypes are data or refused, and pollute nothing (A18)', () => {
  const parsed = parseStrictText('{"constructor":{"prototype":{"polluted":1}},"toJSON":"kept"}')
  assert.ok(parsed.ok && canonicalJson(parsed.value) === '{"constructor":{"prototype":{"polluted":1}},"toJSON":"kept"}')
  assert.is(code(parseStrictText('{"__proto__":{"polluted":1}}')), 'json-key')
  assert.is(code(parseStrictText('{"\\u005f\\u005fproto\\u005f\\u005f":{"polluted":1}}')), 'json-key')
  assert.is(({} as Record<string, unknown>).polluted, undefined)
})

test('a million brackets or keys are refused before they are parsed (A19, REC-13)', () => {
  const room = { maxBytes: 64 * 1024 * 1024 }
  assert.is(code(parseStrictJson(bytes('['.repeat(1e6)), room)), 'json-depth')
  assert.is(code(parseStrictJson(bytes('{"a":'.repeat(1e6)), room)), 'json-depth')
  const keys = Array.from({ length: 1e6 }, (_, i) => `"${i}":0`).join()
  assert.is(code(parseStrictJson(bytes(`{${keys}}`), room)), 'json-too-large')
  assert.is(code(parseStrictJson(bytes(`{${keys}}`))), 'json-too-large')
})

test('the limit of bytes is exact', () => {
  const text = (length: number) => bytes(`"${'x'.repeat(length - 2)}"`)
  assert.ok(parseStrictJson(text(JSON_MAX_BYTES)).ok)
  assert.is(code(parseStrictJson(text(JSON_MAX_BYTES + 1))), 'json-too-large')
})

test('a caller may set the limits, but not beyond the stack', () => {
  assert.is(code(parseStrictText('[[]]', { maxDepth: 1 })), 'json-depth')
  assert.ok(parseStrictText('[[]]', { maxDepth: 2 }).ok)
  assert.is(code(parseStrictText('['.repeat(1e5), { maxDepth: 1e9 })), 'json-depth')
  assert.is(code(parseStrictText('[{"a":1},{"b":1,"c":1}]', { maxKeys: 2 })), 'json-too-large')
})

test('hostile texts take time in proportion to their length (A21)', () => {
  const hostile: ((n: number) => string)[] = [
    // Twenty times longer: the search for a quote is so fast that a repeated one shows only here.
    (n) => `"${'\\n'.repeat(20 * n)}"`,
    (n) => `[${'"\\\\",'.repeat(n)}0]`,
    (n) => `0.${'0'.repeat(n)}1`,
    (n) => `1${'0'.repeat(n)}1${'0'.repeat(n)}`,
    (n) => `0.${'10'.repeat(n)}`,
    (n) => `"${'\\ud83d\\ude00'.repeat(n)}`,
    (n) => `{${Array.from({ length: n }, (_, i) => `"\\u0061${i}":0`).join()}}`,
    (n) => '"'.repeat(n),
    (n) => ' '.repeat(n),
  ]
  const room = { maxBytes: 1e9, maxKeys: 1e9 }
  const size = rounds(100_000, 400_000)
  for (const make of hostile) {
    const input = bytes(make(size))
    const before = process.cpuUsage()
    parseStrictJson(input, room)
    const { user } = process.cpuUsage(before)
    // A quadratic walk of the long suite would take more than 10^11 steps, a minute: no machine is slow enough to be taken for one.
    assert.ok(user < 25 * size, make(3))
  }
})

test('a pointer stays short where a key is long', () => {
  const parsed = parseStrictText(`{"a":{"${'k'.repeat(5000)}":-0}}`)
  assert.is(outcome(parsed), 'json-number at "/a"')
})

/** The outcome of slices, and of the whole at once. */
function sameInSlices(input: Uint8Array, options: StrictJsonOptions = {}): void {
  const parsing = parseStrictJsonInSlices(input, options)
  let next = parsing.next()
  while (next.done !== true) next = parsing.next()
  assert.equal(next.value, parseStrictJson(input, options), Buffer.from(input).toString('utf8'))
}

test('in slices every text comes to the same value or the same refusal, with its place, as at once (A384)', () => {
  for (const { text, hex } of readVectors<Vector[]>('strict-json.json'))
    sameInSlices(hex === undefined ? bytes(text ?? '') : Buffer.from(hex, 'hex'))
  const junk = fc
    .array(fc.constantFrom(...'{}[]:,"\\ud8-0.1eE+ \n\ttruefalsn\u0001'), { maxLength: 40 })
    .map((chars) => chars.join(''))
  const char = fc.constantFrom('"', '\\', '{', '}', ',', ':', '0', '', '\u0001', '[', '"a":1,', '"__proto__":1,')
  const damaged = fc
    .tuple(fc.jsonValue({ stringUnit: anyCharacter }), fc.nat(), char, fc.nat(2))
    .map(([value, at, put, indent]) => {
      const text = JSON.stringify(value, null, indent)
      const place = at % (text.length + 1)
      return text.slice(0, place) + put + text.slice(place)
    })
  const doubled = damaged.map((text) => `{"a":${text},"b":[1,${text}],"a":0}`)
  const limits = fc.record({ maxDepth: fc.integer({ min: 1, max: 8 }), maxKeys: fc.integer({ min: 1, max: 8 }) })
  fc.assert(
    fc.property(fc.oneof(junk, damaged, doubled), fc.option(limits), (text, limit) =>
      sameInSlices(bytes(text), limit ?? {}),
    ),
    { numRuns: rounds(300, 4_000, 20_000) },
  )
})

test('a string that is longer than a slice is cut within no escape and no character (A384)', () => {
  const unit = fc.constantFrom(
    'a',
    '\\n',
    '\\u00e9',
    '\\ud83d\\ude00',
    '\u{1f600}',
    '\\\\',
    '\\"',
    'long '.repeat(20_000),
  )
  fc.assert(
    fc.property(fc.array(unit, { minLength: 5, maxLength: 40 }), fc.nat(3), (units, key) => {
      const text = units.join('').repeat(key === 0 ? 1 : 40)
      sameInSlices(bytes(key === 1 ? `{"${text}":"${text}"}` : `["${text}"]`), { maxBytes: 1e9 })
    }),
    { numRuns: rounds(2, 25, 200) },
  )
})

test.run()
