/**
 * @module By which of their members the objects of a list are known: `id`, `key`, `name`, else one of a short table of usual keys and
 * pairs. Recorded runs are folded by it, so that it must not change.
 */
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import { keyWords, singular } from './key-words.ts'
import { plainLower } from './plain-text.ts'

export interface Identity {
  readonly keys: readonly string[]
  /** What these keys name is one thing: the same twice with different values contradicts itself. Weak ones only find counterparts. */
  readonly isStrong: boolean
  /** `id`, `key`, a uuid, the list's own id, or declared: no other member can tell two of them apart. */
  readonly isComplete: boolean
}

const WHOLE: readonly string[] = ['id', 'key', 'uuid', 'guid']
const STRONG: readonly string[] = 'name ref reference txn sku code no nr number isbn ean iban vin mrn serial'.split(' ')
/** They name what a member is about, and often enough only one member is about it. */
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
/** Ids in a list of what happened are those of others. */
const HAPPENINGS: ReadonlySet<string> = new Set(
  'history log logs events event timeline changes entries journal audit trail'.split(' '),
)
const STRONG_MEMBERS: ReadonlySet<string> = new Set(STRONG)
/** Members looked at in search of an identity. */
const KEYS_MAX = 64

interface Known {
  readonly keys: readonly string[]
  readonly candidates: readonly Identity[]
}

/** Lists under one key are mostly of one shape. */
const memo = new Map<string, Known>()
const MEMO_MAX = 4096
const MEMO_KEYS_MAX = 32
const MEMO_MAX_CHARS = 512

/** Candidates in order of preference, as far as the list's first object has them. */
export function identityCandidates(list: readonly Json[], listKey: string): readonly Identity[] {
  const first = list.find((member) => isJsonObject(member)) as JsonObject | undefined
  if (first === undefined) return []
  const keys = Object.keys(first)
  if (keys.length > MEMO_KEYS_MAX) return candidatesOf(keys, listKey)
  const shape = `${listKey}\n${keys.join('\n')}`
  const known = memo.get(shape)
  // A key may hold a line feed: two shapes may read the same.
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

/** Routes and periods are often there twice; persons and departures are not. */
function isNamedPair(pair: readonly string[]): boolean {
  return pair.some((key) => key.toLowerCase().includes('name') || key === 'date')
}

/** `call_id` in `calls`, `student_no` in `students`. */
function isOwnReference(key: string, what: string): boolean {
  const words = keyWords(key)
  return words.length === 2 && words[0] === what && REFERENCES.has(words[1] ?? '')
}

/** A member that refers to something: what differs in it is another thing. */
export function isReference(key: string): boolean {
  return REFERENCES.has(keyWords(key).at(-1) ?? '') || STRONG_MEMBERS.has(key)
}

/** The text that a member is known by; undefined where one of the keys is missing or no scalar. */
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

/** The first of the candidates that every object of `before` has, no two the same, and that some object of `after` has. */
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
