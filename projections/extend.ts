/**
 * @module Mode `extend`, but for base relay and for policies that 0.1.0 recorded: a context grows by a payload. Members of lists are known by identity, and a member that is known
 * takes over what the payload says of it, so that the validator sees what it changed. Recorded runs are folded by it: it must not change.
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

/** A new text in these cannot be told from a changed one: a list of them is the whole list. */
const WHOLE_LISTS: ReadonlySet<string> = new Set(['constraints', 'requirements'])

interface Place {
  readonly key: string
  readonly topKey: string
  /** What the policy declares about lists here and below. */
  readonly declared: DeclaredLists
  /** The payload names more of what is there, and changes no member for another. */
  readonly adds?: boolean
}

/** Grows a context by more of what it holds: a list by members that it does not hold, one whose order or number counts at its end. */
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

/** Free keys: objects merge, everything else is replaced. */
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

/** Where the order says something, a payload says all of it. */
function isComplete(target: readonly Json[], place: Place): boolean {
  const { topKey, declared } = place
  return isOrdered(target, place) || (declared.rule === undefined && WHOLE_LISTS.has(topKey))
}

function isOrdered(target: readonly Json[], { key, declared }: Place): boolean {
  if (declared.rule !== undefined) return declared.rule === 'sequence'
  return namesOrder(keyWords(key)) || (target.length > 0 && target.every((member) => typeof member === 'number'))
}

/** Members keep their places and spelling; what the payload says of them is taken over, and new ones follow. */
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
 * Places of members that a payload changed in what they are known by: it says the list again, and in their place something of which most is the
 * same. A payload that only names new members changes none.
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
  // Whoever names some of what stands there already, and others, means more of them; whoever names most of it says the list again.
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

/** Members of an object that stand in the other one as they are, as a share of all. */
function sameShare(before: Json, after: Json): number {
  if (!isJsonObject(before) || !isJsonObject(after)) return 0
  const keys = Object.keys(before)
  const same = keys.filter((key) => Object.hasOwn(after, key) && isEqual(before[key] as Json, after[key] as Json))
  return keys.length === 0 ? 0 : same.length / keys.length
}

/** The share of an object's members that are the same where all but one of them are, and more than one is. */
function onlyOneOther(object: JsonObject): number {
  const { length } = Object.keys(object)
  return length < 3 ? 1 : (length - 1) / length
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object' || value === null
}

/** What a number measures stands behind it: `5 mg`, `80 %`. */
const MEASURE = /\d+(?:[.,]\d+)*(?= ?(?:%|[a-z]{1,3}\b))/gi
const MEASURE_MAX_CHARS = 512

/** One sentence with another number of the same unit: `warfarin 5 mg daily`, `warfarin 50 mg daily`. */
function isOtherMeasure(before: Json, after: Json): boolean {
  if (typeof before !== 'string' || typeof after !== 'string') return false
  if (Math.max(before.length, after.length) > MEASURE_MAX_CHARS || !/[a-z]{4}/i.test(before)) return false
  return before.replace(MEASURE, '#') === after.replace(MEASURE, '#')
}

/** A member without an identity is there once for each time that it is there already. */
function takeSpare(spare: Map<string, number>, text: string): boolean {
  const left = spare.get(text) ?? 0
  if (left > 0) spare.set(text, left - 1)
  return left > 0
}

function memberText(member: Json, { topKey }: Place): string {
  if (typeof member !== 'string') return canonical(member)
  return `"${topKey === 'entities' ? plainLower(member) : plainText(member)}`
}

/** Keys in one order; lists as they stand. */
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
 * Copies at the first change only. A member `__proto__` is set like any other, never as the prototype. An object in the place of an object has
 * grown out of it: it is another one where something in it changed, and only then.
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
