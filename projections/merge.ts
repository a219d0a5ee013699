/**
 * @module Computes the context that a handoff requests: replaced, merged (RFC 7396) or extended (RUN-34), and reuses unchanged parts of the
 * previous context.
 */
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import { addToContext, type ExtendPolicy, extendContext, withMember } from './extend.ts'
import { memberKeys, STATUS } from './set-members.ts'
import { type SetTexts, setTextsOf } from './set-text.ts'

export interface ModeInput {
  readonly context: JsonObject
  readonly payload: JsonObject
  readonly mode: 'replace' | 'merge' | 'extend'
  readonly policy: ExtendPolicy
  /** Additions, applied after payload and mode. */
  readonly add?: JsonObject | undefined
}

/** Pure; the result shares unchanged parts with its inputs, which are not modified. */
export function applyMode(input: ModeInput): JsonObject {
  const context = withPayload(input)
  return input.add === undefined ? context : addToContext(context, input.add, input.policy)
}

function withPayload({ context, payload, mode, policy }: ModeInput): JsonObject {
  switch (mode) {
    case 'replace':
      return payload
    case 'merge':
      return mergeObject(context, payload)
    case 'extend':
      return policy.rules === 2 ? extendContext(context, payload, policy) : extendByFirstRules(context, payload, policy)
  }
}

function extendByFirstRules(context: JsonObject, payload: JsonObject, { criticalKeys }: ExtendPolicy): JsonObject {
  return extendObject(context, payload, (key) => (criticalKeys.includes(key) ? setTextsOf(key) : undefined))
}

/** RFC 7396, section 2: null removes, an object merges, anything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  return isJsonObject(patch) ? mergeObject(isJsonObject(target) ? target : {}, patch) : patch
}

function mergeObject(target: JsonObject, patch: JsonObject): JsonObject {
  let copy: Record<string, Json> | undefined
  for (const key of Object.keys(patch)) {
    const change = patch[key] as Json
    if (change !== null) copy = withMember(target, copy, { key, value: mergePatch(own(target, key), change) })
    else if (Object.hasOwn(target, key)) {
      copy ??= { ...target }
      delete copy[key]
    }
  }
  return copy ?? target
}

/** `textsFor` defines how the lists below a member are compared; undefined if lists are replaced. */
function extendObject(
  target: JsonObject,
  payload: JsonObject,
  textsFor: (key: string) => SetTexts | undefined,
): JsonObject {
  let copy: Record<string, Json> | undefined
  for (const key of Object.keys(payload)) {
    const value = extendValue(own(target, key), payload[key] as Json, textsFor(key))
    copy = withMember(target, copy, { key, value })
  }
  return copy ?? target
}

function extendValue(target: Json | undefined, payload: Json, texts: SetTexts | undefined): Json {
  if (isJsonObject(target) && isJsonObject(payload)) return extendObject(target, payload, () => texts)
  if (texts !== undefined && Array.isArray(target) && Array.isArray(payload)) return extendList(target, payload, texts)
  return payload
}

/** Members keep their position and spelling; known members are extended in place, and new ones follow. */
function extendList(target: readonly Json[], payload: readonly Json[], texts: SetTexts): readonly Json[] {
  const keys = memberKeys(target, payload, texts)
  const places = new Map<string, number>()
  target.forEach((member, place) => {
    for (const key of placeKeys(member, keys.before[place] as string)) if (!places.has(key)) places.set(key, place)
  })

  let copy: Json[] | undefined
  payload.forEach((member, i) => {
    const [stated, key] = placeKeys(member, keys.after[i] as string)
    const place = places.get(stated) ?? places.get(key)
    if (place === undefined) {
      copy ??= [...target]
      copy.push(member)
      places.set(stated, copy.length - 1)
      return
    }
    const known = (copy ?? target)[place] as Json
    const value = isJsonObject(member) ? extendValue(known, member, texts) : known
    if (value === known) return
    copy ??= [...target]
    copy[place] = value
  })
  return copy ?? target
}

/** Several actions may differ in their status only: the one with the same status is preferred, otherwise the first. */
function placeKeys(member: Json, key: string): readonly [stated: string, key: string] {
  return [isJsonObject(member) ? `${key}\n${JSON.stringify(own(member, STATUS))}` : key, key]
}

function own(value: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined
}

/**
 * Returns a value equal to `now`, including the order of its keys, that reuses equal lists and objects at the same place in `before`.
 * Neither input is changed.
 */
export function withSharedParts(before: Json, now: Json): Json {
  return isContainer(now) ? sharedContainer(before, now) : now
}

type Container = readonly Json[] | JsonObject

function sharedContainer(before: Json | undefined, now: Container): Container {
  if (!isContainer(before) || before === now) return now
  if (Array.isArray(now)) return Array.isArray(before) ? listOf(before, now) : now
  return Array.isArray(before) ? now : objectOf(before as JsonObject, now as JsonObject)
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null
}

function listOf(before: readonly Json[], now: readonly Json[]): readonly Json[] {
  let isSame = before.length === now.length
  let copy: Json[] | undefined
  for (let i = 0; i < now.length; i++) {
    const mine = now[i] as Json
    const theirs = i < before.length ? before[i] : undefined
    if (!isContainer(mine)) {
      if (theirs !== mine) isSame = false
      continue
    }
    const shared = sharedContainer(theirs, mine)
    if (shared !== theirs) isSame = false
    if (shared === mine) continue
    copy ??= [...now]
    copy[i] = shared
  }
  return isSame ? before : (copy ?? now)
}

/**
 * Every handoff passes through here as a whole, so the keys of `now` are walked without creating a list, and equality by reference or of
 * scalars needs no call.
 */
function objectOf(before: JsonObject, now: JsonObject): JsonObject {
  const known = Object.keys(before)
  let isSame = true
  let count = 0
  let copy: Record<string, Json> | undefined
  for (const key in now) {
    const isInPlace = known[count] === key
    count += 1
    if (!isInPlace) isSame = false
    if (!isInPlace && !Object.hasOwn(before, key)) continue
    const theirs = before[key] as Json
    const mine = now[key] as Json
    if (!isContainer(mine)) {
      if (theirs !== mine) isSame = false
      continue
    }
    const shared = sharedContainer(theirs, mine)
    if (shared !== theirs) isSame = false
    if (shared === mine) continue
    copy ??= { ...now }
    copy[key] = shared
  }
  return isSame && count === known.length ? before : (copy ?? now)
}
