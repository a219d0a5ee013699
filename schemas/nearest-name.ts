/** @module Suggests the known name that was probably meant by a misspelt one. */

/** Up to a third of the longer name may differ. */
const DIFFERENT_PART = 3

/**
 * The name of `known` with the smallest edit distance from `name`, ignoring case; undefined if none is close.
 *
 * @example
 * nearestName('budgets', ['budget', 'name']) // 'budget'
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((each) => ({ each, edits: editsBetween(name.toLowerCase(), each.toLowerCase()) }))
    .filter(({ each, edits }) => edits <= Math.ceil(Math.max(each.length, name.length) / DIFFERENT_PART))
    .toSorted((one, other) => one.edits - other.edits)
  return best?.each
}

/** Levenshtein distance, computed row by row. */
function editsBetween(one: string, other: string): number {
  let row = [...Array(other.length + 1).keys()]
  for (let i = 0; i < one.length; i += 1) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j += 1) {
      const replaced = (row[j] ?? 0) + (one[i] === other[j] ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
