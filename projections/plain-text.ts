/**
 * @module Normalises texts to what a person reads: composed letters, single spaces, plain quotes and dashes. Look-alike letters and
 * invisible characters are kept. Recorded runs are folded with it, so it must not change.
 */

import { normalForm } from '../schemas/normal-form.ts'

/** Printable ASCII with single inner spaces, which is already normalised. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/
/** Not `\s`, which includes the byte order mark, an invisible character that is not a space. */
const WHITE_SPACE = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g
const SINGLE_QUOTES = /[\u2018\u2019\u201a\u201b]/g
const DOUBLE_QUOTES = /[\u201c-\u201f\u00ab\u00bb]/g
/** Hyphens and the minus sign are always replaced, longer dashes only between digits. */
const HYPHENS = /[\u2010\u2011\u2212]/g
const RANGE_DASHES = /(\d) ?[\u2012-\u2015] ?(?=\d)/g

export function plainText(text: string): string {
  if (PLAIN.test(text)) return text
  return trimSpaces(normalForm('NFC', text).replace(WHITE_SPACE, ' '))
    .replace(SINGLE_QUOTES, "'")
    .replace(DOUBLE_QUOTES, '"')
    .replace(HYPHENS, '-')
    .replace(RANGE_DASHES, '$1-')
}

/** As `plainText`, in lower case. Lower-casing can undo NFC (U+0130 becomes two code points), so NFC is applied last again. */
export function plainLower(text: string): string {
  return PLAIN.test(text) ? text.toLowerCase() : normalForm('NFC', plainText(text).toLowerCase())
}

/** White space is already collapsed, so at most one space is at either end. */
function trimSpaces(text: string): string {
  const from = text.startsWith(' ') ? 1 : 0
  return text.slice(from, text.endsWith(' ') ? -1 : undefined)
}
