/** @module Texts that are equal exactly where two values are equal as the validator sees them: lists are sets, entity strings are normalised. */
import type { Json, JsonObject } from '../schemas/json.ts'
import { normalForm } from '../schemas/normal-form.ts'

/** How the values below one critical key compare, and the texts already made of them. */
export interface SetTexts {
  readonly isEntities: boolean
  readonly isActions: boolean
  readonly known: Map<object, string>
}

/** A fresh one for each critical key of each comparison: the texts of one key must not serve another, nor outlive it. */
export function setTextsOf(criticalKey: string): SetTexts {
  return { isEntities: criticalKey === 'entities', isActions: criticalKey === 'actions', known: new Map() }
}

// Every ASCII text is in NFC already.
const NON_ASCII = /[\u0080-\uffff]/

/**
 * The form in which entity strings compare (JUD-5): trimmed, NFC, lower case. Lower-casing can undo NFC
 * (U+0130 becomes two code points), so that NFC comes last as well.
 */
export function normaliseEntity(text: string): string {
  const lower = text.trim().toLowerCase()
  return NON_ASCII.test(lower) ? normalForm('NFC', normalForm('NFC', text.trim()).toLowerCase()) : lower
}

/** Keys in UTF-16 order: no result depends on the order in which a sender wrote them. */
export function sortedKeys(value: JsonObject): readonly string[] {
  const keys = Object.keys(value)
  return keys.length > 1 ? keys.sort() : keys
}

/** Keys of either, in UTF-16 order. */
export function unionKeys(a: JsonObject, b: JsonObject): readonly string[] {
  const keys = Object.keys(a)
  for (const key of Object.keys(b)) if (!Object.hasOwn(a, key)) keys.push(key)
  return keys.sort()
}

/** One text for a scalar; different for `5` and `"5"`. */
export function scalarText(value: string | number | boolean | null, texts: SetTexts): string {
  if (typeof value === 'string') return `"${texts.isEntities ? normaliseEntity(value) : value}`
  return typeof value === 'number' ? `#${value}` : String(value)
}

/** Equal for values that are equal as sets: lists sorted and without repeats. */
export function setText(value: Json, texts: SetTexts): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(scalarText(value, texts))

  const known = texts.known.get(value)
  if (known !== undefined) return known
  const text = Array.isArray(value) ? listText(value, texts) : objectText(value as JsonObject, texts)
  texts.known.set(value, text)
  return text
}

/** As `setText`, leaving one member out where `without` names it. */
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
