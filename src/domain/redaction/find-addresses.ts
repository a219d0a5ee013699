/** @module Finds email addresses in a text. */
import { asciiSet, isIn, isLetterOrNumber, isSpace } from './characters.ts'
import type { Scanner } from './scan-text.ts'

/** Maximum lengths (RFC 5321 section 4.5.3.1): 64 octets before the `@`, 255 after it. */
const LOCAL_MAX_CHARS = 64
const DOMAIN_MAX_CHARS = 255

/** RFC 5322 `dot-atom`; letters of other scripts are allowed too (RFC 6531). */
const LOCAL = asciiSet(/[\w.!#$%&'*+/=?^`{|}~-]/)

/** Reads from each `@` to both sides. Neither side extends beyond another `@`, so that no character is read more than twice. */
export const EMAILS: Scanner = {
  begins: asciiSet(/@/),
  find: (text, at, { spans, steps }) => {
    let from = at
    while (from > 0 && at - from < LOCAL_MAX_CHARS && isLocal(text, from - 1)) from -= 1
    const domain = domainAt(text, at + 1)
    steps.read(domain.read - from)
    if (from < at && domain.to !== undefined) spans.push({ from, to: domain.to })
    return at + 1
  },
}

function isLocal(text: string, at: number): boolean {
  return isIn(LOCAL, text, at) || (text.charCodeAt(at) > 127 && !isSpace(text, at))
}

/** `to` is the end of the last of two or more labels, `read` the position up to which the text was read. */
function domainAt(text: string, from: number): { readonly to: number | undefined; readonly read: number } {
  const end = Math.min(text.length, from + DOMAIN_MAX_CHARS)
  let to: number | undefined
  let at = from
  for (let labels = 1; ; labels += 1) {
    const begins = at
    at = labelEnd(text, at, end)
    if (at === begins) break
    if (labels > 1) to = at
    if (at >= end || text.charCodeAt(at) !== 0x2e) break
    at += 1
  }
  return { to, read: at }
}

function labelEnd(text: string, from: number, end: number): number {
  let at = from
  while (at < end) {
    const codePoint = text.codePointAt(at) ?? 0
    const next = at + (codePoint > 0xffff ? 2 : 1)
    if (next > end || !(codePoint === 0x2d || isLetterOrNumber(codePoint))) break
    at = next
  }
  return at
}
