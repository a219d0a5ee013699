/**
 * @module The members that identify the objects of a list: `id`, `key`, `name`, or entries of a short table of usual keys and pairs.
 * Recorded runs are folded with it, so it must not change.
 */
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import { keyWords, singular } from './key-words.ts'
import { plainLower } from './plain-text.ts'

export interface Identity {
  readonly keys: readonly string[]
  /**
   * The keys identify exactly one thing, so two members with equal keys and different values are a contradiction. Weak keys only match
   * members of two lists.
   */
  readonly isStrong: boolean
  /** `id`, `key`, a uuid, the list's own id, or declared keys: members with equal keys are the same, whatever their other members. */
  readonly isComplete: boolean
}

const WHOLE: readonly string[] = ['id', 'key', 'uuid', 'guid']
const STRONG: readonly string[] = 'name ref reference txn sku code no nr number isbn ean iban vin mrn serial'.split(' ')
/** Keys that name the subject of a member, often of only one member. */
const WEAK: readonly string[] =
  'email hostname path url symbol ticker slug vendor supplier part substance drug medication title what claim topic question'.split(
    ' ',
  )
const PAIRS: readonly (readonly string[])[] = [
  ['first_name', 'last_name'],
  ['given_name', 'family_name'],
  ['firstName', 'lastName'],
  ['flight_number', 'date'],
  ['flightNumber', 'date'],
  ['train', 'date'],
  ['origin', 'destination'],
  ['from', 'to'],
  ['start', 'end'],
]
const REFERENCES: ReadonlySet<string> = new Set(['id', 'ref', 'no', 'number', 'code', 'key', 'sku'])
/** In a list of past events, ids refer to other things. */
const HAPPENINGS: ReadonlySet<string> = new Set(
  'history log logs events event timeline changes entries journal audit trail'.split(' '),
)
const STRONG_MEMBERS: ReadonlySet<string> = new Set(STRONG)
/** Maximum number of members examined in search of an identity. */
const KEYS_MAX = 64

interface Known {
  readonly keys: readonly string[]
  readonly candidates: readonly Identity[]
}

/** Candidates by list key and members, because lists under one key usually have one shape. */
const memo = new Map<string, Known>()
const MEMO_MAX = 4096
const MEMO_KEYS_MAX = 32
const MEMO_MAX_CHARS = 512

/** Candidate identities in order of preference, limited to members of the list's first object. */
export function identityCandidates(list: readonly Json[], listKey: string): readonly Identity[] {
  const first = list.find((member) => isJsonObject(member)) as JsonObject | undefined
  if (first === undefined) return []
  const keys = Object.keys(first)
  if (keys.length > MEMO_KEYS_MAX) return candidatesOf(keys, listKey)
  const shape = `${listKey}\n${keys.join('\n')}`
  const known = memo.get(shape)
  // A key may contain a line feed, so two shapes may have the same text.
  if (known?.keys.length === keys.length && keys.every((key, i) => key === known.keys[i])) return known.candidates
  const candidates = candidatesOf(keys, listKey)
  if (memo.size >= MEMO_MAX) memo.clear()
  if (shape.length <= MEMO_MAX_CHARS) memo.set(shape, { keys, candidates })
  return candidates
}

function candidatesOf(all: readonly string[], listKey: string): readonly Identity[] {
  const members = new Set(all)
  const has = (key: string): boolean => members.has(key)
  const keys = all.slice(0, KEYS_MAX)
  const words = keyWords(listKey)
  const isHappening = words.some((word) => HAPPENINGS.has(word))
  const own = isHappening ? [] : keys.filter((key) => isOwnReference(key, singular(words.at(-1) ?? '')))
  const weak = keys.filter(
    (key) => isReference(key) && !own.includes(key) && !WHOLE.includes(key) && !STRONG_MEMBERS.has(key),
  )
  return [
    ...[...WHOLE.filter(has), ...[...own].sort()].map((key) => ({ keys: [key], isStrong: true, isComplete: true })),
    ...STRONG.filter(has).map((key) => ({ keys: [key], isStrong: true, isComplete: false })),
    ...PAIRS.filter((pair) => pair.every(has)).map((pair) => ({
      keys: pair,
      isStrong: isNamedPair(pair),
      isComplete: false,
    })),
    ...[...WEAK.filter(has), ...[...weak].sort()].map((key) => ({ keys: [key], isStrong: false, isComplete: false })),
  ]
}

/** Routes and periods often occur twice; persons and departures do not. */
function isNamedPair(pair: readonly string[]): boolean {
  return pair.some((key) => key.toLowerCase().includes('name') || key === 'date')
}

/** `call_id` in `calls`, `student_no` in `students`. */
function isOwnReference(key: string, what: string): boolean {
  const words = keyWords(key)
  return words.length === 2 && words[0] === what && REFERENCES.has(words[1] ?? '')
}

/** Whether a member is a reference: objects that differ in it are different things. */
export function isReference(key: string): boolean {
  return REFERENCES.has(keyWords(key).at(-1) ?? '') || STRONG_MEMBERS.has(key)
}

/** The text that identifies a member; undefined if one of the keys is missing or is neither text nor number. */
export function identityText(member: Json, { keys }: Identity): string | undefined {
  if (!isJsonObject(member)) return undefined
  let text = ''
  for (const key of keys) {
    const value = Object.hasOwn(member, key) ? member[key] : undefined
    if (typeof value === 'number') text += `#${value}\n`
    else if (typeof value === 'string') text += `"${plainLower(value)}\n`
    else return undefined
  }
  return text
}

/**
 * The first candidate that every object of `before` has, with distinct values, and that some object of `after` has; a weak one must also be
 * distinct in `after`.
 */
export function listIdentity(
  lists: { readonly before: readonly Json[]; readonly after: readonly Json[] },
  listKey: string,
  declared?: readonly string[],
): Identity | undefined {
  const candidates =
    declared === undefined
      ? identityCandidates(lists.before, listKey)
      : [{ keys: declared, isStrong: true, isComplete: true }]
  return candidates.find((identity) => {
    if (!isUnique(lists.before, identity)) return false
    return identity.isStrong ? exists(lists.after, identity) : isUnique(lists.after, identity)
  })
}

function isUnique(list: readonly Json[], identity: Identity): boolean {
  const seen = new Set<string>()
  for (const member of list) {
    if (!isJsonObject(member)) continue
    const text = identityText(member, identity)
    if (text === undefined || seen.has(text)) return false
    seen.add(text)
  }
  return seen.size > 0
}

function exists(list: readonly Json[], identity: Identity): boolean {
  return list.some((member) => identityText(member, identity) !== undefined)
}
