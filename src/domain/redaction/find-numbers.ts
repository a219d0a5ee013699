/** @module Finds numbers of cards, bank accounts, phones and US Social Security in a text. */

import { ALPHANUMERIC, asciiSet, DIGIT, isIn, isWordAt, isWordBefore, LETTER } from './characters.ts'
import { CARD_MAX_DIGITS, doubledDigit, ibanLength, isOfIssuer } from './check-digits.ts'
import type { Finding, Scanner } from './scan-text.ts'

/** Cost of reading one digit of a card number, in characters read. */
const CARD_READS = 2
const BETWEEN_GROUPS = asciiSet(/[ -]/)

/** Finds groups of digits separated by one space or hyphen. From each group on, the longest sequence of groups that is a card number counts. */
export const CARDS: Scanner = {
  begins: DIGIT,
  find: (text, from, { spans, steps }) => {
    if (isWordBefore(text, from)) return from + 1
    const first = digitAt(text, from)
    let at = from
    let firstTo: number | undefined
    let to: number | undefined
    let count = 0
    let areAlike = true
    const isOfAny = isOfIssuer(first, CARD_MAX_DIGITS)
    /** Luhn sums with every second digit doubled, starting with the first digit and with the second. */
    let sumByFirst = 0
    let sumBySecond = 0
    for (;;) {
      for (; count <= CARD_MAX_DIGITS && isIn(DIGIT, text, at); at += 1) {
        const digit = digitAt(text, at)
        areAlike &&= digit === first
        sumByFirst += count % 2 === 0 ? doubledDigit(digit) : digit
        sumBySecond += count % 2 === 0 ? digit : doubledDigit(digit)
        count += 1
      }
      firstTo ??= at
      if (!isOfAny || count > CARD_MAX_DIGITS || isWordAt(text, at)) break
      if (!areAlike && isOfIssuer(first, count) && (count % 2 === 0 ? sumByFirst : sumBySecond) % 10 === 0) to = at
      if (!isIn(BETWEEN_GROUPS, text, at) || !isIn(DIGIT, text, at + 1)) break
      at += 1
    }
    steps.read(CARD_READS * (at - from))
    if (to === undefined) return firstTo
    spans.push({ from, to })
    return to
  },
}

function digitAt(text: string, at: number): number {
  return text.charCodeAt(at) - 0x30
}

const IBAN_HEAD_CHARS = 4
/** Minimum and maximum length of an IBAN after its first four characters, in characters without spaces. */
const IBAN_MIN_CHARS = 11
const IBAN_MAX_CHARS = 30

/** The check digits decide where the IBAN ends, because the text may continue with characters that could belong to it. */
export const IBANS: Scanner = {
  begins: LETTER,
  find: (text, from, { spans, steps }) => {
    if (!isIn(DIGIT, text, from + 2) || !isIn(DIGIT, text, from + 3) || !isIn(LETTER, text, from + 1)) return from + 1
    if (isWordBefore(text, from)) return from + 1
    let to = from + IBAN_HEAD_CHARS
    let chars = 0
    for (; chars < IBAN_MAX_CHARS; chars += 1) {
      const at = text.charCodeAt(to) === 0x20 ? to + 1 : to
      if (!isIn(ALPHANUMERIC, text, at)) break
      to = at + 1
    }
    steps.read(to - from)
    if (chars < IBAN_MIN_CHARS) return from + 1
    const length = ibanLength(text.slice(from, to))
    steps.read(to - from)
    if (length !== undefined) spans.push({ from, to: from + length })
    return to
  },
}

/** ITU-T E.164: 7 to 15 digits after the plus. */
const PHONE_MIN_DIGITS = 7
const PHONE_MAX_DIGITS = 15
const WITHIN_PHONE = asciiSet(/[ ().-]/)

/** Allows at most two separator characters between two digits. */
export const PHONES: Scanner = {
  begins: asciiSet(/\+/),
  find: (text, from, { spans, steps }) => {
    if (!isIn(DIGIT, text, from + 1) || isWordBefore(text, from)) return from + 1
    let at = from + 2
    let to: number | undefined
    for (let digits = 1; ; digits += 1) {
      if (digits >= PHONE_MIN_DIGITS && !isIn(DIGIT, text, at)) to = at
      if (digits === PHONE_MAX_DIGITS) break
      let next = at
      while (next < at + 2 && isIn(WITHIN_PHONE, text, next)) next += 1
      if (!isIn(DIGIT, text, next)) break
      at = next + 1
    }
    steps.read(at - from)
    if (to === undefined) return from + 1
    spans.push({ from, to })
    return to
  },
}

const SSN = /(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?!\d)/y
const SSN_CHARS = 11

export const SSNS: Scanner = {
  begins: DIGIT,
  find: (text, from, { spans, steps }: Finding) => {
    if (text.charCodeAt(from + 3) !== 0x2d || text.charCodeAt(from + 6) !== 0x2d) return from + 1
    SSN.lastIndex = from
    steps.read(SSN_CHARS)
    if (isIn(DIGIT, text, from - 1) || !SSN.test(text)) return from + 1
    spans.push({ from, to: from + SSN_CHARS })
    return from + SSN_CHARS
  },
}
