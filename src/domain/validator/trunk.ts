/**
 * @module Where a context begins: below the key that holds all of it, where there is one. `{output: {facts, order}}` is judged as `{facts, order}`, whatever the
 * key is called (JUD-49). Pure.
 */
import { protectedBy } from '../../../projections/protected-keys.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { Token } from '../../../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'

/** Keys from the top down to where the context begins; empty for most contexts. */
export type Trunk = readonly string[]

/** What stands at one level of the trunk: its keys are top-level keys of the context. */
export interface Level {
  readonly place: Trunk
  readonly before: JsonObject
  readonly after: JsonObject
  /** The key that leads on. */
  readonly next: string | undefined
}

const DEPTH_MAX = 8
const NONE: Trunk = []

/** Of what is established, at each level the only key with an object or a list, where that is an object. A first handoff has the trunk of what it says. */
export function trunkOf(before: JsonObject, after: JsonObject, policy: ResolvedPolicy): Trunk {
  const trunk: string[] = []
  const isProtected = protectedBy(policy)
  const isFirst = Object.keys(before).length === 0
  for (let [was, is] = [isFirst ? after : before, after]; trunk.length < DEPTH_MAX; ) {
    const key = soleHolder(was)
    if (key === undefined || isNamed(key, policy)) break
    // What is protected as it is, is gone as one where it is gone.
    if (isProtected(key) && !isJsonObject(is[key] ?? null)) break
    trunk.push(key)
    was = objectAt(was, key)
    is = objectAt(is, key)
  }
  return trunk.length === 0 ? NONE : trunk
}

/** The key of the only member that holds anything, where that is an object. */
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

/** What a policy says of a top-level key is said of this one, and of no key below it. */
function isNamed(key: string, { criticalKeys, protect, free = [] }: Parameters<typeof trunkOf>[2]): boolean {
  if (criticalKeys.includes(key) || Array.isArray(protect)) return true
  return free.includes(key)
}

/** From the top down; of a context without a trunk the whole of it. */
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

/** Whether a place is all of the context. */
export function isWhole(place: readonly Token[], trunk: Trunk): boolean {
  return place.length <= trunk.length && place.every((token, depth) => `${token}` === trunk[depth])
}

/** The top-level key that a place stands under. */
export function topKey(place: readonly Token[], trunk: Trunk): string {
  let depth = 0
  while (depth < trunk.length && depth + 1 < place.length && `${place[depth]}` === trunk[depth]) depth += 1
  return `${place[depth]}`
}
