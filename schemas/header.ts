/** @module The sealed header: what the mac covers, and the record that carries it (REC-1 to REC-7). */
import { z } from 'zod'
import { Digest } from './names.ts'
import { NAME_MAX_CHARS, TRACEPARENT_PATTERN } from './value-forms.ts'

export const HEADER_VERSION = 1
/** Longest canonical header text, in bytes of UTF-8. */
export const HEADER_MAX_BYTES = 8 * 1024
/** Delegation deeper than this is refused with the token. */
export const VIA_MAX = 8
export const SALT_BYTES = 16

/** RFC 3339, UTC, milliseconds: one spelling only, so that text order is time order. */
export const TIME_PATTERN = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/
export const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** 32 bytes in base64url: 43 characters, the last of which carries only 4 bits. */
export const MAC_PATTERN = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

const Text = z.string().min(1).max(NAME_MAX_CHARS)
const Time = z.string().regex(TIME_PATTERN)
const Uuid = z.string().regex(UUID_PATTERN)
const Mac = z.string().regex(MAC_PATTERN)

/** Idempotency of a request, on its first event: UUIDv5 of the key's scope, and an HMAC over method, path and body. */
export const RequestMark = z.strictObject({ id: Uuid, mac: Mac })

export const Header = z.strictObject({
  v: z.literal(HEADER_VERSION),
  id: Uuid,
  stream: z.string().min(1).max(NAME_MAX_CHARS),
  revision: z.int().min(0),
  type: z.string().regex(/^[A-Z][A-Za-z]{0,63}$/),
  time: Time,
  clock: Time.optional(),
  tenant: z.string().min(1).max(63),
  actor: Text,
  principal: Text.optional(),
  via: z.array(Text).min(1).max(VIA_MAX).optional(),
  causation: Uuid.optional(),
  traceparent: z.string().regex(TRACEPARENT_PATTERN).optional(),
  request: RequestMark.optional(),
  dataDigest: Digest,
  prev: Digest.optional(),
  kid: Text,
  mac: Mac,
})

export type Header = z.infer<typeof Header>
export type RequestMark = z.infer<typeof RequestMark>

/**
 * One event as it lies on disk: the exact bytes that were signed. `header` and `data` are JCS texts (RFC 8785),
 * `salt` is 16 bytes that stand before the bytes of `data` in `dataDigest`.
 */
export interface StoredRecord {
  readonly header: string
  readonly salt: Uint8Array
  readonly data: string
  /** Where salt and body are, if they were moved out of the store (LIFE-50). The store's row says so, and only the sealed header shows that they are the same. */
  readonly archive?: ArchivePlace
}

export interface ArchivePlace {
  /** Name of the archive: its file without the extension. */
  readonly name: string
  /** Whether the file is in its folder and could be read. If not, salt and body of the record are empty. */
  readonly exists: boolean
}

/** Where a record's bytes lie in a block that was read: salt, body, a zero, header, without a gap. */
export interface RecordBytes {
  readonly block: Buffer
  /** The body is `data` to `dataEnd`, where the zero is; the salt is before it. */
  readonly data: number
  readonly dataEnd: number
  readonly headerEnd: number
  /** Of the body: it has as many characters as bytes. */
  readonly isAscii: boolean
}

/** A record on its way into a store, with the header fields that the store indexes. */
export interface AppendRecord extends StoredRecord {
  readonly id: string
  readonly type: string
  /** Idempotency id of the request whose first event this is: unique over the whole history of the stream. */
  readonly requestId?: string
  /** The rest of the header, if the record was made from printed JSON of header and data: a store need not parse them again. */
  readonly printed?: { readonly causation: string | undefined }
}
