/**
 * @module Schemas and payloads that are made to cost: each kind multiplies one size by another. `size` goes from 0 to 1; at 1 a schema
 * is near its 64 KiB and a payload near its 512 KiB.
 */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { type Random, randomSchema } from './random-schemas.ts'

const SCHEMA_CHARS = 60_000
const PAYLOAD_CHARS = 480_000

const fill = <T>(chars: number, each: number, make: (at: number) => T): T[] =>
  Array.from({ length: Math.max(1, Math.floor(chars / each)) }, (_, at) => make(at))

/** Each takes the characters that it may fill. */
const PAYLOADS: Readonly<Record<string, (chars: number, random: Random) => JsonObject>> = {
  'many small objects': (chars) => ({ items: fill(chars, 12, (at) => ({ a: at % 10, b: 1 })) }),
  'many empty objects': (chars) => ({ items: fill(chars, 3, () => ({})) }),
  'many texts': (chars, random) => ({ items: fill(chars, 22, () => 'a'.repeat(1 + random.whole(20))) }),
  'one long text': (chars) => ({ items: ['a'.repeat(chars)] }),
  'one long text of two units a character': (chars) => ({ items: ['😀'.repeat(chars / 4)] }),
  'many keys': (chars) => ({ items: [Object.fromEntries(fill(chars, 10, (at) => [`k${at}`, 0]))] }),
  'long keys': (chars) => ({
    items: [Object.fromEntries(fill(chars, 4_000, (at) => [`${'a/~'.repeat(1_300)}${at}`, [0, 1]]))],
  }),
  'one key that holds all': (chars) => ({ ['/'.repeat(chars / 2)]: fill(chars / 2, 4, () => 1), items: [] }),
  'lists within lists': (chars) => ({ items: fill(chars, 130, () => nested(60, [])) }),
  'texts that nearly have a format': (chars, random) => ({ items: fill(chars, 4_090, () => nearlyFormatted(random)) }),
  'the same item often': (chars) => ({ items: fill(chars, 40, () => ({ a: [1, 2, { b: 'same', c: [null] }] })) }),
}

function nested(depth: number, inner: Json): Json {
  return depth === 0 ? inner : [nested(depth - 1, inner)]
}

const NEARLY = ['a@', 'a.', 'http://a', '1', '/a', '~0', '{a}', 'a-', ':', '%20', '[::', '1.', 'P1', 'AAAA', '0:']

const nearlyFormatted = (random: Random): string =>
  `${random.one(NEARLY)}${random.one(NEARLY).repeat(1_300)}`.slice(0, 4_000) + random.one(NEARLY)

const FORMATS = [
  'date-time',
  'duration',
  'uri',
  'uri-reference',
  'uri-template',
  'email',
  'hostname',
  'ipv6',
  'regex',
  'json-pointer',
  'byte',
]

const CLASSES = ['[a-z]', '[^b]', '\\w', '\\p{L}', '[\\p{L}\\d]', '.']

/** What is asked of each item; `chars` are those that the schema may fill. */
const ITEM_SCHEMAS: Readonly<Record<string, (chars: number, random: Random) => JsonObject>> = {
  'alternatives of which none holds': (chars, random) => {
    const never = random.one<Json>([false, { minimum: 1e9, type: 'number' }, { required: ['no'] }, { enum: ['no'] }])
    return { [random.one(['anyOf', 'oneOf'])]: fill(chars, JSON.stringify(never).length + 1, () => never) }
  },
  'alternatives that all hold': (chars, random) => ({ [random.one(['allOf', 'oneOf'])]: fill(chars, 5, () => true) }),
  'long enumerations': (chars) => ({
    anyOf: fill(chars, 600, (at) => ({ enum: fill(500, 12, (i) => ({ a: [at, i] })) })),
  }),
  'many that ask for differing items': (chars) => ({ allOf: fill(chars, 20, () => ({ uniqueItems: true })) }),
  'many that count characters': (chars) => ({ allOf: fill(chars, 22, (at) => ({ minLength: 250_000 + at })) }),
  'many required names': (chars) => ({ required: fill(chars, 10, (at) => `name${at}`) }),
  'many properties': (chars) => ({ properties: Object.fromEntries(fill(chars, 14, (at) => [`p${at}`, true])) }),
  'many patterns of properties': (chars) => ({
    patternProperties: Object.fromEntries(fill(chars, 16, (at) => [`k.*${at}$`, true])),
  }),
  'names that must match': (chars, random) => ({
    propertyNames: { anyOf: fill(chars, 30, () => ({ pattern: hostilePattern(random) })) },
  }),
  patterns: (chars, random) => ({ allOf: fill(chars, 60, () => ({ pattern: hostilePattern(random) })) }),
  'one long pattern': (chars, random) => ({ pattern: random.one(CLASSES).repeat(Math.min(chars, 4_000) / 10) }),
  'optional characters': (_, random) => ({ not: { pattern: `x(?:${random.one(CLASSES)}?){${random.whole(950)}}y` } }),
  formats: (chars, random) => ({ allOf: fill(chars, 22, () => ({ format: random.one(FORMATS) })) }),
  'references that double': () => doubling(40),
  'what must be contained': (chars) => ({ allOf: fill(chars, 30, () => ({ contains: { type: 'string' } })) }),
  'what nothing has looked at': (chars) => ({
    allOf: fill(chars, 40, () => ({ patternProperties: { '': true }, items: true })),
    unevaluatedProperties: false,
    unevaluatedItems: false,
  }),
  'nothing looked at, over and over': (chars) => ({ allOf: fill(chars, 32, () => ({ unevaluatedProperties: false })) }),
  conditions: (chars) => ({ allOf: fill(chars, 40, () => ({ if: { type: 'object' }, else: false })) }),
  'numbers of members': (chars) => ({ allOf: fill(chars, 24, () => ({ minProperties: 9_999_999 })) }),
  'any schema': (_, random) => ({ allOf: fill(random.whole(400), 10, () => randomSchema(random, 4)) }),
}

function hostilePattern(random: Random): string {
  const one = random.one(CLASSES)
  return random.one([
    `(${one}+)+$`,
    `(${one}|${one})*b`,
    `(?:${one}?){${random.whole(60)}}b`,
    `(?:){${random.whole(2_000)}}b`,
    `(${one}*)*y`,
    `(||||${one})*z`,
  ])
}

function doubling(levels: number): JsonObject {
  const $defs: Record<string, Json> = { d0: { minProperties: 1 } }
  for (let i = 1; i < levels; i += 1) {
    $defs[`d${i}`] = {
      anyOf: [
        { $ref: `#/properties/items/items/$defs/d${i - 1}` },
        { $ref: `#/properties/items/items/$defs/d${i - 1}` },
      ],
    }
  }
  return { $defs, $ref: `#/properties/items/items/$defs/d${levels - 1}` }
}

export interface HostilePair {
  readonly kind: string
  readonly schema: JsonObject
  readonly payload: JsonObject
}

export function hostilePair(random: Random, size: number): HostilePair {
  const [ofItem, ofPayload] = [random.one(Object.keys(ITEM_SCHEMAS)), random.one(Object.keys(PAYLOADS))]
  const item = ITEM_SCHEMAS[ofItem]?.(SCHEMA_CHARS * size, random) ?? {}
  const payload = PAYLOADS[ofPayload]?.(PAYLOAD_CHARS * size, random) ?? {}
  const others = random.one<Json>([true, item])
  const named = { a: item, b: item, named: { $anchor: 'named' } }
  const schema = ofItem === 'any schema' ? { $defs: named } : {}
  const around = {
    ...schema,
    properties: { items: { items: item } },
    additionalProperties: others === true ? true : { items: { $ref: '#/properties/items/items' } },
  }
  return { kind: `${ofItem}, ${ofPayload}`, schema: around, payload }
}
