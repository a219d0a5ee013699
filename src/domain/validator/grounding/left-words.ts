/**
 * @module State words that a run has left, by place (JUD-10). List members are identified by their identity, at any index; for members
 * without one, nothing is remembered.
 */
import { identityCandidates, identityText } from '../../../../projections/list-identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Token } from '../../../../schemas/json-pointer.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { canonicalState, isStateKey } from '../meaning/states.ts'

interface LeftWord {
  readonly word: string
  /** Revision of the event that replaced the word. */
  readonly at: number
}

/** Left words, by the text of their place. */
export type LeftWords = Map<string, readonly LeftWord[]>

/** Limits beyond which nothing more is remembered; a run with more states needs other safeguards. */
const PLACES_MAX = 10_000
const WORDS_MAX = 32
const DEPTH_MAX = 64

/** Records the state words that the event at `revision` replaced. A word that is current again no longer counts as left. */
export function noteLeft(left: LeftWords, [before, after]: readonly [Json, Json], revision: number): void {
  note({ left, revision }, [before, after], ROOT)
}

/** Forgets words that were left after the event that the run was rewound to. */
export function forgetLeft(left: LeftWords, revision: number): void {
  for (const [place, words] of left) {
    const current = words.filter(({ at }) => at <= revision)
    if (current.length === 0) left.delete(place)
    else if (current.length < words.length) left.set(place, current)
  }
}

/** Cache of the identity texts of list members. */
type KnownMembers = Map<readonly Json[], ReadonlyMap<Json, string>>

/** Returns a check whether the run has left a word at a place of its context. */
export function leftWordsOf(left: LeftWords, context: JsonObject): (place: readonly Token[], word: string) => boolean {
  const known: KnownMembers = new Map()
  return (place, word) => left.size > 0 && wasLeft(left, word, placeText(context, place, known))
}

function wasLeft(left: LeftWords, word: string, place: string | undefined): boolean {
  const words = place === undefined ? undefined : left.get(place)
  const meant = canonicalState(word)
  return words?.some(({ word }) => word === meant) === true
}

interface Noting {
  readonly left: LeftWords
  readonly revision: number
}

/** A place as a link to its parent. Its text is built on demand, because most places never need it. */
interface Here {
  readonly above: Here | undefined
  readonly token: string
  readonly key: string
  readonly depth: number
}

const ROOT: Here = { above: undefined, token: '', key: '', depth: 0 }

function note(noting: Noting, [a, b]: readonly [Json, Json], here: Here): void {
  if (a === b || here.depth > DEPTH_MAX) return
  if (typeof a === 'string' && typeof b === 'string') {
    if (isStateKey(placeKind(here.key, false).words)) noteWord(noting, [a, b], textOf(here))
  } else if (Array.isArray(a) && Array.isArray(b)) noteMembers(noting, [a, b], here)
  else if (isJsonObject(a) && isJsonObject(b)) {
    for (const key of Object.keys(a)) {
      const [was, is] = [a[key] as Json, b[key] as Json]
      if (was === is || !Object.hasOwn(b, key)) continue
      note(noting, [was, is], below(here, key))
    }
  }
}

function below(above: Here, token: string, key = token): Here {
  return { above, token, key, depth: above.depth + 1 }
}

function textOf({ above, token }: Here): string {
  return above === undefined ? '' : `${textOf(above)}/${JSON.stringify(token)}`
}

function noteMembers(noting: Noting, [a, b]: readonly [readonly Json[], readonly Json[]], here: Here): void {
  const known = memberTexts(a, here.key)
  if (known === undefined) return
  const now = memberTexts(b, here.key)
  if (now === undefined) return
  for (const [text, member] of known) {
    const counterpart = now.get(text)
    if (counterpart !== undefined && counterpart !== member) note(noting, [member, counterpart], below(here, text, ''))
  }
}

function noteWord({ left, revision }: Noting, [a, b]: readonly [string, string], place: string): void {
  const [was, is] = [canonicalState(a), canonicalState(b)]
  if (was === is) return
  const words = (left.get(place) ?? []).filter(({ word }) => word !== was && word !== is)
  if (left.has(place) || left.size < PLACES_MAX)
    left.set(place, [...words.slice(1 - WORDS_MAX), { word: was, at: revision }])
}

/** Objects of a list by identity text, using the first usual key that every member has with distinct values. */
function memberTexts(list: readonly Json[], key: string): ReadonlyMap<string, JsonObject> | undefined {
  for (const identity of identityCandidates(list, key)) {
    const members = new Map<string, JsonObject>()
    for (const member of list) {
      const text = identityText(member, identity)
      if (text === undefined || members.has(text)) break
      members.set(text, member as JsonObject)
    }
    if (members.size === list.length) return members
  }
  return undefined
}

function textsIn(list: readonly Json[], key: string, known: KnownMembers): ReadonlyMap<Json, string> {
  const made = known.get(list)
  if (made !== undefined) return made
  const texts = new Map<Json, string>()
  for (const [text, member] of memberTexts(list, key) ?? []) texts.set(member, text)
  known.set(list, texts)
  return texts
}

function placeText(context: JsonObject, tokens: readonly Token[], known: KnownMembers): string | undefined {
  let value: Json | undefined = context
  let here = ROOT
  for (const token of tokens) {
    if (Array.isArray(value)) {
      const member: Json | undefined = value[Number(token)]
      const text = member === undefined ? undefined : textsIn(value, here.key, known).get(member)
      if (text === undefined) return undefined
      here = below(here, text, '')
      value = member
    } else if (value !== undefined && isJsonObject(value) && Object.hasOwn(value, `${token}`)) {
      value = value[`${token}`]
      here = below(here, `${token}`)
    } else return undefined
  }
  return textOf(here)
}
