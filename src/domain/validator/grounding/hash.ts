/** @module Seeded hashes of what is recorded: 31 bits each. Who does not know the seed cannot make two values meet. */
import { isJsonObject, type Json } from '../../../../schemas/json.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { type Scalar, scalarText } from '../meaning/scalars.ts'

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

/** Equal for scalars that say the same under the key. */
export function hashScalar(seed: number, key: string, value: Scalar): number {
  return hashText(seed, scalarText(value, placeKind(key, false)))
}

/** Of a whole value: lists in their order, objects whatever the order of their keys. */
export function hashValue(seed: number, key: string, value: Json): number {
  if (Array.isArray(value)) {
    return value.reduce((hash: number, member) => hashPair(seed, hash, hashValue(seed, key, member as Json)), 1)
  }
  if (!isJsonObject(value)) return hashScalar(seed, key, value as Scalar)
  let sum = 2
  for (const name of Object.keys(value)) {
    sum = (sum + hashPair(seed, hashText(seed, name), hashValue(seed, name, value[name] as Json))) | 0
  }
  return finish(sum)
}

function finish(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 1
}
