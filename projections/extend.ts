/**
 * @module Mode `extend` for the current rules, but not for base relay and policies recorded by 0.1.0: a context grows by a payload. List
 * members are matched by identity, and a matched member takes over the payload's values, so that the validator sees the changes. Recorded
 * runs are folded with it, so it must not change.
 */
import { isEqual, isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import type { ResolvedPolicy } from '../schemas/policy.ts'
import { type DeclaredLists, declaredBelow, declaredLists } from './declared-lists.ts'
import { keyWords } from './key-words.ts'
import { type Identity, identityText, listIdentity } from './list-identity.ts'
import { namesOrder } from './ordered-keys.ts'
import { plainLower, plainText } from './plain-text.ts'
import { type ProtectionPolicy, protectedBy } from './protected-keys.ts'

export type ExtendPolicy = ProtectionPolicy & Pick<ResolvedPolicy, 'lists' | 'judge'>

/** In these lists a new text cannot be told from a changed one, so a payload replaces the whole list. */
const WHOLE_LISTS: ReadonlySet<string> = new Set(['constraints', 'requirements'])

interface Place {
  readonly key: string
  readonly topKey: string
  /** Declarations of the policy about lists here and below. */
  readonly declared: DeclaredLists
  /** The payload only adds; it replaces no member by another. */
  readonly adds?: boolean
}

/** Adds to a context: a list gets the members that it does not contain; a list whose order or number matters is appended to. */
export function addToContext(context: JsonObject, more: JsonObject, policy: ExtendPolicy): JsonObject {
  const declared = declaredLists(policy.lists)
  let copy: Record<string, Json> | undefined
  for (const key of Object.keys(more)) {
    const place: Place = { key, topKey: key, declared: declaredBelow(declared, key), adds: true }
    copy = withMember(context, copy, { key, value: extendValue(own(context, key), more[key] as Json, place) })
  }
  return copy ?? context
}

export function extendContext(context: JsonObject, payload: JsonObject, policy: ExtendPolicy): JsonObject {
  const isProtected = protectedBy(policy)
  const declared = declaredLists(policy.lists)
  let copy: Record<string, Json> | undefined
  for (const key of Object.keys(payload)) {
    const place: Place = { key, topKey: key, declared: declaredBelow(declared, key) }
    const target = own(context, key)
    const value = isProtected(key)
      ? extendValue(target, payload[key] as Json, place)
      : grown(target, payload[key] as Json)
    copy = withMember(context, copy, { key, value })
  }
  return copy ?? context
}

/** For free keys: objects merge, everything else is replaced. */
function grown(target: Json | undefined, payload: Json): Json {
  if (!isJsonObject(target) || !isJsonObject(payload)) return payload
  let copy: Record<string, Json> | undefined
  for (const key of Object.keys(payload)) {
    copy = withMember(target, copy, { key, value: grown(own(target, key), payload[key] as Json) })
  }
  return copy ?? target
}

function extendValue(target: Json | undefined, payload: Json, place: Place): Json {
  if (isJsonObject(target) && isJsonObject(payload)) return extendObject(target, payload, place)
  if (!Array.isArray(target) || !Array.isArray(payload)) return payload
  if (place.adds === true && isOrdered(target, place)) return [...target, ...payload]
  if (place.adds === true || !isComplete(target, place)) return extendList(target, payload, place)
  return payload
}

function extendObject(target: JsonObject, payload: JsonObject, place: Place): JsonObject {
  let copy: Record<string, Json> | undefined
  for (const key of Object.keys(payload)) {
    const below = { ...place, key, declared: declaredBelow(place.declared, key) }
    copy = withMember(target, copy, { key, value: extendValue(own(target, key), payload[key] as Json, below) })
  }
  return copy ?? target
}

/** Whether a payload replaces the whole list, because its order matters or its texts have no identity (`WHOLE_LISTS`). */
function isComplete(target: readonly Json[], place: Place): boolean {
  const { topKey, declared } = place
  return isOrdered(target, place) || (declared.rule === undefined && WHOLE_LISTS.has(topKey))
}

function isOrdered(target: readonly Json[], { key, declared }: Place): boolean {
  if (declared.rule !== undefined) return declared.rule === 'sequence'
  return namesOrder(keyWords(key)) || (target.length > 0 && target.every((member) => typeof member === 'number'))
}

/** Members keep their position and spelling, take over the payload's values, and new members follow. */
function extendList(target: readonly Json[], payload: readonly Json[], place: Place): readonly Json[] {
  const { rule } = place.declared
  const keys = typeof rule === 'object' ? rule.key : undefined
  const identity = listIdentity({ before: target, after: payload }, place.key, keys)
  const nameOf = (member: Json): string =>
    (identity === undefined ? undefined : identityText(member, identity)) ?? memberText(member, place)
  const names = { before: target.map(nameOf), now: payload.map(nameOf) }
  const known = new Map<string, number>()
  const spare = new Map<string, number>()
  for (const [at, member] of target.entries()) {
    const name = names.before[at] as string
    if (isNamed(member, identity)) known.set(name, at)
    else spare.set(name, (spare.get(name) ?? 0) + 1)
  }
  const result = [...target]
  const changedAt = place.adds === true ? NONE : changedMembers([target, payload], names)
  const below = { ...place, declared: declaredBelow(place.declared, '*') }
  for (const [i, member] of payload.entries()) {
    const name = names.now[i] as string
    const at = known.get(name) ?? (changedAt.has(i) ? i : undefined)
    if (at !== undefined) result[at] = extendValue(result[at], member, below)
    else if (isNamed(member, identity) || !takeSpare(spare, name)) {
      result.push(member)
      if (isNamed(member, identity)) known.set(name, result.length - 1)
    }
  }
  return result
}

const NONE: ReadonlySet<number> = new Set()

function isNamed(member: Json, identity: Identity | undefined): boolean {
  return identity !== undefined && identityText(member, identity) !== undefined
}

/**
 * Indexes of members whose identifying values the payload changed. The payload must repeat the list, with a mostly equal member at the same
 * index; a payload that only names new members changes none.
 */
function changedMembers(
  [target, payload]: readonly [readonly Json[], readonly Json[]],
  names: { readonly before: readonly string[]; readonly now: readonly string[] },
): ReadonlySet<number> {
  const changed = new Set<number>()
  if (payload.length < target.length) return changed
  const [previous, current] = [new Set(names.before), new Set(names.now)]
  const lost = names.before.flatMap((name, i) => (current.has(name) || previous.has(names.now[i] as string) ? [] : [i]))
  const retained = names.before.filter((name) => current.has(name)).length
  // A payload that repeats more than half of the list restates the list; any other means additional members.
  const isRewritten = retained * 2 > target.length
  const shares = lost.map((i) => sameShare(target[i] as Json, payload[i] as Json))
  const isAligned = lost.length > 1 && lost.length === target.length && shares.every((share) => share >= 0.5)
  for (const [at, i] of lost.entries()) {
    const [before, after] = [target[i] as Json, payload[i] as Json]
    const isSameThing =
      isJsonObject(before) && isJsonObject(after)
        ? (shares[at] as number) >= (retained > 0 || isAligned ? 0.5 : onlyOneOther(before))
        : isScalar(before) && isScalar(after) && (isRewritten || isOtherMeasure(before, after))
    if (isSameThing) changed.add(i)
  }
  return changed
}

/** The share of an object's members that are equal in the other object. */
function sameShare(before: Json, after: Json): number {
  if (!isJsonObject(before) || !isJsonObject(after)) return 0
  const keys = Object.keys(before)
  const same = keys.filter((key) => Object.hasOwn(after, key) && isEqual(before[key] as Json, after[key] as Json))
  return keys.length === 0 ? 0 : same.length / keys.length
}

/** The share of equal members in an object with exactly one difference, if it has at least three members; otherwise 1. */
function onlyOneOther(object: JsonObject): number {
  const { length } = Object.keys(object)
  return length < 3 ? 1 : (length - 1) / length
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object' || value === null
}

/** A number followed by its unit: `5 mg`, `80 %`. */
const MEASURE = /\d+(?:[.,]\d+)*(?= ?(?:%|[a-z]{1,3}\b))/gi
const MEASURE_MAX_CHARS = 512

/** The same sentence with another number of the same unit: `warfarin 5 mg daily`, `warfarin 50 mg daily`. */
function isOtherMeasure(before: Json, after: Json): boolean {
  if (typeof before !== 'string' || typeof after !== 'string') return false
  if (Math.max(before.length, after.length) > MEASURE_MAX_CHARS || !/[a-z]{4}/i.test(before)) return false
  return before.replace(MEASURE, '#') === after.replace(MEASURE, '#')
}

/** Consumes one known occurrence of a member without identity. Returns false if none is left. */
function takeSpare(spare: Map<string, number>, text: string): boolean {
  const left = spare.get(text) ?? 0
  if (left > 0) spare.set(text, left - 1)
  return left > 0
}

function memberText(member: Json, { topKey }: Place): string {
  if (typeof member !== 'string') return canonical(member)
  return `"${topKey === 'entities' ? plainLower(member) : plainText(member)}`
}

/** JSON text with sorted keys; lists keep their order. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json)}`).join(',')}}`
}

function own(value: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined
}

/**
 * Sets a member, copying the object at the first change only. A member `__proto__` is set like any other, never as the prototype. An object
 * that replaces an object is an extension of it, and is another reference only if something in it changed.
 */
export function withMember(
  target: JsonObject,
  copy: Record<string, Json> | undefined,
  member: { readonly key: string; readonly value: Json },
): Record<string, Json> | undefined {
  const { key, value } = member
  const before = own(target, key)
  if (before === value) return copy
  const hasGrown = before !== undefined && isJsonObject(before) && isJsonObject(value)
  if (before !== undefined && !hasGrown && isEqual(before, value)) return copy
  const changed = copy ?? { ...target }
  Object.defineProperty(changed, key, { value, writable: true, enumerable: true, configurable: true })
  return changed
}
