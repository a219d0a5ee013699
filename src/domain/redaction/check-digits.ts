/** @module Check digits: they tell a real number from a sequence of digits that only looks like one. */

/** Minimum and maximum length of a payment card number, in digits (ISO/IEC 7812-1). */
const CARD_MIN_DIGITS = 13
export const CARD_MAX_DIGITS = 19

/**
 * Whether a number of `count` digits that starts with `first` fits an issuer of payment cards. 13 digits: 4 only; 14 and 15: 3; more: 2 to
 * 6. This excludes times in milliseconds, which start with 1.
 */
export function isOfIssuer(first: number, count: number): boolean {
  if (count < CARD_MIN_DIGITS) return false
  if (count === CARD_MIN_DIGITS) return first === 4
  if (count <= 15) return first === 3
  return first >= 2 && first <= 6
}

/** The value of a doubled digit (ISO/IEC 7812-1 annex B, Luhn). If the number of digits is even, every second digit is doubled, starting with the first. */
export function doubledDigit(digit: number): number {
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
export function ibanLength(text: string): number | undefined {
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
