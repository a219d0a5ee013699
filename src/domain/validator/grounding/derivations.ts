/** @module Numbers that follow from what stands around them: a count, a sum, a difference or a product. */
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Pauses } from '../../paced.ts'
import { isSameNumber } from '../meaning/numbers.ts'

/** Numbers around one: pairs of them are tried. */
const OPERANDS_MAX = 24
const MEMBERS_MAX = 2_000
/** What one handoff may have worked out, and the values that may be looked at for it. */
const TRIES_MAX = 200
const STEPS_MAX = 200_000
/** Of a try: pairs of its operands. */
const TRY_STEPS = 1_000

export class Derivations {
  readonly #after: JsonObject
  #triesLeft = TRIES_MAX
  readonly #work = { stepsLeft: STEPS_MAX, sums: new Map<readonly Json[], ReadonlyMap<string, number>>() }

  constructor(after: JsonObject) {
    this.#after = after
  }

  /** How the number at a place follows from its surroundings, in words. */
  of(place: readonly Token[], number: number, pauses: Pauses): string | undefined {
    if (--this.#triesLeft < 0) return undefined
    const { stepsLeft } = this.#work
    const found = this.#search(place, number)
    pauses.count(TRY_STEPS + stepsLeft - this.#work.stepsLeft)
    return found
  }

  #search(place: readonly Token[], number: number): string | undefined {
    for (let depth = place.length - 1; depth >= 1; depth--) {
      const around = valueAt(this.#after, place.slice(0, depth).map(String))
      if (around === undefined || !isJsonObject(around)) continue
      const own = depth === place.length - 1 ? place.at(-1) : undefined
      const found = fromLists(around, number, this.#work) ?? fromPairs(around, { number, own }, this.#work)
      if (found !== undefined || depth < place.length - 1) return found
    }
    return undefined
  }
}

interface Work {
  stepsLeft: number
  readonly sums: Map<readonly Json[], ReadonlyMap<string, number>>
}

function fromLists(around: JsonObject, number: number, work: Work): string | undefined {
  for (const key of Object.keys(around)) {
    if (--work.stepsLeft < 0) return undefined
    const list = around[key]
    if (!Array.isArray(list) || list.length === 0 || list.length > MEMBERS_MAX) continue
    if (list.length === number) return `the count of ${key}`
    for (const [column, sum] of sumsOf(list as readonly Json[], work)) {
      if (isSameNumber(sum, number)) return `the sum of ${key}${column}`
    }
  }
  return undefined
}

function sumsOf(list: readonly Json[], work: Work): ReadonlyMap<string, number> {
  const known = work.sums.get(list)
  if (known !== undefined) {
    work.stepsLeft -= known.size
    return known
  }
  const sums = new Map<string, number>()
  const add = (column: string, value: Json): void => {
    if (typeof value === 'number') sums.set(column, (sums.get(column) ?? 0) + value)
  }
  for (const member of list) {
    if (isJsonObject(member)) for (const key of Object.keys(member)) add(`/${key}`, member[key] as Json)
    else add('', member)
  }
  work.sums.set(list, sums)
  return sums
}

function fromPairs(
  around: JsonObject,
  { number, own }: { readonly number: number; readonly own: Token | undefined },
  work: Work,
): string | undefined {
  const operands: number[] = []
  for (const key of Object.keys(around)) if (key !== own) takeNumbers(around[key] as Json, operands, work)
  let sum = 0
  for (const operand of operands) sum += operand
  if (operands.length > 1 && isSameNumber(sum, number)) return 'the sum of what stands beside it'
  for (const [i, a] of operands.entries()) {
    for (const b of operands.slice(i + 1)) {
      if (isSameNumber(a + b, number)) return `${a} + ${b}`
      if (isSameNumber(Math.abs(a - b), Math.abs(number))) return `${Math.max(a, b)} - ${Math.min(a, b)}`
      if (isSameNumber(a * b, number)) return `${a} * ${b}`
    }
  }
  return undefined
}

function takeNumbers(value: Json, found: number[], work: Work): void {
  if (found.length >= OPERANDS_MAX || --work.stepsLeft < 0) return
  if (typeof value === 'number') found.push(value)
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) takeNumbers(each as Json, found, work)
}
