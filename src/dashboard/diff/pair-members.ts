/** @module Which element of one list is which of another: by what names it, else by its value, else by nothing. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import { valueText } from './value-text.ts'

export interface MemberPair {
  /** Index before; absent for what was added. */
  readonly from?: number
  /** Index after; absent for what was removed. */
  readonly to?: number
  readonly label: string
}

const NAMES = ['id', 'key', 'name'] as const

/** What names an element of a list, as the validator names it (JUD-12). */
export function identityOf(value: Json): string {
  if (isJsonObject(value)) {
    for (const name of NAMES) {
      const own = value[name]
      if (typeof own === 'string' || typeof own === 'number') return `${name} ${own}`
    }
  }
  return valueText(value)
}

/** Those of before in their order, then those that were added in theirs. */
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
