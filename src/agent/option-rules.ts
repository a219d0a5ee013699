/** @module Validation of options: a misspelt name or an invalid value is an error at the call, instead of a default that is applied silently. */
import { nearestName } from '../../schemas/nearest-name.ts'
import { isCurrency, isMoney, NAME_MAX_CHARS } from '../../schemas/value-forms.ts'
import { AgentError } from './errors.ts'

/** Returns the expected value in words if the given value is invalid, otherwise undefined. */
export type Rule = (value: unknown) => Expected | undefined
/** The expected value in words, or the error inside a value that has members of its own. */
type Expected = string | { readonly inside: string }
/** One rule per option; the compiler reports a missing one. */
export type OptionRules<Options> = { readonly [Name in keyof Required<Options>]: Rule }

type Rules = Readonly<Record<string, Rule>>

/** Longest delay of a timer, in milliseconds. */
const TIMER_MAX_MS = 2 ** 31 - 1

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

const rule =
  (expected: string, isFit: (value: unknown) => boolean): Rule =>
  (value) =>
    isFit(value) ? undefined : expected

/** An object with members; those of a list or a map are no options. */
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && ![Array, Map, Set].some((other) => value instanceof other)
const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isFrom = (least: number, value: unknown): boolean => typeof value === 'number' && value >= least

export const anything: Rule = () => undefined
export const text = rule('a text that is not empty', isText)
/** A name with the length limits of the ledger. */
export const aName = rule(
  `a text of 1 to ${NAME_MAX_CHARS} characters`,
  (value) => isText(value) && String(value).length <= NAME_MAX_CHARS,
)
export const chars = (least: number, most: number): Rule =>
  rule(`a text of ${least} to ${most} characters`, (value) => {
    return typeof value === 'string' && value.length >= least && value.length <= most
  })
/** A list of objects that each have options. */
export const groups =
  <Options>(most: number, rules: OptionRules<Options>, needed: readonly (keyof Options & string)[] = []): Rule =>
  (value) => {
    if (!Array.isArray(value) || value.length > most) return `a list of at most ${most}`
    const faults = value.map((each) => group(rules, needed)(each))
    const at = faults.findIndex((fault) => fault !== undefined)
    const fault = faults[at]
    if (fault === undefined) return undefined
    return { inside: typeof fault === 'string' ? `entry ${at} is ${fault}` : `entry ${at}: ${fault.inside}` }
  }
export const names = (most: number): Rule =>
  rule(
    `a list of ${Number.isFinite(most) ? `at most ${most} ` : ''}texts of 1 to ${NAME_MAX_CHARS} characters`,
    (value) => {
      return Array.isArray(value) && value.length <= most && value.every((each) => aName(each) === undefined)
    },
  )
/** An amount and a currency. */
export const money = rule('an amount and a currency, such as "2.00 USD"', (value) => {
  const [amountOf, currency, ...more] = typeof value === 'string' ? value.split(' ') : []
  return isMoney(amountOf) && isCurrency(currency) && more.length === 0
})
export const within = (least: number, most: number, of = 'a whole number'): Rule =>
  rule(
    `${of} from ${least} to ${most}`,
    (value) => isFrom(least, value) && Number.isInteger(value) && Number(value) <= most,
  )
export const flag = rule('true or false', (value) => typeof value === 'boolean')
export const callable = rule('a function', (value) => typeof value === 'function')
export const anObject = rule('an object', isObject)
export const aList = rule('a list', Array.isArray)
export const aTime = rule(
  'a time such as "2026-01-31T12:00:00Z"',
  (value) => typeof value === 'string' && RFC3339.test(value) && !Number.isNaN(Date.parse(value)),
)
export const aDate = rule('a Date', (value) => value instanceof Date && !Number.isNaN(value.getTime()))
export const aSignal = rule('an AbortSignal', (value) => isObject(value) && 'aborted' in value)
export const tries = rule('a whole number of tries, 0 or more, or Infinity', (value) => {
  return isFrom(0, value) && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY)
})
export const atLeast1 = rule('a whole number, 1 or more, or Infinity', (value) => {
  return isFrom(1, value) && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY)
})
export const anyText = rule('a text', (value) => typeof value === 'string')
export const atLeast0 = rule('a number, 0 or more', (value) => isFrom(0, value))
export const amount = rule('a whole number, 0 or more', (value) => isFrom(0, value) && Number.isInteger(value))
export const milliseconds = rule(
  `a number of milliseconds, such as 5_000, up to ${TIMER_MAX_MS}`,
  (value) => isFrom(0, value) && Number(value) <= TIMER_MAX_MS,
)
/** A timeout in milliseconds; 0 is rejected, since nothing can finish in no time. */
export const timeout = rule(
  `a number of milliseconds, such as 5_000, above 0 and up to ${TIMER_MAX_MS}`,
  (value) => isFrom(0, value) && value !== 0 && Number(value) <= TIMER_MAX_MS,
)
export const oneOf = (...values: readonly string[]): Rule =>
  rule(values.map((value) => JSON.stringify(value)).join(' or '), (value) => values.includes(value as string))

export function either(expected: string, ...rules: readonly Rule[]): Rule {
  return (value) => (rules.some((each) => each(value) === undefined) ? undefined : expected)
}

/** An object with nested options; an error in it names the nested option. */
export function group<Options>(rules: OptionRules<Options>, needed: readonly (keyof Options & string)[] = []): Rule {
  return (value) => {
    if (!isObject(value)) return 'an object'
    const fault = faultIn(value, rules as Rules) ?? missingIn(value, rules as Rules, needed)
    return fault && { inside: fault.message }
  }
}

/** Throws `invalid-option`. `of` names the call that the options belong to, such as `cs.tool(charge)`. */
export function checkOptions<Options>(
  of: string,
  options: unknown,
  rules: OptionRules<Options>,
  needed: readonly (keyof Options & string)[] = [],
): void {
  const fault = isObject(options)
    ? (faultIn(options, rules as Rules) ?? missingIn(options, rules as Rules, needed))
    : { message: `options are an object, not ${shown(options)}` }
  if (fault === undefined) return
  const { message, ...evidence } = fault
  throw new AgentError('invalid-option', `${of}: ${message}`, evidence)
}

function missingIn(options: object, rules: Rules, needed: readonly string[]): OptionFault | undefined {
  const option = needed.find((name) => Reflect.get(options, name) === undefined)
  return option === undefined
    ? undefined
    : { message: `${option} is missing: ${wanted(rules[option]?.(undefined))}`, option }
}

function wanted(expected: Expected = ''): string {
  return typeof expected === 'string' ? expected : expected.inside
}

interface OptionFault {
  readonly message: string
  readonly option?: string
  readonly nearest?: string
}

/** An option whose value is undefined is treated as absent. */
function faultIn(options: object, rules: Rules): OptionFault | undefined {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined) continue
    const judge = Object.hasOwn(rules, option) ? rules[option] : undefined
    if (judge === undefined) return unknownOption(option, Object.keys(rules))
    const expected = judge(value)
    if (expected === undefined) continue
    if (typeof expected === 'object') return { message: `${option}: ${expected.inside}`, option }
    return { message: `${option} takes ${expected}, not ${shown(value)}`, option }
  }
  return undefined
}

function unknownOption(option: string, known: readonly string[]): OptionFault {
  const nearest = nearestName(option, known)
  const advice = nearest === undefined ? `the options are ${known.join(', ')}` : `did you mean ${nearest}?`
  return { message: `there is no option ${option}: ${advice}`, option, ...(nearest !== undefined && { nearest }) }
}

const SHOWN_MAX_CHARS = 80

/** A value as messages show it. */
export function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value) && value.length > 0)
    return `a list of ${shown(value.find((each) => typeof each !== 'string') ?? value[0])}`
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Map || value instanceof Set) return `a ${value.constructor.name}`
  if (isObject(value)) return 'an object'
  return (typeof value === 'string' ? JSON.stringify(value) : String(value)).slice(0, SHOWN_MAX_CHARS)
}
