import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { compilePattern, WorkExhausted } from '../../../src/domain/validator/linear-pattern.ts'
import { SCHEMA_MAX_BYTES } from '../../../src/domain/validator/prepare-schema.ts'
import { compileSchema } from '../../../src/domain/validator/schema.ts'

const test = suite('schemas of agents')

function faults(schema: JsonObject, payload: JsonObject): string[] {
  const compiled = compileSchema(schema)
  if (!compiled.ok) throw new Error(compiled.message)
  return compiled.validate(payload).map(({ path, message }) => `${path}: ${message}`)
}

function refusal(schema: JsonObject): string {
  const compiled = compileSchema(schema)
  return compiled.ok ? 'accepted' : compiled.message
}

test('a payload that breaks its schema is told every place', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://example.com/agent',
    type: 'object',
    properties: {
      price: { type: 'number' },
      kind: { enum: ['a', { b: 1 }] },
      tags: { uniqueItems: true },
      at: { format: 'date-time' },
    },
    required: ['price'],
    additionalProperties: false,
  }
  assert.equal(faults(schema, { price: 5, kind: { b: 1 }, tags: [1, '1', [1]], at: '2026-05-20T08:00:00Z' }), [])
  assert.equal(
    faults(schema, {
      kind: 'c',
      tags: [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      at: 'noon',
      'x/y': 1,
    }).sort(),
    [
      '/at: must match format "date-time"',
      '/kind: must be equal to one of the allowed values',
      '/tags: must NOT have duplicate items',
      '/x~1y: must NOT have additional properties',
      ": must have required property 'price'",
    ],
  )
})

test('2020-12 keywords work: prefixItems, $defs, unevaluatedProperties, dependentSchemas', () => {
  const schema = {
    $defs: { point: { prefixItems: [{ type: 'number' }, { type: 'number' }], items: false } },
    properties: { at: { $ref: '#/$defs/point' } },
    unevaluatedProperties: false,
  }
  assert.equal(faults(schema, { at: [1, 2] }), [])
  assert.is(faults(schema, { at: [1, 2, 3] }).length, 1)
  assert.is(faults(schema, { at: [1, 2], more: 1 }).length, 1)
})

test('a recursive schema follows a payload as deep as payloads go', () => {
  const schema = {
    $ref: '#/$defs/node',
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
  }
  const chain = (depth: number, end: Json): JsonObject => {
    let value: Json = end
    for (let i = 0; i < depth; i++) value = { next: value }
    return value as JsonObject
  }
  assert.equal(faults(schema, chain(60, {})), [])
  assert.is(faults(schema, chain(60, 1)).length, 1)
})

test('what does not compile is told to whoever registers it', () => {
  assert.match(refusal({ type: 'objekt' }), /type/)
  assert.match(refusal({ properties: { a: { pattern: '(' } } }), /regular expression|pattern|group/i)
  assert.match(refusal({ $ref: '#/$defs/none' }), /resolve/)
  assert.match(refusal({ $schema: 'http://json-schema.org/draft-07/schema#' }), /\$schema/)
})

test('a reference out of the schema is refused: nothing is ever fetched', () => {
  for (const $ref of [
    'https://example.com/s.json',
    'http://169.254.169.254/',
    'file:///etc/passwd',
    'other.json',
    '//host/x',
  ]) {
    assert.match(refusal({ properties: { a: { $ref } } }), /\$ref must lead into the schema/)
  }
  assert.match(refusal({ properties: { a: { $id: 'https://example.com/', $ref: '#' } } }), /\$id/)
  assert.match(refusal({ $async: true }), /\$async/)
})

test('a property that is called $ref is a property, and data may hold one', () => {
  const schema = { properties: { $ref: { const: { $ref: 'https://example.com/' } } } }
  assert.equal(faults(schema, { $ref: { $ref: 'https://example.com/' } }), [])
  assert.is(faults(schema, { $ref: 1 }).length, 1)
})

test('an oversized or very deep schema is refused', () => {
  assert.match(refusal({ description: 'x'.repeat(SCHEMA_MAX_BYTES) }), /bytes/)
  let deep: JsonObject = {}
  for (let i = 0; i < 100; i++) deep = { not: deep }
  assert.match(refusal(deep), /deep/)
})

test('the same schema is compiled once, however its members are ordered', () => {
  const first = compileSchema({ type: 'object', minProperties: 1 })
  assert.ok(first === compileSchema({ minProperties: 1, type: 'object' }))
})

test('a schema that leads back to itself without end is a fault, not a crash', () => {
  const fault = [': the payload takes too much work to check against the schema']
  assert.equal(faults({ $ref: '#' }, {}), fault)
  assert.equal(faults({ $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }, {}), fault)
})

test('references that double at each step end within the work given to a payload', () => {
  const $defs: Record<string, JsonObject> = { d0: { minProperties: 1 } }
  for (let i = 1; i < 40; i++)
    $defs[`d${i}`] = { anyOf: [{ $ref: `#/$defs/d${i - 1}` }, { $ref: `#/$defs/d${i - 1}` }] }
  assert.match(faults({ $defs, $ref: '#/$defs/d39' }, {})[0] ?? '', /too much work/)
})

test('a pattern that would backtrack without end costs time in the length of the text', () => {
  for (const pattern of ['^(a+)+$', '^(a|a)*$', '(.*a){12}$', '^(a|aa)+$', 'a*a*a*a*b']) {
    const schema = { properties: { text: { pattern } } }
    assert.is(faults(schema, { text: `${'a'.repeat(5_000)}!` }).length, 1)
  }
  assert.equal(faults({ properties: { text: { pattern: '^(a+)+$' } } }, { text: 'a'.repeat(5_000) }), [])
})

test('a pattern that needs more work than a payload is given is a fault even under not', () => {
  const schema = { properties: { text: { not: { pattern: 'x(?:.?){900}y' } } } }
  assert.match(faults(schema, { text: 'x'.repeat(100_000) })[0] ?? '', /too much work/)
  // The next payload has its own work to spend.
  assert.equal(faults(schema, { text: 'a' }), [])
})

test('a text too long for any format has none', () => {
  assert.is(faults({ properties: { at: { format: 'email' } } }, { at: `${'a'.repeat(5_000)}@example.com` }).length, 1)
})

const runs = (pattern: string, text: string): boolean => compilePattern(pattern, { stepsLeft: 1e7 }).test(text)

test('patterns mean what they mean in ECMAScript', () => {
  const table: [pattern: string, texts: string[]][] = [
    ['^[a-z]{2,4}-\\d+$', ['ab-1', 'abcde-1', 'a-1', 'abcd-', 'ABC-1']],
    ['^(?:SEA|NYC)(?<to>-[A-Z]{3})?$', ['SEA', 'NYC-SEA', 'SEANYC']],
    ['\\bart\\b', ['an art', 'party', 'art', 'é art']],
    ['\\Bart', ['party', 'art']],
    ['^.$', ['😀', '\n', 'a', '']],
    ['^[^\\]\\\\/]$', [']', '\\', '/', 'x']],
    ['^\\p{Lu}\\P{Lu}*$', ['Élan', 'éÉ', 'AbC']],
    ['^\\u{1f600}\\x41\\u0042\\cJ$', ['😀AB\n', '😀AB']],
    ['^\\ud83d\\ude00$', ['😀', '\ud83d']],
    ['^[\\ud83d\\ude00-\\u{1f64f}]+$', ['😀😁', 'x']],
    ['a{0}b', ['b', 'ab', 'a']],
    ['^a{2}$|^b{1,}?$', ['aa', 'a', 'bbb', '']],
    ['^(|a)+$', ['', 'aaa', 'b']],
    ['(a*)*$', ['', 'b', 'aab']],
    ['^\\$\\.\\{\\}\\/\\|$', ['$.{}/|', '$']],
    ['[\\w.+-]+@[\\w-]+\\.[\\w.]+', ['a.b+c@d-e.fr', 'a@b', '@']],
    ['^[\\b\\-\\]]$', ['\b', '-', ']', 'b']],
    ['', ['', 'x']],
  ]
  for (const [pattern, texts] of table) {
    for (const text of texts)
      assert.is(runs(pattern, text), new RegExp(pattern, 'u').test(text), `${pattern} on ${JSON.stringify(text)}`)
  }
})

test('random patterns agree with the engine on random texts', () => {
  const leaf = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\b', '^', '$', '')
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}', '*?'))
        .map(([a, q]) => `(${a})${q}`),
    ),
  }))
  const text = fc.array(fc.constantFrom('a', 'b', 'é', ' ', '😀'), { maxLength: 6 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(pattern, text, (source, given) => {
      assert.is(runs(source, given), new RegExp(source, 'u').test(given))
    }),
    { numRuns: 2_000 },
  )
})

test('what has no linear bound is refused: look-around and back-references', () => {
  for (const pattern of [
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(?<!a)',
    '(a)\\1',
    '(?<n>a)\\k<n>',
    'a{5000}',
    '((a{100}){100}){100}',
  ]) {
    assert.throws(
      () => compilePattern(pattern, { stepsLeft: 1e6 }),
      (error: Error) => error instanceof SyntaxError,
      pattern,
    )
  }
  assert.throws(
    () => runs('(', ''),
    (error: Error) => error instanceof SyntaxError,
  )
  assert.throws(
    () => compilePattern('a', { stepsLeft: 1 }).test('bbb'),
    (error: Error) => error instanceof WorkExhausted,
  )
})

test.run()
