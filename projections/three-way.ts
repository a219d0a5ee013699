/**
 * @module The union of branches: merges the changes of each branch to one frozen context, and reports a conflict if two branches changed a
 * place differently.
 */
import { isEqual, isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import type { ExtendPolicy } from './extend.ts'
import { protectedBy } from './protected-keys.ts'
import { memberKeys } from './set-members.ts'
import { type SetTexts, setTextsOf } from './set-text.ts'

export interface UnionInput {
  readonly frozen: JsonObject
  /** The contexts that the branches created from the frozen one by `extend`, in the order of the merge. */
  readonly contexts: readonly { readonly branch: string; readonly context: JsonObject }[]
  readonly policy: ExtendPolicy
}

export interface Conflict {
  readonly path: readonly (string | number)[]
  /** Undefined if the frozen context has no value there. */
  readonly frozen: Json | undefined
  readonly ours: { readonly branch: string; readonly value: Json }
  readonly theirs: { readonly branch: string; readonly value: Json }
}

export type Union =
  | { readonly ok: true; readonly context: JsonObject }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] }

/** Pure. `extend` removes nothing, so every branch contains all members of the frozen context, with list members at their old indexes. */
export function unionOf({ frozen, contexts, policy }: UnionInput): Union {
  const conflicts: Conflict[] = []
  const isProtected = protectedBy(policy)
  const changes: Changes = new Map()
  let merged = frozen
  for (const { branch, context } of contexts) {
    const merge: Merge = { branch, conflicts, changes }
    merged = mergeObjects({ base: frozen, ours: merged, theirs: context }, [], {
      ...merge,
      texts: (key) => (isProtected(key) ? setTextsOf(key) : undefined),
    })
  }
  return conflicts.length === 0 ? { ok: true, context: merged } : { ok: false, conflicts }
}

/** The first branch to change each place, by its path as JSON. */
type Changes = Map<string, string>

interface Merge {
  readonly branch: string
  readonly conflicts: Conflict[]
  readonly changes: Changes
}

/** `texts` defines how the lists below a member are compared; undefined if a list is treated as one value. */
type MergeObject = Merge & { readonly texts: (key: string) => SetTexts | undefined }
type MergeValue = Merge & { readonly texts: SetTexts | undefined }

interface Three<T> {
  readonly base: T
  readonly ours: T
  readonly theirs: T
}

type Path = readonly (string | number)[]

function mergeObjects({ base, ours, theirs }: Three<JsonObject>, path: Path, merge: MergeObject): JsonObject {
  const result: Record<string, Json> = { ...ours }
  for (const key of Object.keys(theirs)) {
    const three = { base: own(base, key), ours: own(ours, key), theirs: theirs[key] as Json }
    const value = mergeValues(three, [...path, key], { ...merge, texts: merge.texts(key) })
    // A member `__proto__` is set like any other, never as the prototype.
    Object.defineProperty(result, key, { value, writable: true, enumerable: true, configurable: true })
  }
  return result
}

function mergeValues(
  { base, ours, theirs }: { readonly base: Json | undefined; readonly ours: Json | undefined; readonly theirs: Json },
  path: Path,
  merge: MergeValue,
): Json {
  if (isSame(base, theirs)) return ours === undefined ? theirs : ours
  if (ours === undefined || isSame(base, ours)) {
    merge.changes.set(JSON.stringify(path), merge.branch)
    return theirs
  }
  if (isEqual(ours, theirs)) return ours
  if (isJsonObject(ours) && isJsonObject(theirs) && (base === undefined || isJsonObject(base))) {
    return mergeObjects({ base: base ?? {}, ours, theirs }, path, { ...merge, texts: () => merge.texts })
  }
  const { texts } = merge
  if (texts !== undefined && isList(ours) && isList(theirs) && isGrownFrom(base, ours, theirs)) {
    return mergeSets({ base: (base ?? []) as readonly Json[], ours, theirs }, path, { ...merge, texts })
  }
  merge.conflicts.push({
    path,
    frozen: base,
    ours: { branch: changerOf(path, merge), value: ours },
    theirs: { branch: merge.branch, value: theirs },
  })
  return ours
}

/** Members of the frozen list keep their indexes in every branch; members added by a branch are matched with those added by the others. */
function mergeSets(
  { base, ours, theirs }: Three<readonly Json[]>,
  path: Path,
  merge: MergeValue & { readonly texts: SetTexts },
): readonly Json[] {
  const result: Json[] = [...ours]
  for (const [i, was] of base.entries()) {
    const three = { base: was, ours: ours[i], theirs: theirs[i] as Json }
    result[i] = mergeValues(three, [...path, i], merge)
  }
  const added = { ours: ours.slice(base.length), theirs: theirs.slice(base.length) }
  const keys = memberKeys(added.ours, added.theirs, merge.texts)
  const places = new Map(keys.before.map((key, i) => [key, base.length + i]))
  for (const [i, member] of added.theirs.entries()) {
    const place = places.get(keys.after[i] as string)
    if (place === undefined) {
      merge.changes.set(JSON.stringify([...path, result.length]), merge.branch)
      result.push(member)
    } else if (isJsonObject(member)) {
      result[place] = mergeValues({ base: undefined, ours: result[place], theirs: member }, [...path, place], merge)
    }
  }
  return result
}

/** The branch that set the current value of this place, or of the nearest place above it. */
function changerOf(path: Path, { changes }: Merge): string {
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const branch = changes.get(JSON.stringify(path.slice(0, depth)))
    if (branch !== undefined) return branch
  }
  return ''
}

function isSame(a: Json | undefined, b: Json): boolean {
  return a !== undefined && isEqual(a, b)
}

/** A branch that replaced the list as a whole may have removed members; the list is then treated as one value. */
function isGrownFrom(base: Json | undefined, ours: readonly Json[], theirs: readonly Json[]): boolean {
  return base === undefined || (isList(base) && base.length <= Math.min(ours.length, theirs.length))
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function own(value: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined
}
