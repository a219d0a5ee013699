/**
 * @module Signatures: numbers that are equal for values of equal meaning, so that list members are matched in linear time. Two different
 * values may have the same signature, so a match must be confirmed by a comparison.
 */
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { Pauses } from '../../yielding.ts'
import { isOrdered } from '../lists/list-order.ts'
import { type PlaceKind, placeKind } from './place-kind.ts'
import { type Scalar, scalarText } from './scalars.ts'

/** Cache of the signatures of one comparison, so that nested lists and repeated texts are read once. */
export interface Signatures {
  readonly containers: Map<object, number>
  readonly texts: Map<PlaceKind, Map<string, number>>
  /** By key, below `entities` and elsewhere. */
  readonly keys: readonly [elsewhere: Map<string, KeyReading>, entities: Map<string, KeyReading>]
  readonly pauses: Pauses
}

interface KeyReading {
  readonly signature: number
  readonly kind: PlaceKind
}

/** Steps per scalar that is read, and per character of it. */
const SCALAR_STEPS = 10
const CHARACTER_STEPS = 0.05

export function noSignatures(pauses: Pauses): Signatures {
  return { containers: new Map(), texts: new Map(), keys: [new Map(), new Map()], pauses }
}

/** Whether the key of a state, a clock or a counter was read so far. */
export function hasReadMoving({ keys }: Signatures): boolean {
  return keys.some((readings) => [...readings.values()].some(({ kind }) => kind.isMoving))
}

export function signatureOf(value: Json, kind: PlaceKind, known: Signatures): number {
  if (typeof value !== 'object' || value === null) return scalarSignature(value, kind, known)
  const made = known.containers.get(value)
  if (made !== undefined) return made
  const signature = Array.isArray(value)
    ? listSignature(value, kind, known)
    : objectSignature(value as JsonObject, { kind, known, counts: undefined })
  known.containers.set(value, signature)
  return signature
}

/** Signature of the members for which `counts` is true, or of all if it is undefined; null members never count. */
export function objectSignature(
  value: JsonObject,
  by: { readonly kind: PlaceKind; readonly known: Signatures; readonly counts: ((key: string) => boolean) | undefined },
): number {
  const { kind, known, counts } = by
  const keys = Object.keys(value)
  known.pauses.count(2 * keys.length)
  let sum = 17
  for (const key of keys) {
    const member = value[key] as Json
    if (member === null || counts?.(key) === false) continue
    const below = readKey(key, kind.isEntities, known)
    sum = add(sum, mix(below.signature, signatureOf(member, below.kind, known)))
  }
  return sum
}

/** Independent of the order, except for lists whose order is meaningful: `[2, 1]` differs from `[1, 2]`. */
function listSignature(list: readonly Json[], kind: PlaceKind, known: Signatures): number {
  const order = isOrdered(list, kind)
  let sum = order ? 29 : 19
  for (const member of list) {
    const signature = signatureOf(member, kind, known)
    sum = order ? mix(sum, signature) : add(sum, mix(23, signature))
  }
  return sum
}

function readKey(key: string, isEntities: boolean, { keys }: Signatures): KeyReading {
  const readings = keys[isEntities ? 1 : 0]
  const made = readings.get(key)
  if (made !== undefined) return made
  const reading = { signature: hashText(key), kind: placeKind(key, isEntities) }
  readings.set(key, reading)
  return reading
}

function scalarSignature(value: Scalar, kind: PlaceKind, { texts, pauses }: Signatures): number {
  pauses.count(1)
  if (typeof value !== 'string') return hashText(scalarText(value, kind))
  let known = texts.get(kind)
  if (known === undefined) {
    known = new Map()
    texts.set(kind, known)
  }
  const made = known.get(value)
  if (made !== undefined) return made
  const signature = hashText(scalarText(value, kind))
  pauses.count(SCALAR_STEPS + CHARACTER_STEPS * value.length)
  known.set(value, signature)
  return signature
}

const MODULUS = 2 ** 52

function add(a: number, b: number): number {
  return (a + b) % MODULUS
}

function mix(a: number, b: number): number {
  const high = Math.imul(((a % 4294967296) | 0) ^ 0x5bd1e995, 0x27d4eb2f) ^ Math.imul((b % 4294967296) | 0, 0x165667b1)
  const low =
    Math.imul(Math.floor(a / 4294967296) + 0x9e37, 0x85ebca6b) ^
    Math.imul(Math.floor(b / 4294967296) ^ high, 0xc2b2ae35)
  return (scramble(high ^ (low >>> 15)) >>> 0) * 2 ** 20 + (scramble(low) >>> 12)
}

function scramble(h: number): number {
  const once = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35)
  return twice ^ (twice >>> 16)
}

/** Two hashes in the manner of FNV-1a, over UTF-16 code units. */
function hashText(text: string): number {
  let [a, b] = [0x811c9dc5, 0x9747b28c]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0x5bd1e995)
  }
  return (scramble(a) >>> 0) * 2 ** 20 + (scramble(b) >>> 12)
}
