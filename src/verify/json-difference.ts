/** @module The first difference between two JSON values; the order of keys is irrelevant. */
import { isJsonObject, type Json } from '../../schemas/json.ts'
import { pointerStep } from '../../schemas/json-pointer.ts'

export interface JsonDifference {
  /** JSON Pointer (RFC 6901). */
  readonly path: string
  /** Undefined if there is no value at the path. */
  readonly ours: Json | undefined
  readonly theirs: Json | undefined
}

/** Undefined if the values are equal. Members are compared in the order of their sorted keys. */
export function firstDifference(
  ours: Json | undefined,
  theirs: Json | undefined,
  path = '',
): JsonDifference | undefined {
  if (ours === theirs) return undefined
  const [a, b] = [membersOf(ours), membersOf(theirs)]
  if (a === undefined || b === undefined || Array.isArray(ours) !== Array.isArray(theirs)) return { path, ours, theirs }
  for (const key of [...new Set([...a.keys(), ...b.keys()])].sort()) {
    const found = firstDifference(a.get(key), b.get(key), path + pointerStep(key))
    if (found !== undefined) return found
  }
  return undefined
}

function membersOf(value: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (Array.isArray(value)) return new Map(value.map((member: Json, index) => [String(index), member]))
  return isJsonObject(value) ? new Map(Object.entries(value)) : undefined
}
