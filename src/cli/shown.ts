/**
 * @module Makes recorded text safe for a terminal. Control characters, escapes, line breaks and invisible or direction-changing characters are shown by code,
 * so that no recorded text moves the cursor, breaks a line or looks different from what it is.
 */
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'

/** Control and format characters (bidi, zero width), line separators, private and unassigned code points, lone surrogates. */
const HIDDEN = /[\p{C}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu
/** East Asian wide and full-width characters and emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const COMBINING = /\p{M}/u

export function visible(text: string): string {
  return text.replace(HIDDEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`)
}

/** Whether a terminal shows a multi-line text, such as a note, exactly as it is; for text that is printed byte for byte. */
export function isPlain(text: string): boolean {
  return visible(text.replaceAll('\n', '')) === text.replaceAll('\n', '')
}

/** Foreign text as part of one line: white space becomes single blanks, and hidden or control characters are escaped. */
export function oneLine(text: string): string {
  return visible(text.replace(/[\t\n\v\f\r ]+/g, ' ').trim())
}

/** One line of equivalent JSON without characters that a terminal would interpret. */
export function jsonLine(value: object | Json): string {
  return `${jsonVisible(JSON.stringify(value))}\n`
}

/** The same JSON text, with hidden and control characters as JSON escapes. */
export function jsonVisible(text: string): string {
  return text.replace(HIDDEN, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** A value in a table cell: strings as they are, some objects in a short form, everything else as JSON. */
export function cellText(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  if (isJsonObject(value)) return visible(inShort(value) ?? JSON.stringify(value))
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return visible(value.join(', '))
  return visible(typeof value === 'string' ? value : JSON.stringify(value))
}

/** A search match, or a rewind. */
function inShort({ before, match, after, fromStep, toStep }: JsonObject): string | undefined {
  if (typeof match === 'string') return `${String(before)}[${match}]${String(after)}`
  if (typeof fromStep === 'number') return `step ${fromStep} -> ${String(toStep)}`
  return undefined
}

/** Columns that a text takes on a terminal; the text must not contain hidden characters. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text) width += COMBINING.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return width
}

/** Truncated to this many columns with an ellipsis, or padded with blanks. */
export function fitted(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text + ' '.repeat(columns - widthOf(text))
  let shown = ''
  let width = 0
  for (const char of text) {
    const next = widthOf(char)
    if (width + next > columns - 1) break
    shown += char
    width += next
  }
  return `${shown}\u2026${' '.repeat(Math.max(0, columns - 1 - width))}`
}
