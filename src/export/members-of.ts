/**
 * @module A few members of a body whose text was checked: parsing all of it takes four times as long, and most of it, such as a payload, is not needed for a
 * line.
 */

import { type Json, type JsonObject, parseJson } from '../../schemas/json.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const NOT = -1

/**
 * The members with these names in the text of an object in canonical form (RFC 8785). Undefined if the scan meets something that such a text cannot contain;
 * it examines only keys and the boundaries of values, so it does not validate the text. Never throws.
 */
export function membersOf(text: string, names: ReadonlySet<string>): JsonObject | undefined {
  const found: { [name: string]: Json } = {}
  if (text === '{}') return found
  if (text.charCodeAt(0) !== OPEN_OBJECT) return undefined
  let before: string | undefined
  for (let at = 1; ; at += 1) {
    const keyEnd = text.charCodeAt(at) === QUOTE ? stringEnd(text, at + 1) : NOT
    if (keyEnd === NOT || text.charCodeAt(keyEnd) !== COLON) return undefined
    const key = text.slice(at + 1, keyEnd - 1)
    const end = valueEnd(text, keyEnd + 1)
    if (end === NOT || (before !== undefined && key <= before)) return undefined
    if (names.has(key)) {
      const value = parsed(text.slice(keyEnd + 1, end))
      if (value === undefined) return undefined
      found[key] = value
    }
    if (text.charCodeAt(end) === CLOSE_OBJECT) return end + 1 === text.length ? found : undefined
    if (text.charCodeAt(end) !== COMMA) return undefined
    before = key
    at = end
  }
}

function parsed(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The index after the value that begins at `at`. */
function valueEnd(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code === QUOTE) return stringEnd(text, at + 1)
  if (code === OPEN_OBJECT || code === OPEN_LIST) return nestedEnd(text, at + 1)
  let end = at
  while (end < text.length && text.charCodeAt(end) !== COMMA && text.charCodeAt(end) !== CLOSE_OBJECT) end += 1
  return end === at ? NOT : end
}

/** The index after the nested value; `start` is after the first bracket. */
function nestedEnd(text: string, start: number): number {
  let depth = 1
  for (let at = start; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = stringEnd(text, at + 1)
      if (at === NOT) return NOT
      continue
    }
    at += 1
    if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1
    if (depth === 0) return at
  }
  return NOT
}

/** The index after the closing quote; `start` is after the opening quote. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at !== NOT; at = text.indexOf('"', at + 1)) {
    let slashes = at
    while (slashes > start && text.charCodeAt(slashes - 1) === BACKSLASH) slashes -= 1
    if ((at - slashes) % 2 === 0) return at + 1
  }
  return NOT
}
