/**
 * @module JSON Schema (2020-12) for schemas from callers. Schemas are interpreted, not compiled to code: each step of a check and of its
 * compilation is counted, so that neither blocks the thread that writes. The same schema and payload always get the same answer.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { canonicalText } from '../validator/report.ts'
import { compileDocument } from './compile-node.ts'
import { type Check, faultsOf, type SchemaFault, startEvaluation } from './evaluation.ts'
import { WorkExhausted } from './work.ts'

/** Maximum size of the canonical text of a schema, in bytes. */
export const SCHEMA_MAX_BYTES = 64 * 1024
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
/** Maximum steps of one check and of one compilation. A step takes 20 to 60 ns, so the limit is about 25 ms, plus garbage collection. */
export const CHECK_STEPS_MAX = 400_000
export const COMPILE_STEPS_MAX = 600_000
/** Maximum size of the cache of compiled schemas, in compilation steps: about 50 MB at most. */
const REMEMBERED_STEPS_MAX = 4_000_000

export type CheckedPayload =
  | {
      readonly kind: 'checked'
      readonly faults: readonly SchemaFault[]
      readonly faultsTotal: number
      readonly steps: number
    }
  /** The payload needed more steps than the limit; nothing is known about it. */
  | { readonly kind: 'too-expensive' }

export type CompiledSchema =
  | { readonly ok: true; readonly check: (payload: Json) => CheckedPayload }
  /** `message` is for the caller that registers the schema. */
  | { readonly ok: false; readonly message: string }

interface Remembered {
  readonly compiled: CompiledSchema
  readonly steps: number
}

const byDigest = new LRUCache<string, Remembered>({
  maxSize: REMEMBERED_STEPS_MAX,
  sizeCalculation: ({ steps }) => steps,
})
/** Caches digests only: a compiled schema must not live as long as the run that holds the schema. */
const digests = new WeakMap<JsonObject, string>()

/** Never throws. A schema is compiled once, as long as it stays in the cache. */
export function compileSchema(schema: JsonObject): CompiledSchema {
  const digest = digestOf(schema)
  const known = byDigest.get(digest)
  if (known !== undefined) return known.compiled
  const made = compileNew(schema)
  byDigest.set(digest, made)
  return made.compiled
}

function digestOf(schema: JsonObject): string {
  const known = digests.get(schema)
  if (known !== undefined) return known
  const digest = createHash('sha256').update(canonicalText(schema)).digest('base64')
  digests.set(schema, digest)
  return digest
}

function compileNew(schema: JsonObject): Remembered {
  const bytes = Buffer.byteLength(canonicalText(schema))
  const refused = (message: string): Remembered => ({ compiled: { ok: false, message }, steps: 1 })
  if (bytes > SCHEMA_MAX_BYTES) return refused(`a schema has at most ${SCHEMA_MAX_BYTES} bytes, not ${bytes}`)
  const { $schema, $id: _name, ...root } = schema
  if ($schema !== undefined && $schema !== DIALECT && $schema !== `${DIALECT}#`) {
    return refused(`$schema must be ${DIALECT} or absent`)
  }
  const work = { stepsLeft: COMPILE_STEPS_MAX }
  try {
    const check = compileDocument(root, work)
    const steps = bytes + COMPILE_STEPS_MAX - work.stepsLeft
    return { compiled: { ok: true, check: (payload) => checkPayload(check, payload) }, steps }
  } catch (error) {
    if (error instanceof SyntaxError) return refused(error.message)
    if (error instanceof WorkExhausted) return refused('the schema takes too much work: fewer or simpler patterns')
    throw error
  }
}

function checkPayload(check: Check, payload: Json): CheckedPayload {
  const run = startEvaluation({ stepsLeft: CHECK_STEPS_MAX })
  try {
    check(payload, run, undefined)
    const { faultsTotal, work } = run
    return { kind: 'checked', faults: faultsOf(run), faultsTotal, steps: CHECK_STEPS_MAX - work.stepsLeft }
  } catch (error) {
    if (error instanceof WorkExhausted) return { kind: 'too-expensive' }
    throw error
  }
}
