/** @module What each detector finds, said by expressions: what the detectors must find, without a bound of their time. */
import type { RedactionDetector } from '../../schemas/redaction.ts'
import type { Span } from '../../src/domain/redaction/scan-text.ts'

type Detector = (text: string) => Span[]

/** RFC 5321 section 4.5.3.1: 64 octets before the `@`, 255 behind it. */
const LOCAL_MAX_CHARS = 64
const DOMAIN_MAX_CHARS = 255
const SHORTEST_JWT_PART = 8

export function expectedSpans(detector: RedactionDetector, text: string): Span[] {
  return DETECTORS[detector](text)
}

const DETECTORS: Readonly<Record<RedactionDetector, Detector>> = {
  card: cards,
  email: emails,
  iban: ibans,
  jwt: jwts,
  phone: (text) => matches(/(?<![\p{L}\p{N}])\+\d(?:[ ().-]{0,2}\d){6,14}(?!\d)/gu, text, isPhoneNumber),
  secret: secrets,
  'us-ssn': (text) => matches(/(?<!\d)(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?!\d)/g, text),
}

function matches(expression: RegExp, text: string, holds: (found: string) => boolean = () => true): Span[] {
  const spans: Span[] = []
  for (const { 0: found, index } of text.matchAll(expression)) {
    if (holds(found)) spans.push({ from: index, to: index + found.length })
  }
  return spans
}

/** From each `@` to both sides: an expression that began with what may stand before it would read a long text again from each of its places. */
function emails(text: string): Span[] {
  const spans: Span[] = []
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    let from = at
    while (from > 0 && at - from < LOCAL_MAX_CHARS && isLocal(text, from - 1)) from -= 1
    const domain = /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/u.exec(text.slice(at + 1, at + 1 + DOMAIN_MAX_CHARS))?.[0]
    if (from < at && domain !== undefined) spans.push({ from, to: at + 1 + domain.length })
  }
  return spans
}

/** RFC 5322 `dot-atom`, and every letter of every script (RFC 6531). */
function isLocal(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code > 127 ? !/\s/.test(text.charAt(at)) : /[\w.!#$%&'*+/=?^`{|}~-]/.test(text.charAt(at))
}

interface DigitGroup {
  readonly from: number
  readonly to: number
}

/** Longest number of a payment card, in digits; and shortest (ISO/IEC 7812-1). */
const CARD_MAX_DIGITS = 19
const CARD_MIN_DIGITS = 13

/** Groups of digits with one space or hyphen between them, and the longest row of them from each group on that is a card's number. */
function cards(text: string): Span[] {
  const spans: Span[] = []
  const groups: DigitGroup[] = matches(/(?<![\p{L}\p{N}])\d{1,19}(?![\p{L}\p{N}])/gu, text)
  for (let first = 0; first < groups.length; first += 1) {
    const last = lastOfCard(text, groups, first)
    if (last === undefined) continue
    spans.push({ from: groups[first]?.from ?? 0, to: groups[last]?.to ?? 0 })
    first = last
  }
  return spans
}

function lastOfCard(text: string, groups: readonly DigitGroup[], first: number): number | undefined {
  let digits = ''
  let found: number | undefined
  for (let i = first; i < groups.length; i += 1) {
    const { from, to } = groups[i] as DigitGroup
    const before = groups[i - 1]
    if (i > first && before !== undefined && !/^[ -]$/.test(text.slice(before.to, from))) break
    digits += text.slice(from, to)
    if (digits.length > CARD_MAX_DIGITS) break
    if (digits.length >= CARD_MIN_DIGITS && isCardNumber(digits)) found = i
  }
  return found
}

/** The check digits say where it ends: the text may go on with what could belong to it. */
function ibans(text: string): Span[] {
  return matches(/(?<![\p{L}\p{N}])[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,30}/gu, text).flatMap(({ from, to }) => {
    const length = ibanLength(text.slice(from, to))
    return length === undefined ? [] : [{ from, to: from + length }]
  })
}

/** RFC 7515 compact form: a part that begins with `{"` in base64url, and two more. */
function jwts(text: string): Span[] {
  return matches(/[\w.-]{24,}/g, text).flatMap(({ from, to }) => {
    let at = from
    const parts = text.slice(from, to).split('.')
    for (const [i, part] of parts.entries()) {
      const begins = part.indexOf('eyJ')
      const isHead = begins !== -1 && part.length - begins >= SHORTEST_JWT_PART
      if (isHead && (parts[i + 1]?.length ?? 0) >= SHORTEST_JWT_PART) return [{ from: at + begins, to }]
      at += part.length + 1
    }
    return []
  })
}

/** Forms that say what they are: keys with the prefix of who issued them, passwords within a URL. */
const SECRETS: readonly RegExp[] = [
  /(?<![A-Za-z0-9])(?:sk-|sk_live_|sk_test_|rk_live_|whsec_|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|npm_|hf_|pypi-|dop_v1_|AIza|ya29\.)[\w-]{16,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /:\/\/[^\s:/@]{1,64}:[^\s/@]{1,128}@/g,
]
/** Of an `Authorization` header (RFC 6750, RFC 7617): words follow these words as well, but seldom one with a digit in it. */
const AUTHORIZATION = /\b(?:bearer|basic|token) {1,4}[\w.~+/-]{12,}=*/gi

function secrets(text: string): Span[] {
  const found = SECRETS.flatMap((expression) => matches(expression, text))
  return [...privateKeys(text), ...matches(AUTHORIZATION, text, (value) => /\d/.test(value)), ...found]
}

/** RFC 7468. One that does not end is left out to the end of the text. */
function privateKeys(text: string): Span[] {
  const spans: Span[] = []
  let end = 0
  for (const {
    0: { length },
    index,
  } of text.matchAll(/-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----/g)) {
    if (index < end) continue
    const last = text.indexOf('-----END', index + length)
    const dashes = last === -1 ? -1 : text.indexOf('-----', last + 8)
    end = dashes === -1 ? text.length : dashes + 5
    spans.push({ from: index, to: end })
  }
  return spans
}

/** ISO/IEC 7812-1 annex B (Luhn), and a first digit and length that an issuer of payment cards uses. */
function isCardNumber(digits: string): boolean {
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
function ibanLength(text: string): number | undefined {
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
function isPhoneNumber(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '').length
  return digits >= 7 && digits <= 15
}

export function expectedPlainForm(text: string, maxChars: number): string | undefined {
  if (/^[\x20-\x7e\s]*$/.test(text)) return undefined
  const plain = text.normalize('NFKC').replaceAll(/[\p{Cf}\p{Cc}]/gu, '')
  return plain === text || plain.length > maxChars ? undefined : plain
}
