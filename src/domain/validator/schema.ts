/**
 * @module JSON Schema (2020-12) for schemas that come from outside: no network, no backtracking patterns, bounded work. The same
 * schema and payload always get the same answer.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { LRUCache } from 'lru-cache'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { compilePattern, spend, WorkExhausted } from './linear-pattern.ts'
import { formatPointer } from './pointer.ts'
import { COUNTED, prepareSchema, SCHEMA_MAX_BYTES } from './prepare-schema.ts'
import { canonicalText } from './report.ts'

/** Compiled schemas kept; one is a few tens of KiB. */
const COMPILED_MAX = 200
/** Steps of pattern matches and followed references for one payload: about a quarter of a second. */
const STEPS_MAX = 20_000_000
/** A reference followed costs as much as so many steps of a pattern. */
const REFERENCE_STEPS = 20
/** The formats' own expressions are not ours to bound; nothing that has a format is longer. */
const FORMAT_MAX_CHARS = 4096

export interface SchemaFault {
  /** JSON Pointer into the payload. */
  readonly path: string
  readonly message: string
}

export type CompiledSchema =
  | { readonly ok: true; readonly validate: (payload: JsonObject) => readonly SchemaFault[] }
  /** `message` is for whoever registers the schema. */
  | { readonly ok: false; readonly message: string }

const work = { stepsLeft: STEPS_MAX }
let ajv: Ajv2020 | undefined
const byText = new LRUCache<string, CompiledSchema>({ max: COMPILED_MAX })
const byObject = new WeakMap<JsonObject, CompiledSchema>()

/** Never throws; the same schema is compiled once. */
export function compileSchema(schema: JsonObject): CompiledSchema {
  const known = byObject.get(schema)
  if (known !== undefined) return known

  const text = canonicalText(schema)
  const compiled = byText.get(text) ?? compileNew(schema, text)
  byText.set(text, compiled)
  byObject.set(schema, compiled)
  return compiled
}

function compileNew(schema: JsonObject, text: string): CompiledSchema {
  const bytes = Buffer.byteLength(text)
  if (bytes > SCHEMA_MAX_BYTES)
    return { ok: false, message: `a schema has at most ${SCHEMA_MAX_BYTES} bytes, not ${bytes}` }
  ajv ??= createAjv()
  work.stepsLeft = STEPS_MAX
  try {
    const prepared = prepareSchema(schema)
    const check = ajv.compile(prepared)
    // The compiled function is all that is kept: Ajv's own cache has no bound.
    ajv.removeSchema(prepared)
    return { ok: true, validate: (payload) => faultsOf(check, payload) }
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) }
  }
}

function faultsOf(check: ValidateFunction, payload: JsonObject): readonly SchemaFault[] {
  work.stepsLeft = STEPS_MAX
  try {
    if (check(payload)) return []
    const faults = (check.errors ?? []).map(faultOf)
    check.errors = null
    return faults
  } catch (error) {
    // A schema that leads back to itself without end exhausts the stack before the count.
    if (error instanceof WorkExhausted || error instanceof RangeError) {
      return [{ path: '', message: 'the payload takes too much work to check against the schema' }]
    }
    throw error
  }
}

function faultOf({ instancePath, keyword, message, params }: ErrorObject): SchemaFault {
  const extra: unknown = params.additionalProperty ?? params.unevaluatedProperty ?? params.propertyName
  const path = typeof extra === 'string' ? `${instancePath}${formatPointer([extra])}` : instancePath
  return { path, message: message ?? `fails ${keyword}` }
}

function createAjv(): Ajv2020 {
  const regExp = Object.assign(
    (source: string) => {
      const pattern = compilePattern(source, work)
      // Ajv tells patterns apart by their text.
      return { test: (text: string) => pattern.test(text), toString: () => source }
    },
    { code: 'countersign-pattern' },
  )
  const created = new Ajv2020({
    strict: false,
    allErrors: true,
    addUsedSchema: false,
    // One copy of each definition: a short schema must not become megabytes of code.
    inlineRefs: false,
    logger: false,
    code: { regExp },
  })
  addFormats.default(created)
  boundFormats(created)
  boundKeywords(created)
  return created
}

function boundFormats(instance: Ajv2020): void {
  // Its expression backtracks exponentially; `uri` is the format of the standard.
  delete instance.formats.url
  for (const [name, format] of Object.entries(instance.formats)) {
    const validate = typeof format === 'object' && 'validate' in format ? format.validate : format
    const check = validate instanceof RegExp ? (text: string) => validate.test(text) : validate
    if (typeof check !== 'function' || (typeof format === 'object' && 'type' in format && format.type === 'number'))
      continue
    const bounded = (text: string): boolean =>
      text.length <= FORMAT_MAX_CHARS && (check as (text: string) => boolean)(text)
    instance.formats[name] = name === 'byte' ? (check as (text: string) => boolean) : bounded
  }
}

/** Ajv compares each item with each other, and each value with each member of an `enum`. */
function boundKeywords(instance: Ajv2020): void {
  instance.removeKeyword('uniqueItems')
  instance.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    compile: (isUnique: boolean) => (items: readonly Json[]) =>
      !isUnique || new Set(items.map(canonicalText)).size === items.length,
  })
  instance.removeKeyword('enum')
  instance.addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    error: { message: 'must be equal to one of the allowed values' },
    compile: (allowed: readonly Json[]) => {
      const texts = new Set(allowed.map(canonicalText))
      return (value: Json) => texts.has(canonicalText(value))
    },
  })
  instance.addKeyword({
    keyword: COUNTED,
    schemaType: 'boolean',
    before: '$ref',
    validate: () => {
      spend(work, REFERENCE_STEPS)
      return true
    },
  })
}
