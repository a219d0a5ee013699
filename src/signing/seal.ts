/**
 * @module Sealing: turns event drafts into records in which every change of a field is detectable (REC-4, SEAL-4). It also writes the
 * header text that the MAC covers: its JCS form, written directly since the order of its keys is known.
 */
import {
  type AppendRecord,
  HEADER_MAX_BYTES,
  HEADER_VERSION,
  type Header,
  type RequestMark,
} from '../../schemas/header.ts'
import type { Json } from '../../schemas/json.ts'
import { canonicalJson } from './canonical-json.ts'
import { dataDigest, type MacKey, recordDigest, textMac } from './digests.ts'

export interface EventDraft {
  readonly type: string
  readonly data: Json
  /** JCS text of `data`, if the caller has it already. */
  readonly dataText?: string
  /** Id of the event that caused this one. Default: the first event of the same request. */
  readonly causation?: string | undefined
}

/** The writer, the position, the predecessor and the key of the events. Names were validated when they were received. */
export interface SealContext {
  readonly stream: string
  readonly tenant: string
  readonly actor: string
  readonly principal?: string | undefined
  readonly via?: readonly string[] | undefined
  readonly traceparent?: string | undefined
  /** Revision of the first event. */
  readonly revision: number
  /** Digest of the event before the first; absent at revision 0. */
  readonly prev?: string | undefined
  /** `time` of the event before the first. */
  readonly prevTime?: string | undefined
  /** The writer's clock now: RFC 3339, UTC, milliseconds. */
  readonly clock: string
  /** Idempotency mark of the request; written to its first event only. */
  readonly request?: RequestMark | undefined
  readonly kid: string
  /** Run key of `kid`, tenant and stream. */
  readonly key: MacKey
  /** Returns a new UUIDv7 at each call: using one id for two seals would fork the chain unnoticed. */
  readonly newId: () => string
  /** Returns 16 random bytes. */
  readonly newSalt: () => Uint8Array
}

export interface SealedEvent {
  readonly header: Header
  readonly record: AppendRecord
  /** `sha256:<hex>`: the next event's `prev` and the leaf of the Merkle log. */
  readonly digest: string
  readonly data: Json
}

/**
 * Seals the events of one request, in order, as one section of the chain. Throws `TypeError` if a header would exceed 8 KiB or a body has
 * no canonical form; both should have been refused when the request was received.
 */
export function sealEvents(drafts: readonly EventDraft[], context: SealContext): SealedEvent[] {
  const sealed: SealedEvent[] = []
  for (const draft of drafts) sealed.push(sealEvent(draft, context, sealed))
  return sealed
}

function sealEvent(draft: EventDraft, context: SealContext, earlier: readonly SealedEvent[]): SealedEvent {
  const data = draft.dataText ?? canonicalJson(draft.data)
  const salt = context.newSalt()
  const unsealed = unsealedHeader(draft, context, earlier)
  unsealed.dataDigest = dataDigest(salt, data)

  const parts = headerParts(unsealed)
  const mac = headerMac(parts, context.key)
  const header = sealedText(parts, mac)
  checkSize(header)

  const { id, type, request, causation } = unsealed
  const record = { header, salt, data, id, type, printed: { causation } }
  return {
    header: Object.assign(unsealed, { mac }),
    record: request === undefined ? record : { ...record, requestId: request.id },
    digest: recordDigest(header),
    data: draft.data,
  }
}

function unsealedHeader(draft: EventDraft, context: SealContext, earlier: readonly SealedEvent[]): UnsealedHeader {
  const first = earlier[0]
  const before = earlier.at(-1)
  const prevTime = before?.header.time ?? context.prevTime
  const behind = prevTime !== undefined && context.clock < prevTime
  const causation = draft.causation ?? first?.header.id
  const prev = before?.digest ?? context.prev
  return {
    v: HEADER_VERSION,
    id: context.newId(),
    stream: context.stream,
    revision: context.revision + earlier.length,
    type: draft.type,
    time: behind ? prevTime : context.clock,
    tenant: context.tenant,
    actor: context.actor,
    dataDigest: '',
    kid: context.kid,
    ...(behind && { clock: context.clock }),
    ...(context.principal !== undefined && { principal: context.principal }),
    ...(context.via !== undefined && context.via.length > 0 && { via: [...context.via] }),
    ...(causation !== undefined && { causation }),
    ...(context.traceparent !== undefined && { traceparent: context.traceparent }),
    ...(context.request !== undefined && first === undefined && { request: context.request }),
    ...(prev !== undefined && { prev }),
  }
}

function checkSize(header: string): void {
  // A UTF-16 unit takes at most three bytes of UTF-8, so most headers need no counting.
  if (header.length * 3 <= HEADER_MAX_BYTES) return
  if (Buffer.byteLength(header) > HEADER_MAX_BYTES)
    throw new TypeError(`a header has at most ${HEADER_MAX_BYTES} bytes`)
}

/** Domain separation: keeps this MAC from being valid for any other kind of text, and names the version of the signed form. */
const EVENT_PREFIX = 'countersign/event/v1\n'

/** The header text before and after its MAC, with keys ordered by UTF-16 code units. */
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

/** HMAC-SHA-256 over every header field except the MAC itself, base64url. */
export function headerMac(parts: HeaderParts, key: MacKey): string {
  return textMac(EVENT_PREFIX, key, parts.before, parts.after)
}

/** The stored header text, with the MAC in its place in the key order. */
export function sealedText(parts: HeaderParts, mac: string): string {
  return `${parts.before},"mac":"${mac}"${parts.after}`
}
