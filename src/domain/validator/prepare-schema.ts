/** @module What a JSON Schema that comes from outside may be, and where its evaluation is counted. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'

/** Canonical text of a schema, in bytes. */
export const SCHEMA_MAX_BYTES = 64 * 1024
const SCHEMA_MAX_DEPTH = 64
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
/** Put beside each reference: without references a schema takes no more work than its size and the payload's allow. */
export const COUNTED = 'x-countersign-counted'

/** Ajv leads `#` back to a schema by its name only; each is compiled alone, so that one name serves all. */
const NAME = 'https://schema.invalid/agent'

/** Keywords whose value is data, not a schema. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords whose value maps names to schemas: a name there is no keyword. */
const MAP_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
const REFERENCES = ['$ref', '$dynamicRef'] as const

/** The schema with its references counted. Throws `SyntaxError`, with a message for whoever wrote the schema. */
export function prepareSchema(schema: JsonObject): JsonObject {
  const { $schema, $id: _name, ...rest } = schema
  if ($schema !== undefined && $schema !== DIALECT && $schema !== `${DIALECT}#`) {
    throw new SyntaxError(`$schema must be ${DIALECT} or absent`)
  }
  return { ...prepareObject(rest, 1), $id: NAME }
}

function prepareValue(value: Json, depth: number): Json {
  if (Array.isArray(value)) return value.map((member) => prepareValue(member as Json, depth + 1))
  return isJsonObject(value) ? prepareObject(value, depth) : value
}

function prepareObject(schema: JsonObject, depth: number): JsonObject {
  if (depth > SCHEMA_MAX_DEPTH) throw new SyntaxError(`a schema nests at most ${SCHEMA_MAX_DEPTH} deep`)
  for (const keyword of ['$id', '$async', '$recursiveRef', COUNTED]) {
    if (Object.hasOwn(schema, keyword)) throw new SyntaxError(`${keyword} is not taken in a schema`)
  }
  for (const keyword of REFERENCES) checkReference(schema[keyword])

  const prepared: Record<string, Json> = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, prepareKeyword(keyword, value, depth)]),
  )
  if (REFERENCES.some((keyword) => Object.hasOwn(schema, keyword))) prepared[COUNTED] = true
  return prepared
}

function prepareKeyword(keyword: string, value: Json, depth: number): Json {
  if (DATA_KEYWORDS.has(keyword)) return value
  if (!MAP_KEYWORDS.has(keyword) || !isJsonObject(value)) return prepareValue(value, depth + 1)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, prepareValue(each, depth + 2)]))
}

/** Nothing is ever fetched: a reference leads to a place in the schema itself. */
function checkReference(reference: Json | undefined): void {
  if (reference === undefined || (typeof reference === 'string' && reference.startsWith('#'))) return
  throw new SyntaxError('$ref must lead into the schema itself: "#/$defs/..."')
}
