/** @module Numbers that carry check digits: whether they hold tells a number from digits that only look like one. */

/** Shortest and longest number of a payment card, in digits (ISO/IEC 7812-1). */
const CARD_MIN_DIGITS = 13
export const CARD_MAX_DIGITS = 19

/** Whether so many digits with this first one are of an issuer of payment cards. 13: 4 alone; 14 and 15: 3; more: 2 to 6. Leaves out times in milliseconds, which begin with 1. */
export function isOfIssuer(first: number, count: number): boolean {
  if (count < CARD_MIN_DIGITS) return false
  if (count === CARD_MIN_DIGITS) return first === 4
  if (count <= 15) return first === 3
  return first >= 2 && first <= 6
}

/** What a digit that is doubled counts (ISO/IEC 7812-1 annex B, Luhn): of an even number of digits that is each second one from the first on. */
export function doubledDigit(digit: number): number {
  return digit > 4 ? digit * 2 - 9 : digit * 2
}

/** Lengths by country (ISO 13616, registry of SWIFT). */
const IBAN_CHARS: ReadonlyMap<string, number> = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 ' +
    'GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 ' +
    'MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((each) => [each.slice(0, 2), Number(each.slice(2))]),
)

/** Length of the IBAN that `text` begins with (ISO 13616-1: the remainder by 97 is 1), spaces counted; undefined where there is none. */
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

/** Letters count as 10 to 35. */
function numberOf(code: number): number {
  return code < 0x40 ? code - 0x30 : (code | 0x20) - 0x61 + 10
}

/** Of the number with its first four characters at its end. */
function remainder(values: readonly number[]): number {
  let rest = 0
  for (let i = 0; i < values.length; i += 1) {
    const value = values[(i + 4) % values.length] ?? 0
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest
}
