/** @module Derived numbers: a number that was, and still is, the sum, count, mean, difference, product or quotient of the same siblings. */
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Change } from '../established/changes.ts'

interface Documents {
  readonly before: JsonObject
  readonly after: JsonObject
}

/** Maximum number of siblings tried as operands, and of list members read. */
const SIBLINGS_MAX = 24
const MEMBERS_MAX = 10_000
const STEPS_MAX = 1_000_000
/** Maximum number of fields read of list members. */
const COLUMNS_MAX = 16

type Numbers = ReadonlyMap<string, number>

/** Returns a check for single changes. Its total work is bounded; once the limit is reached, further changes count as not derived. */
export function derivedIn(documents: Documents): (change: Change) => boolean {
  let stepsLeft = STEPS_MAX
  return ({ kind, place, afterPlace, before, after }) => {
    if (kind !== 'changed' || typeof before !== 'number' || typeof after !== 'number' || afterPlace === undefined)
      return false
    if (stepsLeft < 0) return false
    const [was, is] = [holderOf(documents.before, place), holderOf(documents.after, afterPlace)]
    if (was === undefined || is === undefined) return false
    stepsLeft -= stepsOf(was) + stepsOf(is)
    if (stepsLeft < 0) return false
    const key = `${place.at(-1)}`
    const numbers = [numbersIn(was, key), numbersIn(is, key)] as const
    return isAggregate([before, was], [after, is]) || isReckoned([before, numbers[0]], [after, numbers[1]])
  }
}

function stepsOf(holder: JsonObject): number {
  return Object.values(holder).reduce<number>(
    (steps, value) => steps + (Array.isArray(value) ? value.length * COLUMNS_MAX : 1),
    SIBLINGS_MAX * SIBLINGS_MAX,
  )
}

function holderOf(document: JsonObject, place: readonly Token[]): JsonObject | undefined {
  const holder = valueAt(document, place.slice(0, -1).map(String))
  return holder !== undefined && isJsonObject(holder) ? holder : undefined
}

/** Whether the number was and is the count, sum or mean of a sibling list that has changed. */
function isAggregate(
  [before, was]: readonly [number, JsonObject],
  [after, is]: readonly [number, JsonObject],
): boolean {
  return Object.keys(was).some((key) => {
    const [then, now] = [was[key], is[key]]
    if (!Array.isArray(then) || !Array.isArray(now) || then.length === 0 || now.length > MEMBERS_MAX) return false
    if (then.length === before && now.length === after) return true
    return columnsOf(then).some(([column, old]) => {
      const current = columnsOf(now).find(([name]) => name === column)?.[1]
      if (current === undefined || sum(old) === sum(current)) return false
      const isSum = isShown(sum(old), before) && isShown(sum(current), after)
      return isSum || (isShown(sum(old) / old.length, before) && isShown(sum(current) / current.length, after))
    })
  })
}

/** Whether a number is the sum or mean of a sibling list. A change that breaks this relation is not usual. */
export function isTotalBeside(value: number, holder: JsonObject): boolean {
  return Object.values(holder).some(
    (list) =>
      Array.isArray(list) &&
      list.length > 1 &&
      list.length <= MEMBERS_MAX &&
      columnsOf(list).some(([, column]) =>
        [sum(column), sum(column) / column.length].some((total) => isShown(total, value)),
      ),
  )
}

/** The numbers of a list of numbers, or the columns of numbers that every member has under one name. */
function columnsOf(list: readonly Json[]): readonly (readonly [string, readonly number[]])[] {
  if (list.every((member) => typeof member === 'number')) return [['', list]]
  const [first] = list
  if (first === undefined || !isJsonObject(first)) return []
  return Object.keys(first)
    .slice(0, COLUMNS_MAX)
    .flatMap((key) => {
      const column = list.map((member) => (isJsonObject(member) ? member[key] : undefined))
      return column.every((value) => typeof value === 'number') ? [[key, column] as const] : []
    })
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function numbersIn(holder: JsonObject, but: string): Numbers {
  const numbers = Object.entries(holder).filter(([key, value]) => key !== but && typeof value === 'number')
  return new Map(numbers.slice(0, SIBLINGS_MAX) as [string, number][])
}

const OPERATIONS: readonly ((a: number, b: number) => number)[] = [
  (a, b) => a + b,
  (a, b) => a - b,
  (a, b) => a * b,
  (a, b) => a / b,
]

/** Whether the number was and is the result of one operation on two siblings, at least one of which has changed. Operands 0 and 1 are no evidence. */
function isReckoned([before, was]: readonly [number, Numbers], [after, is]: readonly [number, Numbers]): boolean {
  const names = [...was.keys()].filter((name) => is.has(name))
  return names.some((x) =>
    names.some((y) => {
      const [a, b, c, d] = [was.get(x), was.get(y), is.get(x), is.get(y)] as [number, number, number, number]
      if (x === y || (a === c && b === d) || [a, b, c, d].some((operand) => operand === 0 || operand === 1))
        return false
      return OPERATIONS.some((operation) => isShown(operation(a, b), before) && isShown(operation(c, d), after))
    }),
  )
}

/** Whether `shown` is `exact`, rounded to the decimals of `shown`. */
function isShown(exact: number, shown: number): boolean {
  const decimals = `${shown}`.split('.')[1]?.length ?? 0
  return Math.abs(exact - shown) <= 0.5 * 10 ** -decimals + 1e-9 && (decimals > 0 || Number.isInteger(shown))
}
