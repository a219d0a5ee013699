/** @module The compilation of one schema: state shared by its keywords, and helpers that read keyword values. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../schemas/json-pointer.ts'
import type { Check, Seen } from './evaluation.ts'
import { compilePattern, type LinearPattern } from './linear-pattern.ts'
import type { Atoms } from './parse-pattern.ts'
import type { Work } from './work.ts'

export interface Compilation {
  readonly work: Work
  readonly atoms: Atoms
  readonly patterns: Map<string, LinearPattern>
  /** Compiles the schema at a place of the document. */
  readonly compile: (schema: Json, pointer: readonly Token[]) => Check
  /** Registers a reference, which is resolved once all schemas are known. */
  readonly refer: (reference: string, place: SchemaPlace) => { check: Check }
  /** Registers an anchor (`$anchor`) that references may use. */
  readonly name: (anchor: string, place: SchemaPlace) => void
}

/** A schema object in the document. */
export interface SchemaPlace {
  readonly schema: JsonObject
  readonly pointer: readonly Token[]
  readonly compilation: Compilation
}

/** The checks of a schema, by the type of value that they apply to. `last` runs after all others. */
export interface Checks {
  readonly any: Check[]
  readonly number: Check<number>[]
  readonly string: Check<string>[]
  readonly array: Check<readonly Json[]>[]
  readonly object: Check<JsonObject>[]
  readonly last: ((value: Json, run: Parameters<Check>[1], seen: Seen) => boolean)[]
}

/** Reads some keywords of a schema and adds their checks. */
export type Family = (place: SchemaPlace, checks: Checks) => void

export function refuseKeyword({ pointer }: SchemaPlace, keyword: string, mustBe: string): never {
  throw new SyntaxError(`${formatPointer([...pointer, keyword])}: ${keyword} must be ${mustBe}`)
}

/** The value of a keyword; undefined if the schema does not have it. */
export function keywordOf({ schema }: SchemaPlace, keyword: string): Json | undefined {
  return Object.hasOwn(schema, keyword) ? schema[keyword] : undefined
}

export function readNumber(place: SchemaPlace, keyword: string): number | undefined {
  const value = keywordOf(place, keyword)
  return value === undefined || typeof value === 'number' ? value : refuseKeyword(place, keyword, 'a number')
}

export function readCount(place: SchemaPlace, keyword: string): number | undefined {
  const value = readNumber(place, keyword)
  if (value === undefined || (Number.isInteger(value) && value >= 0)) return value
  return refuseKeyword(place, keyword, 'an integer of 0 or more')
}

export function readText(place: SchemaPlace, keyword: string): string | undefined {
  const value = keywordOf(place, keyword)
  return value === undefined || typeof value === 'string' ? value : refuseKeyword(place, keyword, 'a string')
}

export function readFlag(place: SchemaPlace, keyword: string): boolean {
  const value = keywordOf(place, keyword)
  return value === undefined || typeof value === 'boolean' ? value === true : refuseKeyword(place, keyword, 'a boolean')
}

export function asTexts(value: Json): readonly string[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined
}

/** The members of a keyword that maps names to values. */
export function readMembers(place: SchemaPlace, keyword: string): readonly (readonly [string, Json])[] {
  const value = keywordOf(place, keyword)
  if (value === undefined) return []
  return isJsonObject(value) ? Object.entries(value) : refuseKeyword(place, keyword, 'an object')
}

/** The value of a keyword, compiled as a schema. */
export function readSchema(place: SchemaPlace, keyword: string): Check | undefined {
  const value = keywordOf(place, keyword)
  return value === undefined ? undefined : place.compilation.compile(value, [...place.pointer, keyword])
}

/** The value of a keyword that lists schemas, compiled. */
export function readSchemas(place: SchemaPlace, keyword: string): readonly Check[] | undefined {
  const value = keywordOf(place, keyword)
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length === 0) return refuseKeyword(place, keyword, 'a list of schemas, not empty')
  return value.map((each, i) => place.compilation.compile(each as Json, [...place.pointer, keyword, i]))
}

/** The value of a keyword that maps names to schemas, compiled. */
export function readNamedSchemas(place: SchemaPlace, keyword: string): readonly (readonly [string, Check])[] {
  return readMembers(place, keyword).map(([name, schema]) => {
    return [name, place.compilation.compile(schema, [...place.pointer, keyword, name])]
  })
}

export function patternOf({ compilation, pointer }: SchemaPlace, source: string): LinearPattern {
  const { patterns, work, atoms } = compilation
  const known = patterns.get(source)
  if (known !== undefined) return known
  try {
    const pattern = compilePattern(source, work, atoms)
    patterns.set(source, pattern)
    return pattern
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new SyntaxError(`${formatPointer(pointer)}: ${error.message}`)
  }
}
