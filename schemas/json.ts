/** @module JSON values as the ledger keeps them: plain data, no `undefined`, no class instances; how a text is read as one, and when two of them are equal. */

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

/**
 * V8 12.8 and later (Node 24 and 26) may give a key that is written with an escape the name of another key that `JSON.parse` read before: after
 * `{"a":0,"\\":0}`, the second key of `{"a":0,"\"":0}` comes out as a backslash (https://github.com/nodejs/node/issues/63785). So `parseJson` alone
 * calls it, and reads such a text by itself.
 *
 * This finds the last escape of a string that a colon follows, so that it is a key; strings inside strings may look the same, which costs time alone.
 */
const ESCAPED_KEY = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*"[\t\n\r ]*:/

/** The value of a JSON text, as `JSON.parse(text)` gives it; `Value` is the caller's claim. Throws its `SyntaxError`, whose message quotes the text. */
export function parseJson<Value = Json>(text: string): Value {
  const value: Value = JSON.parse(text)
  return text.includes('\\') && ESCAPED_KEY.test(text) ? (readAgain(text) as Value) : value
}

/** Undefined where the text is no JSON. */
export function parseJsonOrUndefined(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

type Members = { [key: string]: Json }

/** The value of a text that is known to be JSON. A list instead of the stack: the text may be nested deeper than calls can be. */
function readAgain(text: string): Json {
  const root: Json[] = []
  /** Lists and objects that are not closed yet, each within the one before it, and the keys that wait for their values. */
  const open: (Json[] | Members)[] = [root]
  const keys: (string | undefined)[] = [undefined]

  const take = (value: Json): void => {
    const into = open.at(-1) as Json[] | Members
    if (Array.isArray(into)) return void into.push(value)
    const key = keys.pop() as string
    keys.push(undefined)
    // An assignment to `__proto__` would set the prototype.
    if (key !== '__proto__') into[key] = value
    else Object.defineProperty(into, key, { value, configurable: true, enumerable: true, writable: true })
  }

  for (let at = 0; at < text.length; ) {
    const character = text[at] as string
    if (character === '{' || character === '[') {
      const begun = character === '{' ? {} : []
      take(begun)
      open.push(begun)
      keys.push(undefined)
      at += 1
    } else if (character === '}' || character === ']') {
      open.pop()
      keys.pop()
      at += 1
    } else if (',: \t\n\r'.includes(character)) {
      at += 1
    } else {
      const end = character === '"' ? stringEnd(text, at + 1) : scalarEnd(text, at + 1)
      // Of a string or a number alone, where there is no key.
      const scalar: Json = JSON.parse(text.slice(at, end))
      if (Array.isArray(open.at(-1)) || keys.at(-1) !== undefined) take(scalar)
      else keys[keys.length - 1] = scalar as string
      at = end
    }
  }
  return root[0] as Json
}

/** The place behind the closing quote, from behind the opening one. */
function stringEnd(text: string, from: number): number {
  for (let at = from; ; at += 1) {
    if (text[at] === '"') return at + 1
    if (text[at] === '\\') at += 1
  }
}

/** The place behind a number, `true`, `false` or `null`. */
function scalarEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && !',]} \t\n\r'.includes(text[at] as string)) at += 1
  return at
}
