/**
 * @module Finds a counterpart for members that have no identity and are not there by value: a new member that says all that they say,
 * and more. One counterpart serves one member.
 */
import { STATUS } from '../../../projections/set-members.ts'
import { type SetTexts, scalarText } from '../../../projections/set-text.ts'
import type { Json } from '../../../schemas/json.ts'
import type { Token } from '../../../schemas/json-pointer.ts'
import { isCovered, type Supersessions } from './supersedes.ts'

export interface SearchInput {
  readonly a: readonly Json[]
  readonly b: readonly Json[]
  /** Places in `b` that are nobody's counterpart yet. */
  readonly gained: readonly number[]
  readonly texts: SetTexts
  readonly supersedes: Supersessions
  readonly place: readonly Token[]
  readonly holds: (i: number, j: number) => boolean
}

export interface Searcher {
  readonly places: readonly number[]
  counterpart: number | undefined
}

/** Steps in which members may be moved between counterparts to make room for one more. */
const MOVES_MAX = 100_000
/** Members moved for one: a chain as long as the list would exhaust the stack. */
const CHAIN_MAX = 200

/** Sets `counterpart` where there is one. Bipartite matching (Kuhn), over candidates that a feature index keeps few. */
export function assignRichest(searchers: readonly Searcher[], input: SearchInput): void {
  const index = indexFeatures(input)
  const candidates = new Map<Searcher, readonly number[]>()
  for (const searcher of searchers) candidates.set(searcher, candidatesOf(searcher, index, input))

  const owners = new Map<number, Searcher>()
  let movesLeft = MOVES_MAX
  const place = (searcher: Searcher, visited: Set<number>, depth: number): boolean => {
    for (const candidate of candidates.get(searcher) ?? []) {
      if (visited.has(candidate) || --movesLeft < 0) continue
      visited.add(candidate)
      const owner = owners.get(candidate)
      if (owner !== undefined && (depth >= CHAIN_MAX || !place(owner, visited, depth + 1))) continue
      owners.set(candidate, searcher)
      searcher.counterpart = candidate
      return true
    }
    return false
  }
  for (const searcher of searchers) place(searcher, new Set(), 0)
}

type FeatureIndex = ReadonlyMap<string, readonly number[]>

function indexFeatures({ b, gained, texts }: SearchInput): FeatureIndex {
  const index = new Map<string, number[]>()
  for (const place of gained) {
    const features = new Set<string>()
    collectFeatures(b[place] as Json, '', { texts, add: (feature) => features.add(feature) })
    for (const feature of features) {
      const places = index.get(feature)
      if (places === undefined) index.set(feature, [place])
      else places.push(place)
    }
  }
  return index
}

/** A counterpart holds every feature of the member; trying those that share its rarest one is enough. */
function candidatesOf(searcher: Searcher, index: FeatureIndex, input: SearchInput): readonly number[] {
  const place = searcher.places[0] as number
  let rarest: readonly number[] = input.gained
  const tokens: Token[] = [...input.place, place]
  collectFeatures(input.a[place] as Json, '', {
    texts: input.texts,
    add: (feature) => {
      const places = index.get(feature) ?? []
      if (places.length < rarest.length) rarest = places
    },
    fixed: { tokens, isFree: () => isCovered(input.supersedes, tokens) },
  })
  return rarest.filter((candidate) => input.holds(place, candidate))
}

interface FeatureSink {
  readonly texts: SetTexts
  readonly add: (feature: string) => void
  /** For an established member: only what must not change is a feature. */
  readonly fixed?: { readonly tokens: Token[]; readonly isFree: () => boolean }
}

/** Scalars with the path of member names that leads to them; all places of a list are one. */
function collectFeatures(value: Json, path: string, sink: FeatureSink): void {
  if (sink.fixed?.isFree() === true) return
  if (typeof value !== 'object' || value === null) {
    if (value !== null || sink.fixed === undefined) sink.add(`${path}=${scalarText(value, sink.texts)}`)
    return
  }
  const isList = Array.isArray(value)
  for (const [key, child] of Object.entries(value)) {
    if (key === STATUS && sink.texts.isActions && !isList) continue
    sink.fixed?.tokens.push(key)
    collectFeatures(child as Json, isList ? `${path}[]` : `${path}${JSON.stringify(key)}`, sink)
    sink.fixed?.tokens.pop()
  }
}
