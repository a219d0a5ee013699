/** @module Finds secrets by their form: tokens, keys with an issuer's prefix, passwords in URLs, and private keys. */
import type { Yielding } from '../yielding.ts'
import { ALPHANUMERIC, asciiSet, DIGIT, isIn, isSpace } from './characters.ts'
import { endOf, type Finding, placeOf, type Scanner, type Span } from './scan-text.ts'
import { BLOCK_CHARS } from './text-steps.ts'

const WORD = asciiSet(/\w/)
const IN_KEY = asciiSet(/[\w-]/)
const IN_JWT = asciiSet(/[\w.-]/)
const DOT = 0x2e
const SHORTEST_JWT = 24
const SHORTEST_JWT_PART = 8

/** RFC 7515 compact serialisation: a part that starts with `{"` in base64url, followed by two or more parts. */
export const JWTS: Scanner = {
  begins: IN_JWT,
  find: (text, from, finding) => {
    let to = from + 1
    while (to - from < SHORTEST_JWT && isIn(IN_JWT, text, to)) to += 1
    finding.steps.read(to - from)
    return to - from < SHORTEST_JWT ? to : jwtIn(text, from, finding)
  },
}

/** Searches one run of characters that may occur in a token. */
function* jwtIn(text: string, from: number, { spans, steps }: Finding): Yielding<number> {
  let begins: number | undefined
  /** Start of a header in the current part, and in the part before it. */
  let head: number | undefined
  let headBefore: number | undefined
  let part = from
  let at = from
  for (let counted = from; ; at += 1) {
    if (at - counted >= BLOCK_CHARS) {
      steps.read(at - counted)
      counted = at
      if (steps.due()) yield
    }
    const isOver = !isIn(IN_JWT, text, at)
    if (isOver || text.charCodeAt(at) === DOT) {
      if (headBefore !== undefined && at - part >= SHORTEST_JWT_PART) begins ??= headBefore
      headBefore = head !== undefined && at - head >= SHORTEST_JWT_PART ? head : undefined
      head = undefined
      part = at + 1
    } else if (head === undefined && text.startsWith('eyJ', at)) head = at
    if (!isOver) continue
    steps.read(at - counted)
    break
  }
  if (begins !== undefined) spans.push({ from: begins, to: at })
  return at
}

/** The issuer's prefix with the minimum number of key characters after it. */
const ISSUED =
  /(?:sk-|sk_live_|sk_test_|rk_live_|whsec_|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|npm_|hf_|pypi-|dop_v1_|AIza|ya29\.)[\w-]{16}/y
const ISSUED_CHARS = 27
const BEGINS_ISSUED: ReadonlySet<number> = new Set(
  ['sk', 'rk', 'wh', 'gh', 'gi', 'gl', 'xo', 'np', 'hf', 'py', 'do', 'AI', 'ya'].map((two) => twoAt(two, 0)),
)

function twoAt(text: string, at: number): number {
  return text.charCodeAt(at) * 0x10000 + text.charCodeAt(at + 1)
}

const ISSUED_KEYS: Scanner = {
  begins: asciiSet(/[srwgxnhpdAy]/),
  find: (text, from, finding) => {
    if (!BEGINS_ISSUED.has(twoAt(text, from)) || isIn(ALPHANUMERIC, text, from - 1)) return from + 1
    ISSUED.lastIndex = from
    finding.steps.read(ISSUED_CHARS)
    return ISSUED.test(text) ? issuedKey(text, { from, to: ISSUED.lastIndex }, finding) : from + 1
  },
}

/** `least` is the span of the prefix and the minimum number of characters. */
function* issuedKey(text: string, least: Span, { spans, steps }: Finding): Yielding<number> {
  const to = yield* endOf(IN_KEY, text, least.to, steps)
  spans.push({ from: least.from, to })
  return to
}

const ACCESS_KEY = /A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])/y
const ACCESS_KEY_CHARS = 20

const ACCESS_KEYS: Scanner = {
  begins: asciiSet(/A/),
  find: (text, from, { spans, steps }) => {
    if (isIn(ALPHANUMERIC, text, from - 1)) return from + 1
    ACCESS_KEY.lastIndex = from
    steps.read(ACCESS_KEY_CHARS)
    if (!ACCESS_KEY.test(text)) return from + 1
    spans.push({ from, to: from + ACCESS_KEY_CHARS })
    return from + ACCESS_KEY_CHARS
  },
}

const USER_MAX_CHARS = 64
const PASSWORD_MAX_CHARS = 128

/** Finds a name, a colon and a password between `://` and `@`. Neither may contain a slash, so the characters of one URL are not read again for the next. */
const URL_PASSWORDS: Scanner = {
  begins: asciiSet(/:/),
  find: (text, from, { spans, steps }) => {
    if (!text.startsWith('://', from)) return from + 1
    const user = from + 3
    let at = user
    while (at - user < USER_MAX_CHARS && isInUrl(text, at) && text.charAt(at) !== ':') at += 1
    const colon = at
    if (colon > user && text.charAt(colon) === ':') {
      at += 1
      while (at - colon <= PASSWORD_MAX_CHARS && isInUrl(text, at)) at += 1
    }
    steps.read(at - from)
    if (at <= colon + 1 || text.charAt(at) !== '@') return from + 1
    spans.push({ from, to: at + 1 })
    return at + 1
  },
}

const NOT_IN_URL = asciiSet(/[\s/@]/)

function isInUrl(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 128 ? NOT_IN_URL[code] === 0 : code >= 128 && !isSpace(text, at)
}

/** Credentials of an `Authorization` header (RFC 6750, RFC 7617). Ordinary words may follow these words too, but they rarely contain a digit. */
const AUTHORIZATION = /(?:bearer|basic|token) {1,4}[\w.~+/-]{12}/iy
const AUTHORIZATION_CHARS = 22
const IN_CREDENTIALS = asciiSet(/[\w.~+/-]/)
const NO_DIGIT = asciiSet(/[A-Za-z_.~+/-]/)
const PADDING = asciiSet(/[=]/)
const SECOND_LETTER = asciiSet(/[eao]/i)

const AUTHORIZATIONS: Scanner = {
  begins: asciiSet(/[bt]/i),
  find: (text, from, finding) => {
    if (!isIn(SECOND_LETTER, text, from + 1) || isIn(WORD, text, from - 1)) return from + 1
    AUTHORIZATION.lastIndex = from
    finding.steps.read(AUTHORIZATION_CHARS)
    return AUTHORIZATION.test(text) ? authorization(text, { from, to: AUTHORIZATION.lastIndex }, finding) : from + 1
  },
}

function* authorization(text: string, least: Span, { spans, steps }: Finding): Yielding<number> {
  const digit = yield* endOf(NO_DIGIT, text, least.to, steps)
  const hasDigit = isIn(DIGIT, text, digit) || /\d/.test(text.slice(least.from, least.to))
  const padding = yield* endOf(IN_CREDENTIALS, text, digit, steps)
  const to = yield* endOf(PADDING, text, padding, steps)
  if (hasDigit) spans.push({ from: least.from, to })
  return to
}

const KEY_BEGINS = '-----BEGIN '
const KEY_KIND = 'PRIVATE KEY'
const KEY_KIND_MAX_CHARS = 32 + KEY_KIND.length
const IN_KEY_KIND = asciiSet(/[A-Z ]/)
const DASHES = '-----'

/** RFC 7468. A key without an end marker is redacted to the end of the text. */
const PRIVATE_KEYS: Scanner = {
  begins: asciiSet(/-/),
  find: (text, from, finding) => {
    if (!text.startsWith(KEY_BEGINS, from)) return from + 1
    const kind = from + KEY_BEGINS.length
    let at = kind
    while (at - kind <= KEY_KIND_MAX_CHARS && isIn(IN_KEY_KIND, text, at)) at += 1
    finding.steps.read(at - from)
    const isKind = at - kind <= KEY_KIND_MAX_CHARS && at - kind >= KEY_KIND.length && text.endsWith(KEY_KIND, at)
    if (!isKind || !text.startsWith(DASHES, at)) return from + 1
    const to = at + DASHES.length
    // A key within another key is part of it.
    return from < (finding.spans.at(-1)?.to ?? 0) ? to : privateKey(text, { from, to }, finding)
  },
}

function* privateKey(text: string, head: Span, { spans, steps }: Finding): Yielding<number> {
  const last = yield* placeOf('-----END', text, head.to, steps)
  const dashes = last === -1 ? -1 : yield* placeOf(DASHES, text, last + '-----END'.length, steps)
  spans.push({ from: head.from, to: dashes === -1 ? text.length : dashes + DASHES.length })
  return head.to
}

export const SECRETS: readonly Scanner[] = [PRIVATE_KEYS, AUTHORIZATIONS, ISSUED_KEYS, ACCESS_KEYS, URL_PASSWORDS]
