/** @module Schemas and payloads made from a seed: the same seed, the same pair. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { pick, seededRandom, testSeed } from '../../support/random.ts'

export interface Random {
  /** 0 up to `below`, whole. */
  readonly whole: (below: number) => number
  readonly one: <T>(of: readonly T[]) => T
}

export function randomOf(seed: number): Random {
  const random = seededRandom(testSeed(seed))
  return { whole: (below) => Math.floor(random() * below), one: (of) => pick(random, of) }
}

const NAMES = ['a', 'b', 'c', 'key']
const SCALARS: readonly Json[] = [null, true, false, 0, 1, 2, 3.5, -4, 1e15, '', 'a', 'abc', '2026-05-20', '😀😀']
const TYPES = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']

export function randomValue(random: Random, depth = 3): Json {
  const kind = depth === 0 ? 0 : random.whole(3)
  if (kind === 1) return times(random, 4, () => randomValue(random, depth - 1))
  return kind === 2 ? randomPayload(random, depth - 1) : random.one(SCALARS)
}

export function randomPayload(random: Random, depth = 3): JsonObject {
  return named(random, () => randomValue(random, depth))
}

export function randomSchema(random: Random, depth = 3): Json {
  if (depth === 0 || random.whole(8) === 0) return random.whole(3) > 0
  const keywords = Object.keys(KEYWORDS)
  const schema: Record<string, Json> = {}
  for (let i = random.whole(5); i >= 0; i -= 1) {
    const keyword = random.one(keywords)
    schema[keyword] = (KEYWORDS[keyword] as Maker)(random, depth - 1)
  }
  // Ajv leaves out a condition that nothing follows; the standard lets it count for `unevaluated*`.
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  if (schema.if !== undefined && schema.else === undefined) schema.then ??= true
  return schema
}

type Maker = (random: Random, depth: number) => Json

const times = <T>(random: Random, below: number, make: () => T): T[] =>
  Array.from({ length: random.whole(below) }, make)
const named = (random: Random, make: () => Json): JsonObject =>
  Object.fromEntries(times(random, 5, () => [random.one(NAMES), make()]))
const names: Maker = (random) => [...new Set(times(random, 3, () => random.one(NAMES)))]
const count: Maker = (random) => random.whole(4)
const bound: Maker = (random) => random.one([-4, 0, 1, 2, 3.5])
const list: Maker = (random, depth) => [
  randomSchema(random, depth),
  ...times(random, 3, () => randomSchema(random, depth)),
]
const members: Maker = (random, depth) => named(random, () => randomSchema(random, depth))
const differing = (random: Random): Json[] => {
  const values = Array.from({ length: 3 }, () => randomValue(random, 1))
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
}

const KEYWORDS: Readonly<Record<string, Maker>> = {
  type: (random) => (random.whole(2) === 0 ? random.one(TYPES) : [...new Set([random.one(TYPES), random.one(TYPES)])]),
  enum: differing,
  const: (random) => randomValue(random, 1),
  maximum: bound,
  minimum: bound,
  exclusiveMaximum: bound,
  exclusiveMinimum: bound,
  multipleOf: (random) => random.one([1, 2, 0.5]),
  minLength: count,
  maxLength: count,
  pattern: (random) => random.one(['^a', 'b', '^.{2}$', '\\d', '[^a]']),
  format: (random) => random.one(['date', 'email', 'uri', 'unheard-of']),
  minItems: count,
  maxItems: count,
  uniqueItems: (random) => random.whole(2) === 0,
  prefixItems: list,
  items: randomSchema,
  contains: randomSchema,
  minContains: count,
  maxContains: count,
  minProperties: count,
  maxProperties: count,
  required: names,
  dependentRequired: (random) => named(random, () => names(random, 0)),
  dependentSchemas: members,
  properties: members,
  patternProperties: (random, depth) => ({ [random.one(['^a', 'e', '^[bc]$'])]: randomSchema(random, depth) }),
  additionalProperties: randomSchema,
  propertyNames: randomSchema,
  unevaluatedProperties: randomSchema,
  unevaluatedItems: randomSchema,
  allOf: list,
  anyOf: list,
  oneOf: list,
  not: randomSchema,
  if: randomSchema,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: randomSchema,
  else: randomSchema,
  $ref: (random) => random.one(['#/$defs/a', '#/$defs/b', '#named']),
}
