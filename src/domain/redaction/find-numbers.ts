/** @module Finds numbers of cards, bank accounts, phones and US Social Security in a text. */
import { ALPHANUMERIC, asciiSet, DIGIT, isIn, isWordAt, isWordBefore, LETTER } from './characters.ts'
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

// Check digits: they tell a real number from a sequence of digits that only looks like one.

/** Minimum and maximum length of a payment card number, in digits (ISO/IEC 7812-1). */
const CARD_MIN_DIGITS = 13
const CARD_MAX_DIGITS = 19

/**
 * Whether a number of `count` digits that starts with `first` fits an issuer of payment cards. 13 digits: 4 only; 14 and 15: 3; more: 2 to
 * 6. This excludes times in milliseconds, which start with 1.
 */
function isOfIssuer(first: number, count: number): boolean {
  if (count < CARD_MIN_DIGITS) return false
  if (count === CARD_MIN_DIGITS) return first === 4
  if (count <= 15) return first === 3
  return first >= 2 && first <= 6
}

/** The value of a doubled digit (ISO/IEC 7812-1 annex B, Luhn). If the number of digits is even, every second digit is doubled, starting with the first. */
function doubledDigit(digit: number): number {
  return digit > 4 ? digit * 2 - 9 : digit * 2
}

/** IBAN length by country code (ISO 13616, SWIFT registry). */
const IBAN_CHARS: ReadonlyMap<string, number> = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 ' +
    'GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 ' +
    'MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((each) => [each.slice(0, 2), Number(each.slice(2))]),
)

/** Length in characters, spaces included, of a valid IBAN at the start of `text` (ISO 13616-1: remainder 1 modulo 97); undefined if there is none. */
function ibanLength(text: string): number | undefined {
  const chars = IBAN_CHARS.get(text.slice(0, 2).toUpperCase())
  if (chars === undefined) return undefined
  const values: number[] = []
  let end = 0
  for (; end < text.length && values.length < chars; end += 1) {
    const code = text.charCodeAt(end)
    if (code !== 0x20) values.push(numberOf(code))
  }
  return values.length === chars && remainder(values) === 1 ? end : undefined
}

/** The value of a character: letters count as 10 to 35. */
function numberOf(code: number): number {
  return code < 0x40 ? code - 0x30 : (code | 0x20) - 0x61 + 10
}

/** Remainder modulo 97 of the number after its first four characters are moved to its end. */
function remainder(values: readonly number[]): number {
  let rest = 0
  for (let i = 0; i < values.length; i += 1) {
    const value = values[(i + 4) % values.length] ?? 0
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest
}
