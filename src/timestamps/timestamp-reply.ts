/**
 * @module The answer of a time-stamping authority (RFC 3161, section 2.4.2): parsed as untrusted input, and checked against the request. The signature is
 * checked in `token-signature.ts`.
 */
import { fromBER } from 'asn1js'
import { SignedData, TimeStampResp, TSTInfo } from 'pkijs'
import { TIMESTAMP_REPLY_MAX_BYTES } from '../../schemas/value-forms.ts'
import { positive, SHA256_OID } from './timestamp-request.ts'

/** Nesting depth of constructed values; a token has about twelve. */
const DEPTH_MAX = 40
const GRANTED = 0
const GRANTED_WITH_MODS = 1
const CONSTRUCTED = 0x20
const STATUS_MAX_CHARS = 200

export interface TimestampToken {
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string
  /** OID of the authority's policy. */
  readonly policy: string
  /** Hex digits. */
  readonly serial: string
  /** The stamped SHA-256 digest. */
  readonly digest: Uint8Array
  readonly signed: SignedData
}

export type ReplyFaultCode = 'malformed' | 'rejected' | 'wrong-imprint' | 'wrong-nonce'

export type ReadReply =
  | { readonly ok: true; readonly token: TimestampToken }
  | { readonly ok: false; readonly code: ReplyFaultCode; readonly message: string }

export interface Requested {
  /** 32 bytes. */
  readonly digest: Uint8Array
  /** Absent for a stored token, whose nonce was not kept. */
  readonly nonce?: Uint8Array
}

/** Never throws, whatever the authority sent. */
export function readTimestampReply(reply: Uint8Array, requested: Requested): ReadReply {
  try {
    return judged(reply, requested)
  } catch (error) {
    return refused('malformed', `the answer is no TimeStampResp of RFC 3161 (${(error as Error).message})`)
  }
}

function judged(reply: Uint8Array, { digest, nonce }: Requested): ReadReply {
  if (reply.length > TIMESTAMP_REPLY_MAX_BYTES)
    return refused('malformed', `the answer has more than ${TIMESTAMP_REPLY_MAX_BYTES} bytes`)
  if (!isShallow(reply)) return refused('malformed', 'the answer is no DER, or nested too deeply')
  const read = fromBER(reply)
  if (read.offset !== reply.length) return refused('malformed', 'the answer is no DER, or bytes follow it')
  const response = new TimeStampResp({ schema: read.result })
  const { status, statusStrings } = response.status
  if (status !== GRANTED && status !== GRANTED_WITH_MODS) {
    const reason = statusStrings?.map((text) => text.valueBlock.value).join(' ') ?? ''
    return refused(
      'rejected',
      `the authority gives no token: status ${status} ${JSON.stringify(reason.slice(0, STATUS_MAX_CHARS))}`,
    )
  }
  if (response.timeStampToken === undefined) return refused('malformed', 'the answer is granted, and holds no token')
  const signed = new SignedData({ schema: response.timeStampToken.content })
  const info = TSTInfo.fromBER(signed.encapContentInfo.eContent?.getValue() ?? new ArrayBuffer(0))
  const { hashAlgorithm, hashedMessage } = info.messageImprint
  const stamped = hashedMessage.valueBlock.valueHexView
  if (hashAlgorithm.algorithmId !== SHA256_OID || !sameBytes(stamped, digest))
    return refused('wrong-imprint', 'the token is for other bytes than those that were to be stamped')
  if (nonce !== undefined && !sameBytes(info.nonce?.valueBlock.valueHexView ?? new Uint8Array(), positive(nonce)))
    return refused('wrong-nonce', 'the token does not answer this request: its nonce is another, or missing')
  const serial = Buffer.from(info.serialNumber.valueBlock.valueHexView).toString('hex')
  const token = {
    time: info.genTime.toISOString(),
    policy: info.policy,
    serial,
    digest: Uint8Array.from(stamped),
    signed,
  }
  return { ok: true, token }
}

/** Checked before any recursive parsing: 16 KiB of nested values would recurse 8,000 levels deep. False lengths are left to the parser. */
function isShallow(bytes: Uint8Array): boolean {
  const ends: number[] = []
  for (let at = 0; at < bytes.length; ) {
    while (ends.length > 0 && at >= (ends.at(-1) ?? 0)) ends.pop()
    const isConstructed = ((bytes[at] ?? 0) & CONSTRUCTED) !== 0
    const { length, body } = lengthAt(bytes, at + 1)
    if (length === undefined) return false
    if (isConstructed) ends.push(body + length)
    if (ends.length > DEPTH_MAX) return false
    at = isConstructed ? body : body + length
  }
  return true
}

const LONG_FORM = 0x80
const LENGTH_MAX_BYTES = 4

/** A definite length, as in DER; undefined for any other form. */
function lengthAt(bytes: Uint8Array, at: number): { readonly length: number | undefined; readonly body: number } {
  const first = bytes[at] ?? LONG_FORM
  if (first < LONG_FORM) return { length: first, body: at + 1 }
  const count = first - LONG_FORM
  if (count === 0 || count > LENGTH_MAX_BYTES || at + count >= bytes.length) return { length: undefined, body: at }
  let length = 0
  for (let i = 1; i <= count; i += 1) length = length * 256 + (bytes[at + i] ?? 0)
  return { length, body: at + 1 + count }
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

function refused(code: ReplyFaultCode, message: string): ReadReply {
  return { ok: false, code, message }
}
