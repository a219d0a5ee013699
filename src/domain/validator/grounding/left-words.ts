/**
 * @module State words that a run has left, by place (JUD-10). Members of lists are known by their identity, wherever they stand; where they have none,
 * nothing is remembered of them.
 */
import { identityCandidates, identityText } from '../../../../projections/list-identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Token } from '../../../../schemas/json-pointer.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { canonicalState, isStateKey } from '../meaning/states.ts'

interface LeftWord {
  readonly word: string
  /** Revision of the event that another word came with. */
  readonly at: number
}

/** By the text of a place. */
export type LeftWords = Map<string, readonly LeftWord[]>

/** Beyond these nothing more is remembered: a run that moves ten thousand states has other guards. */
const PLACES_MAX = 10_000
const WORDS_MAX = 32
const DEPTH_MAX = 64

/** Notes which words the context was moved from by the event at `revision`. A word that is there again is left no more. */
export function noteLeft(left: LeftWords, [before, after]: readonly [Json, Json], revision: number): void {
  note({ left, revision }, [before, after], ROOT)
}

/** What was left after an event that the run went back to was never left. */
export function forgetLeft(left: LeftWords, revision: number): void {
  for (const [place, words] of left) {
    const current = words.filter(({ at }) => at <= revision)
    if (current.length === 0) left.delete(place)
    else if (current.length < words.length) left.set(place, current)
  }
}

/** What the members of lists are known by, once somebody has asked. */
type KnownMembers = Map<readonly Json[], ReadonlyMap<Json, string>>

/** Whether the run has left a word at a place of its context. */
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

/** A place, as a link to the one above it: its text is made where it is needed, and most are not. */
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

/** Objects of a list by what they are known by: the first of the usual keys that each of them has, no two the same. */
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
