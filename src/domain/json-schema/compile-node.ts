/** @module Compiles a schema document to one check: first each subschema by its keywords, then the references to their targets. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { formatPointer, parsePointer, type Token, valueAt } from '../../../schemas/json-pointer.ts'
import { arrayKeywords } from './array-keywords.ts'
import { addSeen, type Check, type Evaluation, enter, fault, nothingSeen, type Seen } from './evaluation.ts'
import { formatKeywords } from './format-keywords.ts'
import { combiningKeywords, referenceKeywords } from './in-place-keywords.ts'
import { objectKeywords } from './object-keywords.ts'
import { numberKeywords, stringKeywords, typeKeywords } from './scalar-keywords.ts'
import type { Checks, Compilation, Family, SchemaPlace } from './schema-compilation.ts'
import { unevaluatedKeywords } from './unevaluated-keywords.ts'
import { spend, type Work } from './work.ts'

const SCHEMA_MAX_DEPTH = 64
/** Steps for compiling one schema in the document, and for each of its keywords. */
const SCHEMA_STEPS = 40
const KEYWORD_STEPS = 10

const FAMILIES: readonly Family[] = [
  referenceKeywords,
  combiningKeywords,
  typeKeywords,
  numberKeywords,
  stringKeywords,
  formatKeywords,
  arrayKeywords,
  objectKeywords,
  unevaluatedKeywords,
]

interface Pending {
  readonly reference: string
  readonly target: { check: Check }
}

/** Throws `SyntaxError`, with a message for the author of the schema, and `WorkExhausted`. */
export function compileDocument(root: JsonObject, work: Work): Check {
  const known = new Map<JsonObject, Check>()
  const anchors = new Map<string, JsonObject>()
  const pending: Pending[] = []
  const compilation: Compilation = {
    work,
    atoms: new Map(),
    patterns: new Map(),
    compile: (schema, pointer) => compileSchemaAt(schema, pointer, { compilation, known }),
    refer: (reference, place) => {
      checkReference(reference, place)
      const target = { check: (): boolean => false }
      pending.push({ reference, target })
      return target
    },
    name: (anchor, { schema, pointer }) => {
      if ((anchors.get(anchor) ?? schema) !== schema) {
        throw new SyntaxError(`${formatPointer(pointer)}: the anchor ${anchor} is already that of another schema`)
      }
      anchors.set(anchor, schema)
    },
  }
  const check = compilation.compile(root, [])
  // The target of a reference may contain further references, so the list grows during this loop.
  for (const { reference, target } of pending) {
    const named = anchors.get(reference.slice(1))
    target.check = named === undefined ? compileReferred(reference, root, compilation) : compilation.compile(named, [])
  }
  return check
}

/** References are never fetched: each must point into the schema itself. */
function checkReference(reference: string, { pointer }: SchemaPlace): void {
  if (reference.startsWith('#')) return
  throw new SyntaxError(`${formatPointer(pointer)}: $ref must lead into the schema itself: "#/$defs/..."`)
}

function compileReferred(reference: string, root: JsonObject, { compile, work }: Compilation): Check {
  const tokens = parsePointer(unescaped(reference.slice(1)))
  spend(work, reference.length)
  const schema = tokens === undefined ? undefined : valueAt(root, tokens)
  if (tokens === undefined || schema === undefined) {
    throw new SyntaxError(`$ref ${reference}: can't resolve it, the schema has no such place`)
  }
  return compile(schema, tokens)
}

/** Decodes the escapes of a reference, which is a URI fragment (RFC 6901 section 6). */
function unescaped(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    throw new SyntaxError(`$ref #${fragment}: its escapes are no UTF-8`)
  }
}

interface Document {
  readonly compilation: Compilation
  readonly known: Map<JsonObject, Check>
}

function compileSchemaAt(schema: Json, pointer: readonly Token[], { compilation, known }: Document): Check {
  if (typeof schema === 'boolean') return schema ? taking : refusing
  if (!isJsonObject(schema)) throw new SyntaxError(`${formatPointer(pointer)}: a schema is an object or a boolean`)
  if (pointer.length > SCHEMA_MAX_DEPTH) throw new SyntaxError(`a schema nests at most ${SCHEMA_MAX_DEPTH} deep`)
  const compiled = known.get(schema)
  if (compiled !== undefined) return compiled

  for (const keyword of ['$id', '$async', '$recursiveRef']) {
    if (Object.hasOwn(schema, keyword)) throw new SyntaxError(`${keyword} is not taken in a schema`)
  }
  spend(compilation.work, SCHEMA_STEPS + KEYWORD_STEPS * Object.keys(schema).length)
  const checks: Checks = { any: [], number: [], string: [], array: [], object: [], last: [] }
  const check = checkOf(checks)
  known.set(schema, check)
  for (const add of FAMILIES) add({ schema, pointer, compilation }, checks)
  return check
}

const taking: Check = (_, run) => {
  spend(run.work, 1)
  return true
}

const refusing: Check = (_, run) => {
  spend(run.work, 1)
  return fault(run, 'boolean schema is false')
}

function checkOf(checks: Checks): Check {
  const { any, last } = checks
  return (value, run, seen) => {
    enter(run)
    const typed = checksOfType(checks, value)
    spend(run.work, 1 + any.length + typed.length + last.length)
    const own = last.length > 0 ? nothingSeen() : seen
    let holds = true
    for (const check of any) holds = check(value, run, own) && holds
    for (const check of typed) holds = check(value as never, run, own) && holds
    if (last.length > 0) holds = runLast(last, value, { run, own: own as Seen }) && holds
    if (own !== seen) addSeen(run, seen, own)
    run.depth -= 1
    return holds
  }
}

function runLast(last: Checks['last'], value: Json, { run, own }: { run: Evaluation; own: Seen }): boolean {
  let holds = true
  for (const check of last) holds = check(value, run, own) && holds
  return holds
}

const NONE: readonly Check<never>[] = []

function checksOfType(checks: Checks, value: Json): readonly Check<never>[] {
  if (typeof value === 'string') return checks.string
  if (typeof value === 'number') return checks.number
  if (typeof value === 'boolean' || value === null) return NONE
  return Array.isArray(value) ? checks.array : checks.object
}
