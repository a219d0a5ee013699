/**
 * @module What was established stays established: compares the values below one critical key (JUD-1).
 * Objects may gain members, lists are sets that may gain members, null may be filled, an action's status moves forward.
 */
import { isForward, STATUS } from '../../../projections/set-members.ts'
import { normaliseEntity, type SetTexts, setTextsOf, sortedKeys } from '../../../projections/set-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../schemas/json-pointer.ts'
import { matchMembers } from './match-members.ts'
import { addDifference, addFinding, countLeaves, type Report } from './report.ts'
import { isCovered, type Supersessions } from './supersedes.ts'

/** Values that one comparison may try against each other in search of a list member's counterpart: about 50 ms. */
const TRIES_MAX = 1_000_000

export interface Comparison {
  readonly texts: SetTexts
  readonly supersedes: Supersessions
  readonly report: Report
  /** Where the walk stands in `before`, and in `after`. */
  readonly place: Token[]
  readonly afterPlace: Token[]
  /** While above 0 the walk only asks "does it hold?": it records nothing and ends at the first contradiction. */
  quiet: number
  triesLeft: number
}

export function compareCriticalKey(
  key: string,
  values: { readonly before: Json; readonly after: Json },
  to: Pick<Comparison, 'supersedes' | 'report'>,
): void {
  const { before, after } = values
  const comparison: Comparison = {
    supersedes: to.supersedes,
    report: to.report,
    texts: setTextsOf(key),
    place: [key],
    afterPlace: [key],
    quiet: 0,
    triesLeft: TRIES_MAX,
  }
  compareValues(comparison, before, after)
}

/** Whether all that `a` establishes still stands in `b`, or is superseded. */
function compareValues(c: Comparison, a: Json, b: Json): boolean {
  if (c.quiet > 0 && --c.triesLeft < 0) return false
  if (a === b) return true
  if (isJsonObject(a) && isJsonObject(b)) return compareObjects(c, a, b)
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(c, a, b)
  if (isFillable(a, b)) return modified(c)
  if (typeof a === 'string' && typeof b === 'string' && c.texts.isEntities) {
    if (normaliseEntity(a) === normaliseEntity(b)) return true
  }
  return changed(c, a, b)
}

/** Null and an empty container establish nothing that their filling would contradict. */
function isFillable(a: Json, b: Json): boolean {
  if (a === null) return true
  return typeof a === 'object' && typeof b === 'object' && b !== null && Object.keys(a).length === 0
}

function compareObjects(c: Comparison, a: JsonObject, b: JsonObject): boolean {
  let holds = true
  for (const key of sortedKeys(a)) {
    c.place.push(key)
    c.afterPlace.push(key)
    const isUnchanged = compareMember(c, key, { a, b })
    c.place.pop()
    c.afterPlace.pop()
    if (!isUnchanged && c.quiet > 0) return false
    holds &&= isUnchanged
  }
  if (c.quiet === 0) for (const key of sortedKeys(b)) if (!Object.hasOwn(a, key)) gained(c, key)
  return holds
}

function compareMember(c: Comparison, key: string, { a, b }: { a: JsonObject; b: JsonObject }): boolean {
  const before = a[key] as Json
  if (!Object.hasOwn(b, key)) return removed(c, before)
  const after = b[key] as Json
  if (key === STATUS && c.texts.isActions && isForward(before, after)) return modified(c)
  return compareValues(c, before, after)
}

function compareLists(c: Comparison, a: readonly Json[], b: readonly Json[]): boolean {
  if (c.quiet > 0) c.triesLeft -= a.length + b.length
  const match = matchMembers(a, b, {
    texts: c.texts,
    supersedes: c.supersedes,
    place: c.place,
    holds: (i, j) => isRetained(c, [i, a[i] as Json], [j, b[j] as Json]),
  })
  let holds = true
  for (const { places, counterpart } of match.members) {
    const place = places[0] as number
    const member = a[place] as Json
    const found =
      counterpart === undefined
        ? lostMember(c, places, member)
        : compareAt(c, [place, member], [counterpart, b[counterpart] as Json])
    if (!found && c.quiet > 0) return false
    holds &&= found
  }
  if (c.quiet === 0) for (const place of match.gained) gained(c, place)
  return holds
}

type Placed = readonly [place: number, value: Json]

function compareAt(c: Comparison, [i, a]: Placed, [j, b]: Placed): boolean {
  c.place.push(i)
  c.afterPlace.push(j)
  const isUnchanged = compareValues(c, a, b)
  c.place.pop()
  c.afterPlace.pop()
  return isUnchanged
}

function isRetained(c: Comparison, a: Placed, b: Placed): boolean {
  c.quiet += 1
  const isUnchanged = compareAt(c, a, b)
  c.quiet -= 1
  return isUnchanged
}

/** A member that stands several times in a list is one member: superseding it at any of its places is enough. */
function lostMember(c: Comparison, places: readonly number[], member: Json): boolean {
  const place = places.find((each) => isCovered(c.supersedes, [...c.place, each])) ?? (places[0] as number)
  c.place.push(place)
  const permitted = removed(c, member)
  c.place.pop()
  return permitted
}

function isPermitted(c: Comparison): boolean {
  if (c.quiet > 0) c.triesLeft -= c.supersedes.length
  return isCovered(c.supersedes, c.place)
}

function removed(c: Comparison, before: Json): boolean {
  const permitted = isPermitted(c)
  if (c.quiet > 0) return permitted
  addDifference(c.report, 'removed', c.place)
  c.report.lostLeaves += countLeaves(before)
  if (!permitted) {
    const message = 'was established and is gone; hand it on, or supersede it with a reason'
    addFinding(c.report, { rule: 'contradicted', severity: 'error', path: formatPointer(c.place), before, message })
  }
  return permitted
}

function changed(c: Comparison, before: Json, after: Json): boolean {
  const permitted = isPermitted(c)
  if (c.quiet > 0) return permitted
  addDifference(c.report, 'modified', c.place)
  c.report.lostLeaves += countLeaves(before)
  if (!permitted) {
    const message = 'was established with another value; keep it, or supersede it with a reason'
    addFinding(c.report, {
      rule: 'contradicted',
      severity: 'error',
      path: formatPointer(c.place),
      before,
      after,
      message,
    })
  }
  return permitted
}

function modified(c: Comparison): boolean {
  if (c.quiet === 0) addDifference(c.report, 'modified', c.place)
  return true
}

function gained(c: Comparison, token: Token): void {
  c.afterPlace.push(token)
  addDifference(c.report, 'added', c.afterPlace)
  c.afterPlace.pop()
}
