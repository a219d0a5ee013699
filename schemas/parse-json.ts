/**
 * @module `JSON.parse` as the language defines it. V8 12.8 and later (Node 24 and 26) may give a key that is written with an escape the name of another
 * key that it read before: after `{"a":0,"\\":0}`, the second key of `{"a":0,"\"":0}` comes out as a backslash
 * (https://github.com/nodejs/node/issues/63785). So nothing here but this module and what must be one file calls `JSON.parse`.
 */

import type { Json } from './json.ts'

/** The last escape of a string that a colon follows, so that it is a key; strings inside strings may look the same, which costs time alone. */
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
