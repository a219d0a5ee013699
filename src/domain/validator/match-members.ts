/** @module For each member of an established list, its counterpart in the new one. */

import { isForward, memberKeys, STATUS, STATUS_WORDS } from '../../../projections/set-members.ts'
import type { SetTexts } from '../../../projections/set-text.ts'
import { isEqual, isJsonObject, type Json } from '../../../schemas/json.ts'
import type { Token } from '../../../schemas/json-pointer.ts'
import { assignRichest } from './assign-richest.ts'
import { isCoveredBelow, type Supersessions } from './supersedes.ts'

export interface MatchInput {
  readonly texts: SetTexts
  readonly supersedes: Supersessions
  /** Of the established list. */
  readonly place: readonly Token[]
  /** Whether all of the established member at `i` still is in the new one at `j`. */
  readonly holds: (i: number, j: number) => boolean
}

export interface MatchedMember {
  /** Where the member is in the established list; several places where it is repeated. */
  readonly places: readonly number[]
  readonly counterpart: number | undefined
}

export interface Match {
  /** Members that are gone, or whose counterpart may differ from them; equal ones are left out. */
  readonly members: readonly MatchedMember[]
  /** Places in the new list. */
  readonly gained: readonly number[]
}

interface Group {
  readonly places: number[]
  counterpart: number | undefined
}

const UNCHANGED: Match = { members: [], gained: [] }

export function matchMembers(a: readonly Json[], b: readonly Json[], input: MatchInput): Match {
  if (isEqual(a, b)) return UNCHANGED

  const keys = memberKeys(a, b, input.texts)
  // A member matched by its whole value is equal to it; others can differ in what identifies nothing.
  const isComplete = keys.identity === undefined && !input.texts.isActions
  const known = indexMembers(b, keys.after)
  const groups = groupMembers(a, keys.before)
  const used = new Set<number>()
  for (const group of groups.values()) {
    const place = group.places[0] as number
    group.counterpart = pickCounterpart(a[place] as Json, known.get(keys.before[place] as string))
    if (group.counterpart !== undefined) used.add(group.counterpart)
  }

  const gained = unusedMembers(b, keys.after, { used, groups })
  const lost = [...groups.values()].filter((group) => group.counterpart === undefined && isSearchable(a, group, input))
  if (lost.length > 0 && gained.length > 0) assignRichest(lost, { a, b, gained, ...input })

  const matched = new Set(lost.map((group) => group.counterpart))
  const members = [...groups.values()].filter(({ places, counterpart }) => {
    return (
      counterpart === undefined ||
      matched.has(counterpart) ||
      (!isComplete && typeof a[places[0] as number] === 'object')
    )
  })
  return { members, gained: gained.filter((place) => !matched.has(place)) }
}

/** New members under one key, and for each status one of them. */
interface Candidates {
  readonly first: number
  readonly byStatus: Map<Json | undefined, number>
}

function indexMembers(list: readonly Json[], keys: readonly string[]): ReadonlyMap<string, Candidates> {
  const index = new Map<string, Candidates>()
  list.forEach((member, place) => {
    const key = keys[place] as string
    const candidates = index.get(key) ?? { first: place, byStatus: new Map<Json | undefined, number>() }
    if (candidates.first === place) index.set(key, candidates)
    const status = statusOf(member)
    if (!candidates.byStatus.has(status)) candidates.byStatus.set(status, place)
  })
  return index
}

/** The one in the same state, else one that the status may move on to, else any: the comparison then says what is wrong. */
function pickCounterpart(member: Json, candidates: Candidates | undefined): number | undefined {
  if (candidates === undefined || candidates.byStatus.size < 2) return candidates?.first
  const status = statusOf(member)
  const same = candidates.byStatus.get(status)
  if (same !== undefined) return same
  const next = STATUS_WORDS.find((word) => candidates.byStatus.has(word) && isForward(status, word))
  return next === undefined ? candidates.first : candidates.byStatus.get(next)
}

function groupMembers(list: readonly Json[], keys: readonly string[]): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>()
  list.forEach((member, place) => {
    const key = statedKey(member, keys[place] as string)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { places: [place], counterpart: undefined })
    else group.places.push(place)
  })
  return groups
}

function unusedMembers(
  list: readonly Json[],
  keys: readonly string[],
  known: { readonly used: ReadonlySet<number>; readonly groups: ReadonlyMap<string, Group> },
): readonly number[] {
  const seen = new Set<string>()
  const unused: number[] = []
  list.forEach((member, place) => {
    const key = statedKey(member, keys[place] as string)
    if (!known.used.has(place) && !known.groups.has(key) && !seen.has(key)) unused.push(place)
    seen.add(key)
  })
  return unused
}

/** A scalar's counterpart is an equal one, so there is nothing to search for; null may be filled by anything. */
function isSearchable(a: readonly Json[], group: Group, input: MatchInput): boolean {
  const member = a[group.places[0] as number] as Json
  return typeof member === 'object' || isCoveredBelow(input.supersedes, [...input.place, group.places[0] as number])
}

function statedKey(member: Json, key: string): string {
  const status = statusOf(member)
  return status === undefined ? key : `${key}\n${JSON.stringify(status)}`
}

function statusOf(member: Json): Json | undefined {
  return isJsonObject(member) && Object.hasOwn(member, STATUS) ? member[STATUS] : undefined
}
