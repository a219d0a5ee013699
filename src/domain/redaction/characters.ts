/** @module Character classes by code: a table for ASCII, the engine's own Unicode classes for all other characters. */

/** A table indexed by ASCII code: 1 for the members of the set. */
export type AsciiSet = Uint8Array

export function asciiSet(expression: RegExp): AsciiSet {
  return Uint8Array.from({ length: 128 }, (_, code) => (expression.test(String.fromCharCode(code)) ? 1 : 0))
}

/** False for positions outside the text and for characters that are not ASCII. */
export function isIn(set: AsciiSet, text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  // An index out of bounds would make the engine deoptimise the table lookup.
  return code < 128 && set[code] === 1
}

export const DIGIT = asciiSet(/\d/)
export const LETTER = asciiSet(/[A-Za-z]/)
export const ALPHANUMERIC = asciiSet(/[A-Za-z0-9]/)

const LETTER_OR_NUMBER = /^[\p{L}\p{N}]/u

/** Whether the code point is a letter or a number, in any script. */
export function isLetterOrNumber(codePoint: number): boolean {
  return codePoint < 128 ? ALPHANUMERIC[codePoint] === 1 : LETTER_OR_NUMBER.test(String.fromCodePoint(codePoint))
}

export function isWordBefore(text: string, at: number): boolean {
  const code = text.charCodeAt(at - 1)
  if (!(code >= 128)) return isIn(ALPHANUMERIC, text, at - 1)
  const isPair = code >= 0xdc00 && code <= 0xdfff && at > 1
  return isLetterOrNumber(isPair ? (text.codePointAt(at - 2) ?? code) : code)
}

export function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 128 ? isLetterOrNumber(text.codePointAt(at) ?? code) : isIn(ALPHANUMERIC, text, at)
}

const SPACE = asciiSet(/\s/)

export function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 128 ? SPACE[code] === 1 : /\s/.test(text.charAt(at))
}
