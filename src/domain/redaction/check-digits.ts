/** @module Numbers that carry check digits: whether they hold tells a number from digits that only look like one. */

/** ISO/IEC 7812-1 annex B (Luhn), and a first digit and length that an issuer of payment cards uses. */
export function isCardNumber(digits: string): boolean {
  return hasIssuer(digits) && luhn(digits) && !/^(\d)\1*$/.test(digits)
}

/** 13 digits: 4 alone; 14 and 15: 3; more: 2 to 6. Leaves out times in milliseconds, which begin with 1. */
function hasIssuer(digits: string): boolean {
  const first = digits.charAt(0)
  if (digits.length === 13) return first === '4'
  if (digits.length <= 15) return first === '3'
  return first >= '2' && first <= '6'
}

function luhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48
    const doubled = digit * 2
    sum += i % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
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
  let end = 0
  let iban = ''
  for (; end < text.length && iban.length < chars; end += 1) if (text[end] !== ' ') iban += text[end]
  return iban.length === chars && remainder(iban.slice(4) + iban.slice(0, 4)) === 1 ? end : undefined
}

/** Letters count as 10 to 35. */
function remainder(characters: string): number {
  let rest = 0
  for (const character of characters) {
    const value = Number.parseInt(character, 36)
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest
}

/** ITU-T E.164: 7 to 15 digits behind the plus. */
export function isPhoneNumber(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '').length
  return digits >= 7 && digits <= 15
}
