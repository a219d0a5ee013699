/** @module JSON values as the ledger keeps them: plain data, no `undefined`, no class instances; and when two of them are equal. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Exact equality: lists in order, objects in any order of keys, scalars by type and value. */
export function isEqual(a: Json, b: Json): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) return Array.isArray(b) && isEqualList(a, b)
  return isJsonObject(b) && isEqualObject(a as JsonObject, b)
}

function isEqualList(a: readonly Json[], b: readonly Json[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!isEqual(a[i] as Json, b[i] as Json)) return false
  return true
}

function isEqualObject(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  for (const key of keys) {
    const [mine, other] = [a[key] as Json, b[key]]
    if (mine === other && typeof mine !== 'object') continue
    // `hasOwn`: a member named `__proto__` must not be found on the prototype. Functions, the rest of what is there, equal nothing.
    if (other === undefined || !Object.hasOwn(b, key) || !isEqual(mine, other)) return false
  }
  return true
}
