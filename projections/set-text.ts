/** @module Texts that are equal exactly if the validator considers two values equal: lists are sets, entity strings are normalised. */
import type { Json, JsonObject } from '../schemas/json.ts'
import { normalForm } from '../schemas/normal-form.ts'

/** Rules for comparing the values below one critical key, and a cache of their texts. */
export interface SetTexts {
  readonly isEntities: boolean
  readonly isActions: boolean
  readonly known: Map<object, string>
}

/** Create a new one for each critical key of each comparison: the cached texts are valid neither for another key nor for a later comparison. */
export function setTextsOf(criticalKey: string): SetTexts {
  return { isEntities: criticalKey === 'entities', isActions: criticalKey === 'actions', known: new Map() }
}

// ASCII text is always in NFC.
const NON_ASCII = /[\u0080-\uffff]/

/**
 * The form in which entity strings are compared (JUD-5): trimmed, NFC, lower case. Lower-casing can undo NFC (U+0130 becomes two code
 * points), so NFC is applied last again.
 */
export function normaliseEntity(text: string): string {
  const lower = text.trim().toLowerCase()
  return NON_ASCII.test(lower) ? normalForm('NFC', normalForm('NFC', text.trim()).toLowerCase()) : lower
}

/** Keys in UTF-16 order, so that no result depends on the order in the sender's JSON. */
export function sortedKeys(value: JsonObject): readonly string[] {
  const keys = Object.keys(value)
  return keys.length > 1 ? keys.sort() : keys
}

/** Keys of either object, in UTF-16 order. */
export function unionKeys(a: JsonObject, b: JsonObject): readonly string[] {
  const keys = Object.keys(a)
  for (const key of Object.keys(b)) if (!Object.hasOwn(a, key)) keys.push(key)
  return keys.sort()
}

/** A text for a scalar; different for `5` and `"5"`. */
export function scalarText(value: string | number | boolean | null, texts: SetTexts): string {
  if (typeof value === 'string') return `"${texts.isEntities ? normaliseEntity(value) : value}`
  return typeof value === 'number' ? `#${value}` : String(value)
}

/** Equal for values that are equal as sets: lists are sorted and without duplicates. */
export function setText(value: Json, texts: SetTexts): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(scalarText(value, texts))

  const known = texts.known.get(value)
  if (known !== undefined) return known
  const text = Array.isArray(value) ? listText(value, texts) : objectText(value as JsonObject, texts)
  texts.known.set(value, text)
  return text
}

/** As `setText`, omitting the member named `without`. */
export function objectText(value: JsonObject, texts: SetTexts, without?: string): string {
  let text = '{'
  for (const key of sortedKeys(value)) {
    if (key !== without) text += `${JSON.stringify(key)}:${setText(value[key] as Json, texts)},`
  }
  return `${text}}`
}

function listText(value: readonly Json[], texts: SetTexts): string {
  const members = new Set(value.map((member) => setText(member, texts)))
  return `[${[...members].sort().join(',')}]`
}
