/** @module Matches the elements of two lists: by the member that names them, otherwise by value. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import { valueText } from './value-text.ts'

export interface MemberPair {
  /** Index in the old list; absent for an added element. */
  readonly from?: number
  /** Index in the new list; absent for a removed element. */
  readonly to?: number
  readonly label: string
}

const NAMES = ['id', 'key', 'name'] as const

/** The identity of a list element, as the validator determines it (JUD-12). */
export function identityOf(value: Json): string {
  if (isJsonObject(value)) {
    for (const name of NAMES) {
      const own = value[name]
      if (typeof own === 'string' || typeof own === 'number') return `${name} ${own}`
    }
  }
  return valueText(value)
}

/** The elements of the old list in order, followed by the added elements in order. */
export function pairMembers(before: readonly Json[], after: readonly Json[]): readonly MemberPair[] {
  const waiting = new Map<string, number[]>()
  after.forEach((value, index) => {
    const identity = identityOf(value)
    const known = waiting.get(identity)
    if (known === undefined) waiting.set(identity, [index])
    else known.push(index)
  })
  const pairs: MemberPair[] = []
  const taken = new Set<number>()
  before.forEach((value, from) => {
    const to = waiting.get(identityOf(value))?.shift()
    if (to !== undefined) taken.add(to)
    pairs.push({ from, label: labelOf(value), ...(to === undefined ? {} : { to }) })
  })
  after.forEach((value, to) => {
    if (!taken.has(to)) pairs.push({ to, label: labelOf(value) })
  })
  return pairs
}

function labelOf(value: Json): string {
  if (!isJsonObject(value)) return '-'
  const name = NAMES.find((each) => typeof value[each] === 'string' || typeof value[each] === 'number')
  return name === undefined ? '-' : `- ${String(value[name])}`
}
