/** @module Seeded 31-bit hashes of recorded values. Without knowledge of the seed, collisions cannot be constructed. */
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { type Scalar, scalarText } from '../meaning/scalars.ts'

/** Steps per list member. */
const MEMBER_STEPS = 15

export function hashText(seed: number, text: string): number {
  let hash = seed | 0
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x9e3779b1)
    hash = (hash << 13) | (hash >>> 19)
  }
  return finish(hash ^ text.length)
}

export function hashPair(seed: number, a: number, b: number): number {
  return finish(Math.imul(finish(seed ^ a), 0x85ebca6b) + b)
}

/** Equal for scalars that have the same meaning under the key. */
export function hashScalar(seed: number, key: string, value: Scalar): number {
  return hashText(seed, scalarText(value, placeKind(key, false)))
}

/** Cache of hashes of lists and objects, with the key each was computed under, so that nested values are read once. */
export type KnownHashes = Map<object, { readonly key: string; readonly hash: number }>

/** Hash of a whole value; it depends on the order of lists, but not on the order of keys. */
export function hashValue(seed: number, key: string, value: Json, known: KnownHashes): number {
  if (typeof value !== 'object' || value === null) return hashScalar(seed, key, value)
  const made = known.get(value)
  if (made?.key === key) return made.hash
  const hash = isJsonObject(value) ? hashObject(seed, value, known) : hashList(seed, key, value as Json[], known)
  known.set(value, { key, hash })
  return hash
}

/** Computes, in pieces, the hash that `hashValue` returns for a long list, and caches it. `visit` receives each member with its hash. */
export function* hashLongList(
  { seed, key, list }: { readonly seed: number; readonly key: string; readonly list: readonly Json[] },
  known: KnownHashes,
  pauses: Pauses,
  visit?: (member: Json, hash: number) => void,
): Yielding<number> {
  let hash = 1
  for (const member of list) {
    const own = hashValue(seed, key, member, known)
    hash = hashPair(seed, hash, own)
    visit?.(member, own)
    pauses.count(MEMBER_STEPS)
    if (pauses.due()) yield
  }
  known.set(list, { key, hash })
  return hash
}

/** Computes, in pieces, the hash that `hashValue` returns for a wide object, and caches it. */
export function* hashWideObject(
  { seed, key, object }: { readonly seed: number; readonly key: string; readonly object: JsonObject },
  known: KnownHashes,
  pauses: Pauses,
): Yielding<void> {
  let sum = OBJECT_START
  for (const name of Object.keys(object)) {
    sum = withMember(sum, { seed, name, value: object[name] as Json }, known)
    pauses.count(MEMBER_STEPS)
    if (pauses.due()) yield
  }
  known.set(object, { key, hash: finish(sum) })
}

function hashList(seed: number, key: string, list: readonly Json[], known: KnownHashes): number {
  let hash = 1
  for (const member of list) hash = hashPair(seed, hash, hashValue(seed, key, member, known))
  return hash
}

function hashObject(seed: number, value: JsonObject, known: KnownHashes): number {
  let sum = OBJECT_START
  for (const name of Object.keys(value)) sum = withMember(sum, { seed, name, value: value[name] as Json }, known)
  return finish(sum)
}

const OBJECT_START = 2

function withMember(
  sum: number,
  { seed, name, value }: { readonly seed: number; readonly name: string; readonly value: Json },
  known: KnownHashes,
): number {
  return (sum + hashPair(seed, hashText(seed, name), hashValue(seed, name, value, known))) | 0
}

function finish(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 1
}
