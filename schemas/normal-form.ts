/**
 * @module Unicode normal forms in time linear in the text. The engine takes time quadratic in the number of consecutive combining marks to
 * order them; real text has few in a row (UAX 15, section 13: at most 30). Longer sequences are normalised in parts.
 */

const PART_CHARS = 128
/** The only character of the highest combining class; every other combining mark is ordered before it. */
const LAST_MARK = '\u0345'

/** As `normalize`; the result differs only if more than 128 combining marks follow each other. */
export function normalForm(form: 'NFC' | 'NFKC', text: string): string {
  let normal = ''
  let from = 0
  for (let at = PART_CHARS; at < text.length; at += PART_CHARS) {
    if (!areMarks(text, at - PART_CHARS, at)) continue
    const to = isLowHalf(text.charCodeAt(at)) ? at - 1 : at
    normal += text.slice(from, to).normalize(form)
    from = to
  }
  return from === 0 ? text.normalize(form) : normal + text.slice(from).normalize(form)
}

function areMarks(text: string, from: number, to: number): boolean {
  for (let at = isLowHalf(text.charCodeAt(from)) ? from + 1 : from; at < to; ) {
    const codePoint = text.codePointAt(at) ?? 0
    if (codePoint < 0x300 || !isMark(String.fromCodePoint(codePoint))) return false
    at += codePoint > 0xffff ? 2 : 1
  }
  return true
}

/** Tests the engine's ordering, because the JavaScript engine of the event server (for folds) has no Unicode character classes. */
function isMark(character: string): boolean {
  return character === LAST_MARK || !`${LAST_MARK}${character}`.normalize('NFKD').startsWith(LAST_MARK)
}

function isLowHalf(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}
