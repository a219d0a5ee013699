/** @module Lists differences below keys that may change freely, for the reader of the verdict; they are not judged. */
import { unionKeys } from '../../../projections/set-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { Token } from '../../../schemas/json-pointer.ts'
import { addDifference, type Report } from './report.ts'

interface Walk {
  readonly place: Token[]
  readonly report: Report
}

/** Arrays are compared by index: outside the critical keys nothing declares them to be sets. */
export function compareOther(
  key: string,
  {
    before,
    after,
    place = [],
  }: { readonly before: JsonObject; readonly after: JsonObject; readonly place?: readonly string[] },
  report: Report,
): void {
  compareMember({ place: [...place], report }, key, { a: before, b: after })
}

type Container = { readonly [key: string]: Json }

function compareMember(walk: Walk, key: Token, { a, b }: { readonly a: Container; readonly b: Container }): void {
  walk.place.push(key)
  if (!Object.hasOwn(b, key)) addDifference(walk.report, 'removed', walk.place)
  else if (!Object.hasOwn(a, key)) addDifference(walk.report, 'added', walk.place)
  else compareValues(walk, a[key] as Json, b[key] as Json)
  walk.place.pop()
}

function compareValues(walk: Walk, a: Json, b: Json): void {
  if (a === b) return
  if (isJsonObject(a) && isJsonObject(b)) {
    for (const key of unionKeys(a, b)) compareMember(walk, key, { a, b })
    return
  }
  if (!Array.isArray(a) || !Array.isArray(b)) {
    addDifference(walk.report, 'modified', walk.place)
    return
  }
  const [listA, listB] = [a as readonly Json[], b as readonly Json[]]
  for (let i = 0; i < Math.max(listA.length, listB.length); i++) {
    compareMember(walk, i, { a: listA as unknown as Container, b: listB as unknown as Container })
  }
}
