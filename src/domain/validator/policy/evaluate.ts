/** @module Evaluates an expression over named documents: two contexts, or a call's arguments. The number of steps is bounded, and only own members are read. */

import { plainText } from '../../../../projections/plain-text.ts'
import type { Expression, Operator } from '../../../../schemas/expression.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { isNear, isSameNumber, readCertainNumber, readNumber } from '../meaning/numbers.ts'
import { productInDecimal, sumInDecimal } from './in-decimal.ts'

export type Outcome = 'holds' | 'fails' | 'unknown' | 'too-long'

/** Maximum steps of all invariants of one handoff together: a few milliseconds. */
export const STEPS_MAX = 200_000

export interface Budget {
  stepsLeft: number
  /** Cache of the members of objects. */
  readonly members: Map<Json, readonly Json[]>
}

/** Documents by the names that expressions use. */
type Documents = Readonly<Record<string, Json>>

/** Characters of a text, and members of an object, read per step. */
const STEP_CHARS = 64
const STEP_MEMBERS = 8

interface Scope {
  readonly documents: Documents
  /** The list member in which a bare name is looked up first. */
  readonly member?: Json
  readonly budget: Budget
  /** Whether values that can be read in more than one way count as unknown, and numbers are compared without a tolerance. */
  readonly isCertain: boolean
  /** A quotient is rounded: numbers that differ by noise alone cannot be told apart. Only if `isCertain`. */
  readonly isRounded?: boolean
}

/** A missing member is undefined, and so is every result computed from it. */
type Value = Json | undefined

class OutOfSteps extends Error {}

export function evaluate(expression: Expression, documents: Documents, budget: Budget): Outcome {
  const value = reckoned(expression, { documents, budget, isCertain: false })
  if (value === undefined || value === null) return 'unknown'
  if (value instanceof OutOfSteps) return 'too-long'
  return value === true ? 'holds' : 'fails'
}

/**
 * Whether the expression is definitely false. It is not if the result is unknown, not a boolean, or exceeds the step limit. A number with
 * more than one possible reading counts as unknown, and so does a result of which a double cannot hold all digits.
 */
export function isRuledOut(expression: Expression, documents: Documents, budget: Budget): boolean {
  return reckoned(expression, { documents, budget, isCertain: true, isRounded: divides(expression) }) === false
}

function divides(expression: Expression): boolean {
  switch (expression.kind) {
    case 'value':
    case 'path':
      return false
    case 'not':
    case 'minus':
      return divides(expression.of)
    case 'binary':
      return expression.operator === '/' || divides(expression.left) || divides(expression.right)
    case 'call':
      return expression.args.some(divides)
  }
}

function reckoned(expression: Expression, scope: Scope): Value | OutOfSteps {
  try {
    return reckon(expression, scope)
  } catch (error) {
    if (error instanceof OutOfSteps) return error
    throw error
  }
}

function reckon(expression: Expression, scope: Scope): Value {
  spend(scope)
  switch (expression.kind) {
    case 'value':
      return expression.value
    case 'path':
      return lookUp(expression.names, scope)
    case 'not': {
      const value = reckon(expression.of, scope)
      return typeof value === 'boolean' ? !value : undefined
    }
    case 'minus': {
      const number = numberOf(reckon(expression.of, scope), scope)
      return number === undefined ? undefined : -number
    }
    case 'binary':
      return binary(expression.operator, expression.left, expression.right, scope)
    case 'call':
      return call(expression, scope)
  }
}

function spend({ budget }: Scope, steps = 1): void {
  budget.stepsLeft -= steps
  if (budget.stepsLeft < 0) throw new OutOfSteps()
}

function lookUp([first = '', ...rest]: readonly string[], scope: Scope): Value {
  const own = scope.member === undefined ? undefined : memberOf(scope.member, first)
  let value: Value = own === undefined && Object.hasOwn(scope.documents, first) ? scope.documents[first] : own
  for (const name of rest) value = value === undefined ? undefined : memberOf(value, name)
  return value
}

function memberOf(value: Json, name: string): Value {
  if (Array.isArray(value)) return /^\d+$/.test(name) ? value[Number(name)] : undefined
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function binary(operator: Operator, left: Expression, right: Expression, scope: Scope): Value {
  if (operator === '&&' || operator === '||') return logical(operator, reckon(left, scope), () => reckon(right, scope))
  const [a, b] = [reckon(left, scope), reckon(right, scope)]
  if (a === undefined || b === undefined) return undefined
  if (operator === '==' || operator === '!=') {
    const same = isSame(a, b, scope)
    return same === undefined ? undefined : same === (operator === '==')
  }
  const [x, y] = [numberOf(a, scope), numberOf(b, scope)]
  if (x === undefined || y === undefined) return undefined
  return scope.isCertain ? certain(operator, x, y, scope) : arithmetic(operator, x, y)
}

/** Three-valued logic: an unknown operand does not matter if the other operand alone decides the result. */
function logical(operator: '&&' | '||', left: Value, right: () => Value): Value {
  const decisive = operator === '||'
  if (left === decisive) return decisive
  const other = right()
  if (other === decisive) return decisive
  return typeof left === 'boolean' && typeof other === 'boolean' ? !decisive : undefined
}

function isSame(a: Json, b: Json, scope: Scope): boolean | undefined {
  const [x, y] = [numberOf(a, scope), numberOf(b, scope)]
  if (x !== undefined && y !== undefined)
    return scope.isCertain ? isEqual(x, y, scope) : isSameNumber(x, y) || Math.abs(x - y) <= 1e-9
  if (scope.isCertain && (x === undefined) !== (y === undefined) && isUnclear(x === undefined ? a : b)) return undefined
  if (a !== null && b !== null && (typeof a === 'object' || typeof b === 'object')) return undefined
  return typeof a === 'string' && typeof b === 'string' ? plainText(a) === plainText(b) : a === b
}

/** Undefined if the numbers differ by no more than the rounding of a quotient. */
function isEqual(x: number, y: number, { isRounded }: Scope): boolean | undefined {
  if (x === y) return true
  return isRounded === true && isNear(x, y) ? undefined : false
}

/** As the numbers are written, because that is what the tool gets. */
function certain(operator: Operator, x: number, y: number, scope: Scope): Value {
  switch (operator) {
    case '+':
      return sumInDecimal(x, y) ?? rounded(x + y, scope)
    case '-':
      return sumInDecimal(x, -y) ?? rounded(x - y, scope)
    case '*':
      return productInDecimal(x, y) ?? rounded(x * y, scope)
    case '/':
      return quotient(x, y)
    default: {
      const same = isEqual(x, y, scope)
      if (same === undefined) return undefined
      if (same) return operator === '<=' || operator === '>='
      return operator === '<' || operator === '<=' ? x < y : x > y
    }
  }
}

/** A quotient has more digits than are kept anyway, and so has what is reckoned from it. */
function rounded(result: number, { isRounded }: Scope): number | undefined {
  return isRounded === true && Number.isFinite(result) ? result : undefined
}

/** Undefined if it is no number, or too small for one. */
function quotient(x: number, y: number): number | undefined {
  const result = x / y
  return Number.isFinite(result) && (result !== 0 || x === 0) ? result : undefined
}

function arithmetic(operator: Operator, x: number, y: number): Value {
  switch (operator) {
    case '+':
      return x + y
    case '-':
      return x - y
    case '*':
      return x * y
    case '/':
      return y === 0 ? undefined : x / y
    case '<':
      return x < y && !isSameNumber(x, y)
    case '<=':
      return x <= y || isSameNumber(x, y)
    case '>':
      return x > y && !isSameNumber(x, y)
    case '>=':
      return x >= y || isSameNumber(x, y)
    default:
      return undefined
  }
}

function call({ name, args }: Extract<Expression, { kind: 'call' }>, scope: Scope): Value {
  const [first, each] = args
  const value = first === undefined ? undefined : reckon(first, scope)
  if (name === 'has') return value !== undefined && value !== null
  if (name === 'abs') {
    const number = numberOf(value, scope)
    return number === undefined ? undefined : Math.abs(number)
  }
  const members = membersOf(value, scope)
  if (members === undefined) return undefined
  if (name === 'count') return members.length
  if (name === 'all') spend(scope, Math.floor(members.length / STEP_MEMBERS))
  const values = members.map((member) => (each === undefined ? member : reckon(each, { ...scope, member })))
  return name === 'all' ? allHold(values, scope) : sumOf(values, scope)
}

/** The members of a list, or the values of an object that maps keys to members. */
function membersOf(value: Value, scope: Scope): readonly Json[] | undefined {
  if (Array.isArray(value)) return value
  if (value === undefined || !isJsonObject(value)) return undefined
  const known = scope.budget.members.get(value)
  if (known !== undefined) return known
  const members = Object.values(value)
  spend(scope, Math.floor(members.length / STEP_MEMBERS))
  scope.budget.members.set(value, members)
  return members
}

function allHold(values: readonly Value[], { isCertain }: Scope): Value {
  if (values.some((value) => value === false)) return false
  return isCertain && !values.every((value) => value === true) ? undefined : true
}

function sumOf(values: readonly Value[], scope: Scope): Value {
  let sum = 0
  for (const value of values) {
    spend(scope)
    const number = numberOf(value, scope)
    const next = number === undefined ? undefined : plus(sum, number, scope)
    if (next === undefined) return undefined
    sum = next
  }
  return scope.isCertain ? sum : Math.round(sum * 1e9) / 1e9
}

function plus(sum: number, number: number, scope: Scope): number | undefined {
  return scope.isCertain ? (sumInDecimal(sum, number) ?? rounded(sum + number, scope)) : sum + number
}

/** The value as a number: a number, a number in a text, or the number of `{value, unit}` or `{amount, currency}`. */
function numberOf(value: Value, scope: Scope): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'string') {
    spend(scope, Math.floor(value.length / STEP_CHARS))
    return scope.isCertain ? readCertainNumber(plainText(value)) : readNumber(plainText(value))
  }
  if (value === undefined || value === null || !isJsonObject(value)) return undefined
  if (scope.isCertain && !isOneQuantity(value, scope)) return undefined
  const inner = memberOf(value, 'value') ?? memberOf(value, 'amount')
  return inner === undefined || typeof inner === 'object' ? undefined : numberOf(inner, scope)
}

/** Whether exactly one member can be the number of the object. */
function isOneQuantity(value: JsonObject, scope: Scope): boolean {
  const members = Object.entries(value)
  spend(scope, Math.floor(members.length / STEP_MEMBERS))
  return members.filter(([name, member]) => name === 'value' || name === 'amount' || mayBeNumber(member)).length === 1
}

function mayBeNumber(member: Json): boolean {
  return typeof member === 'number' || (typeof member === 'object' && member !== null) || isUnclear(member)
}

/** A text with digits, but without letters. */
function isUnclear(value: Json): boolean {
  return typeof value === 'string' && /^[^\p{L}]*\p{N}[^\p{L}]*$/u.test(value)
}
