/** @module JSON Pointers (RFC 6901), parsed to lists of tokens and formatted back. */
import { isJsonObject, type Json, type JsonObject } from './json.ts'

export type Token = string | number

/** `['a/b', 0]` -> `/a~1b/0`; no tokens -> `''`, the whole document. */
export function formatPointer(tokens: readonly Token[]): string {
  let pointer = ''
  for (const token of tokens) pointer += pointerStep(token)
  return pointer
}

/** Undefined if the text is not a JSON Pointer (section 3: it starts with `/`, and 0 or 1 follows each `~`). */
export function parsePointer(pointer: string): readonly string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  return pointer.slice(1).split('/').map(unescapeToken)
}

/** The value at a place; undefined if there is none. Array indexes are spelt as in section 4: no leading zero, no `-`. */
export function valueAt(document: Json, tokens: readonly Token[]): Json | undefined {
  let value: Json | undefined = document
  for (const token of tokens) {
    if (Array.isArray(value))
      value = typeof token === 'number' || /^(0|[1-9]\d*)$/.test(token) ? value[Number(token)] : undefined
    else value = isJsonObject(value) && Object.hasOwn(value, token) ? value[token] : undefined
    if (value === undefined) return undefined
  }
  return value
}

/** The object that holds the place; undefined if there is none. */
export function holderAt(document: Json, place: readonly Token[]): JsonObject | undefined {
  const holder = valueAt(document, place.slice(0, -1))
  return holder !== undefined && isJsonObject(holder) ? holder : undefined
}

/** The values on the path to a place, starting with the whole document; shorter if the path ends early. */
export function valuesOn(document: Json, place: readonly Token[]): readonly Json[] {
  const values: Json[] = [document]
  for (const token of place) {
    const next = valueAt(values.at(-1) as Json, [token])
    if (next === undefined) break
    values.push(next)
  }
  return values
}

/** One token as it appears in a pointer, with a leading slash: `a/b` -> `/a~1b` (section 3). */
export function pointerStep(token: Token): string {
  if (typeof token === 'number') return `/${token}`
  const plain = !token.includes('~') && !token.includes('/')
  return `/${plain ? token : token.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function unescapeToken(token: string): string {
  // Section 4: first ~1, then ~0, so that "~01" becomes "~1".
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}
