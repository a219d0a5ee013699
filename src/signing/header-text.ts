/** @module The header as text: its JCS form written directly, since the order of its keys is known. */
import { createHmac, type KeyObject } from 'node:crypto'
import type { Header, RequestMark } from '../../schemas/header.ts'
import { canonicalJson } from './canonical-json.ts'

/** Keeps this mac from being taken for one over any other kind of text, and names the version of the signed form. */
const EVENT_PREFIX = 'countersign/event/v1\n'

/** A run key: 32 bytes, best as a `KeyObject`, which no log prints. */
export type MacKey = KeyObject | Uint8Array

/** The parts of a header's text on both sides of its mac, keys by UTF-16 code units. */
export interface HeaderParts {
  readonly before: string
  readonly after: string
}

export type UnsealedHeader = Omit<Header, 'mac'>

export function headerParts(header: UnsealedHeader): HeaderParts {
  let before = `{"actor":${canonicalJson(header.actor)}`
  if (header.causation !== undefined) before += `,"causation":${canonicalJson(header.causation)}`
  if (header.clock !== undefined) before += `,"clock":"${header.clock}"`
  before += `,"dataDigest":"${header.dataDigest}","id":"${header.id}","kid":${canonicalJson(header.kid)}`

  let after = ''
  if (header.prev !== undefined) after += `,"prev":"${header.prev}"`
  if (header.principal !== undefined) after += `,"principal":${canonicalJson(header.principal)}`
  if (header.request !== undefined) after += `,"request":${requestText(header.request)}`
  after += `,"revision":${header.revision},"stream":${canonicalJson(header.stream)},"tenant":${canonicalJson(header.tenant)}`
  after += `,"time":"${header.time}"`
  if (header.traceparent !== undefined) after += `,"traceparent":"${header.traceparent}"`
  after += `,"type":"${header.type}","v":${header.v}`
  if (header.via !== undefined) after += `,"via":${canonicalJson(header.via)}`
  return { before, after: `${after}}` }
}

function requestText(request: RequestMark): string {
  return `{"id":"${request.id}","mac":"${request.mac}"}`
}

/** HMAC-SHA-256 over every header field but the mac itself, base64url. */
export function headerMac(parts: HeaderParts, key: MacKey): string {
  return createHmac('sha256', key)
    .update(EVENT_PREFIX + parts.before + parts.after)
    .digest('base64url')
}

/** The stored text: the mac stands in its place of the order. */
export function sealedText(parts: HeaderParts, mac: string): string {
  return `${parts.before},"mac":"${mac}"${parts.after}`
}
