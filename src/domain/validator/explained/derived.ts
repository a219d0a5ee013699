/** @module Derived numbers: a number that was, and still is, the sum, count, mean, difference, product or quotient of the same siblings. */
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { holderAt, type Token } from '../../../../schemas/json-pointer.ts'
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

interface Column {
  readonly sum: number
  readonly length: number
}

/** What is read of an object once, for all changes of its members. */
interface Holder {
  /** Steps charged for each look at it. */
  readonly steps: number
  readonly lists: ReadonlyMap<string, readonly Json[]>
  /** Numbers of the first siblings; one more than are tried, because the changed one is not its own operand. */
  readonly numbers: readonly (readonly [string, number])[]
}

/** Returns a check for single changes. Its total work is bounded; once the limit is reached, further changes count as not derived. */
export function derivedIn(documents: Documents): (change: Change) => boolean {
  let stepsLeft = STEPS_MAX
  const known = new Map<JsonObject, Holder>()
  return ({ kind, place, afterPlace, before, after }) => {
    if (kind !== 'changed' || typeof before !== 'number' || typeof after !== 'number' || afterPlace === undefined)
      return false
    if (stepsLeft < 0) return false
    const [was, is] = [holderOf(documents.before, place, known), holderOf(documents.after, afterPlace, known)]
    if (was === undefined || is === undefined) return false
    stepsLeft -= was.steps + is.steps
    if (stepsLeft < 0) return false
    const key = `${place.at(-1)}`
    const numbers = [numbersIn(was, key), numbersIn(is, key)] as const
    return isAggregate([before, was], [after, is]) || isReckoned([before, numbers[0]], [after, numbers[1]])
  }
}

function holderOf(document: JsonObject, place: readonly Token[], known: Map<JsonObject, Holder>): Holder | undefined {
  const value = holderAt(document, place)
  if (value === undefined) return undefined
  const holder = known.get(value) ?? readHolder(value)
  known.set(value, holder)
  return holder
}

function readHolder(holder: JsonObject): Holder {
  let steps = SIBLINGS_MAX * SIBLINGS_MAX
  const lists = new Map<string, readonly Json[]>()
  const numbers: [string, number][] = []
  for (const [key, value] of Object.entries(holder)) {
    if (Array.isArray(value)) lists.set(key, value)
    else if (typeof value === 'number' && numbers.length <= SIBLINGS_MAX) numbers.push([key, value])
    steps += Array.isArray(value) ? value.length * COLUMNS_MAX : 1
  }
  return { steps, lists, numbers }
}

/** Whether the number was and is the count, sum or mean of a sibling list that has changed. */
function isAggregate([before, was]: readonly [number, Holder], [after, is]: readonly [number, Holder]): boolean {
  if (was.lists.size === 0) return false
  const [isBefore, isAfter] = [shownAs(before), shownAs(after)]
  for (const [key, then] of was.lists) {
    const now = is.lists.get(key)
    if (now === undefined || then.length === 0 || now.length > MEMBERS_MAX) continue
    if (then.length === before && now.length === after) return true
    const current = columnsOf(now)
    for (const [name, old] of columnsOf(then)) {
      const column = current.get(name)
      if (column === undefined || old.sum === column.sum) continue
      if (isBefore(old.sum) && isAfter(column.sum)) return true
      if (isBefore(old.sum / old.length) && isAfter(column.sum / column.length)) return true
    }
  }
  return false
}

/** Returns whether a number is the sum or mean of a list in the object. A change that breaks this relation is not usual. */
export function totalsBeside(holder: JsonObject): (value: number) => boolean {
  const totals = Object.values(holder)
    .filter((list) => Array.isArray(list) && list.length > 1 && list.length <= MEMBERS_MAX)
    .flatMap((list) => [...columnsOf(list as readonly Json[]).values()])
    .flatMap(({ sum, length }) => [sum, sum / length])
    .filter(Number.isFinite)
    .sort((a, b) => a - b)
  return (value) => {
    const isValue = shownAs(value)
    for (let at = firstAtLeast(totals, value - 1); at < totals.length && (totals[at] as number) <= value + 1; at++)
      if (isValue(totals[at] as number)) return true
    return false
  }
}

/** The index of the first of the sorted numbers that is at least `least`. */
function firstAtLeast(sorted: readonly number[], least: number): number {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((sorted[middle] as number) < least) from = middle + 1
    else to = middle
  }
  return from
}

/** A list of numbers as one column without a name, or the columns of numbers that every member has under one name. */
function columnsOf(list: readonly Json[]): ReadonlyMap<string, Column> {
  const columns = new Map<string, Column>()
  if (list.every((member) => typeof member === 'number')) return columns.set('', columnOf(list))
  const [first] = list
  if (first === undefined || !isJsonObject(first)) return columns
  for (const key of Object.keys(first).slice(0, COLUMNS_MAX)) {
    const column = list.map((member) => (isJsonObject(member) ? member[key] : undefined))
    if (column.every((value) => typeof value === 'number')) columns.set(key, columnOf(column))
  }
  return columns
}

function columnOf(numbers: readonly number[]): Column {
  return { sum: numbers.reduce((total, number) => total + number, 0), length: numbers.length }
}

function numbersIn({ numbers }: Holder, but: string): Numbers {
  return new Map(numbers.filter(([key]) => key !== but).slice(0, SIBLINGS_MAX))
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
  const [isBefore, isAfter] = [shownAs(before), shownAs(after)]
  return names.some((x) =>
    names.some((y) => {
      const [a, b, c, d] = [was.get(x), was.get(y), is.get(x), is.get(y)] as [number, number, number, number]
      if (x === y || (a === c && b === d) || [a, b, c, d].some((operand) => operand === 0 || operand === 1))
        return false
      return OPERATIONS.some((operation) => isBefore(operation(a, b)) && isAfter(operation(c, d)))
    }),
  )
}

/** Returns whether a number, rounded to the decimals of `shown`, is `shown`. */
export function shownAs(shown: number): (exact: number) => boolean {
  const decimals = `${shown}`.split('.')[1]?.length ?? 0
  const most = decimals > 0 || Number.isInteger(shown) ? 0.5 * 10 ** -decimals + 1e-9 : -1
  return (exact) => Math.abs(exact - shown) <= most
}
