/** @module Words and word borders in any script, and the numbers in a text. */

/** Letters, digits, and the marks that combine with them. */
const WORD_CHARACTER = /[\p{L}\p{N}\p{M}]/u
/** Scripts written without spaces, in which each character counts as a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const WORDS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{N}\p{M}])+/gu
const ASCII_WORDS = /[A-Za-z0-9]+/g
const NON_ASCII = /[\u0080-\uffff]/

/** The words of a text, in order, with repeats. */
export function wordsOf(text: string): readonly string[] {
  return text.match(NON_ASCII.test(text) ? WORDS : ASCII_WORDS) ?? []
}

/** Whether `phrase` occurs in `text`, starting at `from` or later, with a word border on both sides. */
export function hasPhrase(text: string, phrase: string, from = 0): boolean {
  for (let at = text.indexOf(phrase, from); at >= 0; at = text.indexOf(phrase, at + 1)) {
    if (isBorder(text, at) && isBorder(text, at + phrase.length)) return true
  }
  return false
}

/** There is a border wherever the characters on both sides do not belong to one word. */
function isBorder(text: string, at: number): boolean {
  return !(isJoining(characterBefore(text, at)) && isJoining(characterAt(text, at)))
}

function isJoining(character: string): boolean {
  if (character === '') return false
  const code = character.charCodeAt(0)
  if (code < 0x80) return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90)
  return WORD_CHARACTER.test(character) && !UNSPACED.test(character)
}

function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}

function characterBefore(text: string, at: number): string {
  if (at <= 0) return ''
  const isLow = (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00
  return isLow && at > 1 ? text.slice(at - 2, at) : text.charAt(at - 1)
}

/** A decimal number between word borders, with or without thousands separators. */
const NUMBERS =
  /(?<![\p{L}\p{N}\p{M}]|[\p{L}\p{N}][.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?![\p{L}\p{N}\p{M}])/giu

/** The numbers in a text: `2,500.00` is 2500; a number with a minus right before it also counts as the negative number. */
export function numbersOf(text: string): readonly number[] {
  const numbers: number[] = []
  for (const match of text.matchAll(NUMBERS)) {
    const value = Number(match[0].replaceAll(',', ''))
    if (!Number.isFinite(value)) continue
    numbers.push(value)
    if (text[match.index - 1] === '-' && value !== 0) numbers.push(-value)
  }
  return numbers
}
