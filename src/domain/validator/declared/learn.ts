/** @module Learns from recorded contexts which places move, and as which kind; `policy learn` proposes the result (JUD-47). Pure. */

import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, parsePointer, type Token } from '../../../../schemas/json-pointer.ts'
import type { Move } from '../../../../schemas/place-policy.ts'
import { isLater } from '../established/moves.ts'
import { isCovered } from '../supersedes.ts'

/**
 * Minimum number of changes, and of runs, that a kind must fit before it is proposed. A flag (`done`) changes once per run, so the
 * handoffs that contain it are counted instead.
 */
export const OBSERVATIONS_MIN = 20
export const RUNS_MIN = 3

const PLACES_MAX = 10_000
const WORDS_MAX = 8
const WORD_MAX_CHARS = 40

/** One accepted handoff of a run, with the paths that it superseded. */
export interface Observed {
  readonly run: string
  readonly before: JsonObject
  readonly after: JsonObject
  readonly superseded?: readonly string[]
}

export interface Proposal {
  readonly path: string
  readonly as: Move['as']
  readonly order?: readonly string[]
  /** Number of changes observed, and of runs with a change. */
  readonly changes: number
  readonly runs: number
}

type Kind = 'done' | 'counter' | 'clock' | 'log' | 'gauge' | 'cursor'

/** Kinds in order of preference, the narrowest first. */
const KINDS: readonly Kind[] = ['done', 'counter', 'clock', 'log', 'gauge', 'cursor']

const KEEPS: Readonly<Record<Kind, (before: Json, after: Json) => boolean>> = {
  done: (before, after) => before === false && after === true,
  counter: (before, after) => typeof before === 'number' && typeof after === 'number' && after > before,
  clock: (before, after) => typeof before === 'string' && typeof after === 'string' && isLater(before, after),
  log: hasGrown,
  gauge: (before, after) => typeof before === 'number' && typeof after === 'number',
  cursor: (before, after) => isScalar(before) && isScalar(after),
}

interface Seen {
  /** Number of handoffs that had the place before and after, and of those that changed it. */
  handoffs: number
  changes: number
  readonly runs: Set<string>
  kinds: readonly Kind[]
  /** The words that followed each word; undefined once the place had a value that is not a short word, or too many words. */
  steps: Map<string, Set<string>> | undefined
}

/** Observes handoffs, in order within each run; `proposals` returns the kinds that fit. */
export class Learner {
  readonly #seen = new Map<string, Seen>()
  #handoffs = 0
  readonly #runs = new Set<string>()

  get observed(): { readonly handoffs: number; readonly runs: number } {
    return { handoffs: this.#handoffs, runs: this.#runs.size }
  }

  observe({ run, before, after, superseded = [] }: Observed): void {
    this.#handoffs += 1
    this.#runs.add(run)
    const excused = superseded.flatMap((path) => {
      const tokens = parsePointer(path)
      return tokens === undefined ? [] : [tokens]
    })
    for (const { place, general, was, is } of pairsIn(before, after)) {
      if (isCovered(excused, place)) continue
      this.#note(general, run, [was, is])
    }
  }

  /** Places that moved often enough in enough runs, each with the narrowest kind that all its changes fit, sorted by path. */
  proposals(): readonly Proposal[] {
    return [...this.#seen]
      .flatMap(([path, seen]) => {
        const { changes, runs } = seen
        const found = runs.size < RUNS_MIN ? undefined : kindOf(seen)
        return found === undefined ? [] : [{ path, ...found, changes, runs: runs.size }]
      })
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  #note(path: string, run: string, [was, is]: readonly [Json, Json]): void {
    const seen = this.#seen.get(path) ?? { handoffs: 0, changes: 0, runs: new Set(), kinds: KINDS, steps: new Map() }
    if (seen.handoffs === 0) {
      if (this.#seen.size >= PLACES_MAX) return
      this.#seen.set(path, seen)
    }
    seen.handoffs += 1
    if (isEqual(was, is)) return
    seen.changes += 1
    seen.runs.add(run)
    seen.kinds = seen.kinds.filter((kind) => KEEPS[kind](was, is))
    noteStep(seen, was, is)
  }
}

function noteStep(seen: Seen, was: Json, is: Json): void {
  if (seen.steps === undefined) return
  if (!isWord(was) || !isWord(is)) {
    seen.steps = undefined
    return
  }
  seen.steps.set(was, (seen.steps.get(was) ?? new Set()).add(is))
  if (!seen.steps.has(is)) seen.steps.set(is, new Set())
  if (seen.steps.size > WORDS_MAX) seen.steps = undefined
}

function kindOf({ kinds, steps, handoffs, changes }: Seen): Pick<Proposal, 'as' | 'order'> | undefined {
  const [first] = kinds
  if (first === undefined || (first === 'done' ? handoffs : changes) < OBSERVATIONS_MIN) return undefined
  const order = first === 'cursor' && steps !== undefined ? orderOf(steps) : undefined
  return order === undefined ? { as: first } : { as: 'state', order }
}

/** The words in the only order that is consistent with every step; undefined if there is none, or more than one. */
function orderOf(steps: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | undefined {
  const left = new Map([...steps].map(([word, next]) => [word, new Set(next)]))
  const order: string[] = []
  while (left.size > 0) {
    const first = [...left.keys()].filter((word) => ![...left.values()].some((next) => next.has(word)))
    if (first.length !== 1) return undefined
    order.push(first[0] as string)
    left.delete(first[0] as string)
  }
  return order.length < 2 ? undefined : order
}

function isWord(value: Json): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= WORD_MAX_CHARS
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object'
}

function hasGrown(before: Json, after: Json): boolean {
  if (!Array.isArray(before) || !Array.isArray(after) || after.length <= before.length) return false
  return before.every((member, i) => isEqual(member as Json, after[i] as Json))
}

interface Difference {
  readonly place: readonly Token[]
  /** The path with `*` for a member of a list or of a map of similar members. */
  readonly general: string
  readonly was: Json
  readonly is: Json
}

/** Pairs of values at one place before and after: scalars, lists that grew, and values that changed their type. Single values in a list have no place. */
function* pairsIn(before: JsonObject, after: JsonObject): Generator<Difference> {
  const waiting: { place: Token[]; general: Token[]; was: Json; is: Json }[] = [
    { place: [], general: [], was: before, is: after },
  ]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { place, general, was, is } = next
    if (was === null) continue
    const isList = Array.isArray(was) && Array.isArray(is)
    if (!(isList && !hasGrown(was, is)) && !(isJsonObject(was) && isJsonObject(is))) {
      yield { place, general: formatPointer(general), was, is }
      continue
    }
    // Removing list members shifts the indexes of the others, so their places cannot be compared.
    if (isList && is.length < was.length) continue
    const isLike = isList || hasLikeMembers(was as JsonObject)
    for (const [key, member] of Object.entries(was as JsonObject)) {
      const now = (is as JsonObject)[key]
      if (now === undefined || (isList && !isSameMember(member, now))) continue
      const token = isList ? Number(key) : key
      waiting.push({ place: [...place, token], general: [...general, isLike ? '*' : token], was: member, is: now })
    }
  }
}

function isSameMember(before: Json, after: Json): boolean {
  if (!isJsonObject(before) || !isJsonObject(after)) return false
  return NAMES.every((name) => isEqual(before[name] ?? null, after[name] ?? null))
}

const NAMES = ['id', 'key', 'name']
const MEMBERS_LOOKED_AT = 100

/** Whether an object is a map, whose members are objects with the same keys. */
export function hasLikeMembers(holder: JsonObject): boolean {
  const members = Object.values(holder).slice(0, MEMBERS_LOOKED_AT)
  if (members.length < 2 || !members.every((member) => isJsonObject(member))) return false
  const [first, ...others] = members.map((member) =>
    Object.keys(member as JsonObject)
      .sort()
      .join('\n'),
  )
  return others.every((keys) => keys === first)
}
