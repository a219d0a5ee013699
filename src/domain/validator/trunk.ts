/**
 * @module Finds where a context begins: below a single key that holds all of it, if there is one. `{output: {facts, order}}` is judged
 * like `{facts, order}`, whatever the name of the key (JUD-49). Pure.
 */
import { protectedBy } from '../../../projections/protected-keys.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { Token } from '../../../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'

/** Keys from the root down to the start of the context; empty for most contexts. */
export type Trunk = readonly string[]

/** The values at one level of the trunk; their keys are judged as top-level keys of the context. */
export interface Level {
  readonly place: Trunk
  readonly before: JsonObject
  readonly after: JsonObject
  /** The key of the next level. */
  readonly next: string | undefined
}

const DEPTH_MAX = 8
const NONE: Trunk = []

/**
 * Descends while the established context has a single key with an object or a list, and its value is an object. A first handoff uses the
 * new context instead.
 */
export function trunkOf(before: JsonObject, after: JsonObject, policy: ResolvedPolicy): Trunk {
  const trunk: string[] = []
  const isProtected = protectedBy(policy)
  const isFirst = Object.keys(before).length === 0
  for (let [was, is] = [isFirst ? after : before, after]; trunk.length < DEPTH_MAX; ) {
    const key = soleHolder(was)
    if (key === undefined || isNamed(key, policy)) break
    // If a protected key is gone or no longer an object, its loss is judged as one change.
    if (isProtected(key) && !isJsonObject(is[key] ?? null)) break
    trunk.push(key)
    was = objectAt(was, key)
    is = objectAt(is, key)
  }
  return trunk.length === 0 ? NONE : trunk
}

/** The key of the only member that is an object or a list, provided it is an object. */
function soleHolder(context: JsonObject): string | undefined {
  let found: string | undefined
  for (const key of Object.keys(context)) {
    const value = context[key] as Json
    if (typeof value !== 'object' || value === null) continue
    if (found !== undefined || !isJsonObject(value)) return undefined
    found = key
  }
  return found
}

/** Whether the policy names the key: its rules then apply to this key, not to keys below it. */
function isNamed(key: string, { criticalKeys, protect, free = [] }: Parameters<typeof trunkOf>[2]): boolean {
  if (criticalKeys.includes(key) || Array.isArray(protect)) return true
  return free.includes(key)
}

/** The levels from the root down; without a trunk, the whole context is the only level. */
export function levelsOf(before: JsonObject, after: JsonObject, trunk: Trunk): readonly Level[] {
  const levels: Level[] = []
  let [was, is] = [before, after]
  for (const [depth, next] of [...trunk, undefined].entries()) {
    levels.push({ place: trunk.slice(0, depth), before: was, after: is, next })
    if (next === undefined) break
    was = objectAt(was, next)
    is = objectAt(is, next)
  }
  return levels
}

function objectAt(context: JsonObject, key: string): JsonObject {
  const value = Object.hasOwn(context, key) ? (context[key] as Json) : null
  return isJsonObject(value) ? value : {}
}

/** Whether a place holds the whole context. */
export function isWholeContext(place: readonly Token[], trunk: Trunk): boolean {
  return place.length <= trunk.length && place.every((token, depth) => `${token}` === trunk[depth])
}

/** The top-level key that a place is under. */
export function topKey(place: readonly Token[], trunk: Trunk): string {
  let depth = 0
  while (depth < trunk.length && depth + 1 < place.length && `${place[depth]}` === trunk[depth]) depth += 1
  return `${place[depth]}`
}
