import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import { CANONICAL_MAX_DEPTH, canonicalJson } from '../../src/signing/canonical-json.ts'
import { isCanonicalJson } from '../../src/signing/canonical-scan.ts'
import { parseStrictText } from '../../src/signing/strict-json.ts'
import { anyCharacter } from '../support/any-character.ts'
import { rounds } from '../support/rounds.ts'
import { readVectors } from './vectors.ts'

interface Pair {
  readonly name: string
  readonly input: string
  readonly canonical: string
}

const test = suite('canonical JSON (RFC 8785)')

for (const { name, input, canonical } of readVectors<Pair[]>('jcs/pairs.json')) {
  test(`pair: ${name}`, () => assert.is(canonicalJson(JSON.parse(input)), canonical))
}

test('numbers are written as in RFC 8785 appendix B', () => {
  for (const [bits, text] of readVectors<[string, string][]>('jcs/numbers.json')) {
    const value = Buffer.from(bits, 'hex').readDoubleBE()
    if (text === '') assert.throws(() => canonicalJson(value), isTypeError)
    else assert.is(canonicalJson(value), text, bits)
  }
})

/** Slow and obvious: RFC 8785 read aloud. */
function reference(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(reference).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${reference(member)}`).join(',')}}`
}

const key = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.nat(120).map(String),
  fc.constantFrom('__proto__', 'toJSON', 'constructor', ''),
)
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: anyCharacter }),
    fc.array(tie('json'), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('json')), { maxLength: 40 }).map((members) => Object.fromEntries(members)),
  ) as fc.Arbitrary<Json>,
}))

test('the text equals a slow reference, and is its own canonical form (SEAL-1)', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value)
      assert.is(text, reference(value))
      assert.is(canonicalJson(JSON.parse(text)), text)
    }),
    { numRuns: rounds(100, 500) },
  )
})

/** What the scan shortens: strict parsing, writing again, comparing. */
function isCanonicalReference(text: string): boolean {
  const parsed = parseStrictText(text, { maxDepth: 8 })
  return parsed.ok && canonicalJson(parsed.value) === text
}

test('the scan for canonical text agrees with parsing and writing again', () => {
  const spelled = fc.constantFrom(
    ...[
      '-0',
      '0',
      '1.0',
      '1e21',
      '1E21',
      '1e+21',
      '1e-7',
      '0.000001',
      '123456789012345678',
      '9007199254740993',
      '01',
      '-',
      '1.',
    ],
    ...[
      '"\\u0041"',
      '"\\u001F"',
      '"\\u001f"',
      '"\\u0009"',
      '"\\t"',
      '"\\/"',
      '"\u2028"',
      '"\\ud83d\\ude00"',
      '"\ud83d\ude00"',
    ],
    ...[
      '{"b":1,"a":2}',
      '{"a":1,"a":2}',
      '{"\\n":1,"a":2}',
      '{"__proto__":1}',
      '{"a" :1}',
      '[1,]',
      '[,]',
      '{}',
      '[]',
      'tru',
      '\n1',
      '',
      '"\ud800"',
    ],
    ...[
      '[[[[[[[[]]]]]]]]',
      '[[[[[[[[[]]]]]]]]]',
      `${'{"a":'.repeat(8)}1${'}'.repeat(8)}`,
      `${'{"a":'.repeat(9)}1${'}'.repeat(9)}`,
      '1e400',
      '0.1000',
      '1'.repeat(5000),
      '"\\b\\f\\n\\r\\t\\"\\\\\\u000b"',
      '{"\\"":0,"\\\\":1}',
    ],
  )
  const damaged = fc.tuple(json, fc.nat(), fc.constantFrom(...'"\\{}[],:0 .e-')).map(([value, at, char]) => {
    const text = canonicalJson(value)
    const place = at % (text.length + 1)
    return text.slice(0, place) + char + text.slice(place + (at % 2))
  })
  const text = fc.oneof(
    spelled,
    spelled.map((one) => `[${one},{"k":${one}}]`),
    json.map(canonicalJson),
    damaged,
  )
  fc.assert(
    fc.property(text, (candidate) => {
      assert.is(isCanonicalJson(candidate, 8), isCanonicalReference(candidate), candidate)
    }),
    { numRuns: rounds(500, 4_000) },
  )
})

test('members are in order by their UTF-16 code units, whatever is escaped in their keys and however long they are (A225)', () => {
  const unit = fc.constantFrom(...'ab_~\u007f"\\\n\u001fé€\ue000\uffff', '\ud83d\ude00')
  const key = fc.oneof(fc.string({ unit, maxLength: 4 }), fc.constantFrom('__proto__', '__proto_', '__proto__a'))
  const long = fc.constantFrom('', 'x'.repeat(22_000), '€'.repeat(22_000))
  fc.assert(
    fc.property(key, key, key, long, (a, b, c, value) => {
      const members = [a, b, c].map((name) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
      const text = `{${members.join(',')}}`
      assert.is(isCanonicalJson(text, 8), isCanonicalReference(text), text.slice(0, 80))
    }),
    { numRuns: rounds(300, 3_000) },
  )
})

test('what I-JSON cannot hold is refused wherever it stands', () => {
  const bad: unknown[] = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '\ud800',
    'a\udc00',
    undefined,
    1n,
    () => 1,
    Symbol('s'),
  ]
  for (const value of bad) {
    for (const holder of [value, [value], { a: value }]) {
      assert.throws(() => canonicalJson(holder as Json), isTypeError)
    }
  }
  assert.throws(() => canonicalJson({ '\ud800': 1 }), isTypeError)
})

test('nesting beyond the bound and cycles are refused before the stack ends', () => {
  const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as Json
  assert.is(canonicalJson(nested(CANONICAL_MAX_DEPTH)).length, 2 * CANONICAL_MAX_DEPTH)
  assert.throws(() => canonicalJson(nested(CANONICAL_MAX_DEPTH + 1)), isTypeError)
  assert.throws(() => canonicalJson(nested(100_000)), isTypeError)
  const cycle: Json[] = []
  cycle.push(cycle)
  assert.throws(() => canonicalJson(cycle), isTypeError)
})

test('toJSON is data, never a call (A18)', () => {
  assert.is(canonicalJson({ toJSON: 'x' }), '{"toJSON":"x"}')
  const sly = Object.assign(Object.create({ toJSON: () => 'other' }), { a: 1 }) as Json
  assert.is(canonicalJson(sly), '{"a":1}')
})

test('a member named __proto__ is written like any other', () => {
  assert.is(canonicalJson(JSON.parse('{"b":1,"__proto__":{"z":1}}')), '{"__proto__":{"z":1},"b":1}')
})

test('an inherited member is not written', () => {
  const value = Object.assign(Object.create({ inherited: 1 }), { own: 2 }) as Json
  assert.is(canonicalJson(value), '{"own":2}')
})

function isTypeError(error: unknown): boolean {
  return error instanceof TypeError
}

test.run()
