import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { compileSchema, SCHEMA_MAX_BYTES } from '../../../src/domain/json-schema/compile-schema.ts'

const test = suite('schemas of agents')

const TOO_EXPENSIVE = 'too much work'

function faults(schema: JsonObject, payload: JsonObject): string[] {
  const compiled = compileSchema(schema)
  if (!compiled.ok) throw new Error(compiled.message)
  const checked = compiled.check(payload)
  if (checked.kind === 'too-expensive') return [TOO_EXPENSIVE]
  return checked.faults.map(({ path, message }) => `${path}: ${message}`)
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
  const fault = [TOO_EXPENSIVE]
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

test('(A57) a schema of 19 KiB and a payload of 117 KiB end within the work that one handoff may take', () => {
  const schema = { properties: { items: { items: { anyOf: Array.from({ length: 1_300 }, () => ({ minimum: 5 })) } } } }
  const payload = { items: Array.from({ length: 58_000 }, () => 1) }
  assert.equal(faults(schema, payload), [TOO_EXPENSIVE])
  // No more is listed than is read; all are counted.
  const compiled = compileSchema({ properties: { items: { items: { minimum: 5 } } } })
  const checked = compiled.ok ? compiled.check(payload) : undefined
  assert.is(checked?.kind === 'checked' ? checked.faults.length : 0, 100)
  assert.is(checked?.kind === 'checked' ? checked.faultsTotal : 0, 58_000)
})

test('(A57) a schema that would take long to compile is refused, whatever makes it long', () => {
  const alternatives = { oneOf: Array.from({ length: 2_000 }, (_, i) => ({ const: i, type: 'number' })) }
  assert.is(refusal(alternatives), 'accepted')
  assert.match(refusal({ pattern: `(?:){${Number.MAX_SAFE_INTEGER}}` }), /too much work/)
  assert.match(refusal({ pattern: '(?:(?:){100000}){100000}' }), /too much work/)
  const classes = Array.from({ length: 200 }, (_, i) => ({ pattern: `[\\p{L}${String.fromCharCode(0x4100 + i)}]` }))
  assert.match(refusal({ allOf: classes }), /too much work/)
  const states = Array.from({ length: 100 }, (_, i) => ({ pattern: `[ab]{1,999}${i}` }))
  assert.match(refusal({ allOf: states }), /too much work/)
})

test('(A57) long keys are not listed a hundred times over', () => {
  const key = 'k'.repeat(200_000)
  const compiled = compileSchema({ additionalProperties: { items: false } })
  const found =
    compiled.ok &&
    compiled.check({
      [key]: { a: 1 },
      ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${key}${i}`, [1]])),
    })
  assert.ok(found && found.kind === 'checked' && found.faultsTotal === 200 && found.faults.length === 1)
})

test('what failed in an alternative, a condition or under not is no fault of a payload that holds', () => {
  const schema = {
    anyOf: [{ required: ['x'] }, { required: ['a'] }],
    not: { required: ['y'] },
    if: { required: ['z'] },
    else: true,
  }
  assert.equal(faults(schema, { a: 1 }), [])
  assert.equal(faults(schema, { b: 1 }).sort(), [
    ": must have required property 'a'",
    ": must have required property 'x'",
    ': must match a schema in anyOf',
  ])
})

test('keywords of OpenAPI and Ajv that manifests may have: nullable, dependencies, formatMinimum', () => {
  assert.equal(faults({ properties: { a: { type: 'string', nullable: true } } }, { a: null }), [])
  assert.is(faults({ dependencies: { a: ['b'], c: { required: ['d'] } } }, { a: 1, c: 1 }).length, 2)
  const since = { properties: { at: { format: 'date', formatMinimum: '2026-01-01' } } }
  assert.equal(faults(since, { at: '2026-05-20' }), [])
  assert.is(faults(since, { at: '2025-12-31' }).length, 1)
})

test('a condition that holds counts for unevaluatedProperties, also where nothing follows it', () => {
  const schema = { if: { properties: { a: true } }, unevaluatedProperties: false }
  assert.equal(faults(schema, { a: 1 }), [])
  assert.equal(faults(schema, { b: 1 }), ['/b: must NOT have unevaluated properties'])
})

test('a keyword of the wrong shape is told with its place in the schema', () => {
  assert.match(
    refusal({ properties: { a: { minLength: -1 } } }),
    /^\/properties\/a\/minLength: minLength must be an integer/,
  )
  assert.match(refusal({ allOf: [] }), /allOf must be a list of schemas, not empty/)
  assert.match(refusal({ properties: { a: 5 } }), /^\/properties\/a: a schema is an object or a boolean/)
  assert.match(refusal({ allOf: [{ $anchor: 'x' }, { $anchor: 'x' }] }), /anchor x/)
})

test.run()
