/** @module Keywords for single values (JSON Schema 2020-12 Validation, sections 6.1 to 6.3): type, enum, const, numbers, strings. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import { canonicalText } from '../validator/report.ts'
import { type Check, type Evaluation, fault, quoted } from './evaluation.ts'
import {
  type Checks,
  keywordOf,
  patternOf,
  readCount,
  readNumber,
  readText,
  refuseKeyword,
  type SchemaPlace,
} from './schema-compilation.ts'
import { spend } from './work.ts'

const IS_TYPE: Readonly<Record<string, (value: Json) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  string: (value) => typeof value === 'string',
  array: Array.isArray,
  object: isJsonObject,
}

/** The canonical text of a value; its length is charged to the work budget. */
export function textOf(value: Json, run: Evaluation): string {
  const text = canonicalText(value)
  spend(run.work, 1 + text.length)
  return text
}

export function typeKeywords(place: SchemaPlace, checks: Checks): void {
  const type = keywordOf(place, 'type')
  if (type !== undefined) checks.any.push(typeCheck(place, type))

  const allowed = keywordOf(place, 'enum')
  if (allowed !== undefined && !Array.isArray(allowed)) refuseKeyword(place, 'enum', 'a list')
  if (Array.isArray(allowed)) checks.any.push(equalsOne(place, allowed, 'must be equal to one of the allowed values'))
  const only = keywordOf(place, 'const')
  if (only !== undefined) checks.any.push(equalsOne(place, [only], 'must be equal to constant'))
}

function typeCheck(place: SchemaPlace, type: Json): Check {
  const names: Json[] = Array.isArray(type) ? [...type] : [type]
  const known = names.every((name) => typeof name === 'string' && Object.hasOwn(IS_TYPE, name))
  if (!known || names.length === 0) {
    refuseKeyword(place, 'type', `one or a list of ${Object.keys(IS_TYPE).join(', ')}`)
  }
  // OpenAPI's notation for an additional type `null`.
  if (keywordOf(place, 'nullable') === true) names.push('null')
  const types = names.map((name) => IS_TYPE[String(name)] as (value: Json) => boolean)
  const message = `must be ${names.join(',')}`
  return (value, run) => types.some((is) => is(value)) || fault(run, message)
}

function equalsOne({ compilation }: SchemaPlace, allowed: readonly Json[], message: string): Check {
  const scalars = new Set(allowed.filter((each) => typeof each !== 'object' || each === null))
  const texts = new Set(allowed.filter((each) => typeof each === 'object' && each !== null).map(canonicalText))
  spend(compilation.work, allowed.length)
  return (value, run) => {
    const isContainer = typeof value === 'object' && value !== null
    const isOne = isContainer ? texts.size > 0 && texts.has(textOf(value, run)) : scalars.has(value)
    return isOne || fault(run, message)
  }
}

const BOUNDS: readonly (readonly [string, string, (value: number, bound: number) => boolean])[] = [
  ['maximum', '<=', (value, bound) => value <= bound],
  ['exclusiveMaximum', '<', (value, bound) => value < bound],
  ['minimum', '>=', (value, bound) => value >= bound],
  ['exclusiveMinimum', '>', (value, bound) => value > bound],
]

export function numberKeywords(place: SchemaPlace, checks: Checks): void {
  for (const [keyword, sign, holds] of BOUNDS) {
    const bound = readNumber(place, keyword)
    if (bound === undefined) continue
    checks.number.push((value, run) => holds(value, bound) || fault(run, `must be ${sign} ${bound}`))
  }
  const divisor = readNumber(place, 'multipleOf')
  if (divisor === undefined) return
  if (divisor <= 0) refuseKeyword(place, 'multipleOf', 'greater than 0')
  checks.number.push((value, run) => Number.isInteger(value / divisor) || fault(run, `must be multiple of ${divisor}`))
}

export function stringKeywords(place: SchemaPlace, checks: Checks): void {
  const most = readCount(place, 'maxLength')
  if (most !== undefined) {
    const message = `must NOT have more than ${most} characters`
    checks.string.push((text, run) => !hasMoreThan(text, most, run) || fault(run, message))
  }
  const least = readCount(place, 'minLength')
  if (least !== undefined && least > 0) {
    const message = `must NOT have fewer than ${least} characters`
    checks.string.push((text, run) => hasMoreThan(text, least - 1, run) || fault(run, message))
  }
  const source = readText(place, 'pattern')
  if (source === undefined) return
  const pattern = patternOf(place, source)
  const message = `must match pattern "${quoted(source)}"`
  checks.string.push((text, run) => pattern.test(text, run.work) || fault(run, message))
}

/** Whether a text has more than `most` code points; counts them only if the number of UTF-16 units does not decide it. */
function hasMoreThan(text: string, most: number, run: Evaluation): boolean {
  if (text.length <= most) return false
  if (text.length > 2 * most) return true
  spend(run.work, text.length)
  let points = 0
  for (let at = 0; at < text.length; points += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return points > most
}
