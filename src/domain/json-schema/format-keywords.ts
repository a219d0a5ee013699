/** @module Keyword `format`, and the limits of dates and times that go with it; the formats are those of `ajv-formats`. */
import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { Json } from '../../../schemas/json.ts'
import { type Evaluation, fault, quoted } from './evaluation.ts'
import { type Checks, keywordOf, readText, refuseKeyword, type SchemaPlace } from './schema-compilation.ts'
import { spend } from './work.ts'

/** Maximum length of a text with a format, in characters; it bounds the library's regular expressions. */
const FORMAT_MAX_CHARS = 4096
/** Exempt from the limit: Base64 of a file may be longer, and its expression takes linear time. */
const UNBOUNDED = 'byte'
/** Formats whose expressions backtrack exponentially; `uri` is the standard format. */
const NOT_TAKEN: ReadonlySet<string> = new Set(['url'])

interface Format {
  readonly ofNumbers: boolean
  readonly test: (value: never) => boolean
  readonly compare?: (a: string, b: string) => number | undefined
}

const FORMATS: ReadonlyMap<string, Format> = new Map(
  Object.entries(fullFormats).flatMap(([name, definition]) => {
    const format = formatOf(definition)
    return format === undefined || NOT_TAKEN.has(name) ? [] : [[name, format] as const]
  }),
)

function formatOf(definition: unknown): Format | undefined {
  if (definition instanceof RegExp) return { ofNumbers: false, test: (text: string) => definition.test(text) }
  if (typeof definition === 'function') return { ofNumbers: false, test: definition as Format['test'] }
  if (typeof definition !== 'object' || definition === null || !('validate' in definition)) return undefined
  const inner = formatOf(definition.validate)
  const compare = 'compare' in definition ? (definition.compare as Format['compare']) : undefined
  const ofNumbers = 'type' in definition && definition.type === 'number'
  return inner && { ...inner, ofNumbers, ...(compare && { compare }) }
}

const LIMITS: readonly (readonly [string, string, (order: number) => boolean])[] = [
  ['formatMaximum', '<=', (order) => order <= 0],
  ['formatExclusiveMaximum', '<', (order) => order < 0],
  ['formatMinimum', '>=', (order) => order >= 0],
  ['formatExclusiveMinimum', '>', (order) => order > 0],
]

/** Adds the checks of `format`. An unknown format is an annotation only, as in the standard. */
export function formatKeywords(place: SchemaPlace, checks: Checks): void {
  const name = readText(place, 'format')
  const format = name === undefined ? undefined : FORMATS.get(name)
  if (name === undefined || format === undefined) return
  const message = `must match format "${quoted(name)}"`
  if (format.ofNumbers) {
    const test = format.test as (value: number) => boolean
    checks.number.push((value, run) => test(value) || fault(run, message))
    return
  }
  const test = format.test as (text: string) => boolean
  const isBounded = name !== UNBOUNDED
  checks.string.push((text, run) => {
    if (isBounded && text.length > FORMAT_MAX_CHARS) return fault(run, message)
    spendOn(text, run)
    return test(text) || fault(run, message)
  })
  addLimits(place, format, checks)
}

/** Steps of the slowest format, per text and per character. */
const FORMAT_STEPS = 20
const FORMAT_STEPS_A_CHAR = 2

function spendOn(text: string, run: Evaluation): void {
  spend(run.work, FORMAT_STEPS + FORMAT_STEPS_A_CHAR * text.length)
}

function addLimits(place: SchemaPlace, { compare }: Format, checks: Checks): void {
  if (compare === undefined) return
  for (const [keyword, sign, holds] of LIMITS) {
    const limit: Json | undefined = keywordOf(place, keyword)
    if (limit === undefined) continue
    if (typeof limit !== 'string') refuseKeyword(place, keyword, 'a string')
    const message = `should be ${sign} ${quoted(limit)}`
    checks.string.push((text, run) => {
      if (text.length > FORMAT_MAX_CHARS) return true
      spendOn(text, run)
      const order = compare(text, limit)
      return order === undefined || holds(order) || fault(run, message)
    })
  }
}
