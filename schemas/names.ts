/**
 * @module The alphabets of every name that becomes part of a stream, and the streams they make (REC-8, REC-9).
 * Names are ASCII, so that no two different names look alike.
 */
import { z } from 'zod'
import {
  CURRENCY_PATTERN,
  MONEY_MAX_CHARS,
  MONEY_PATTERN,
  NAME_MAX_CHARS,
  RUN_ID_FORM,
  RUN_ID_PATTERN,
} from './value-forms.ts'

/** Tenant of the ledger's own facts; no token may carry it. */
export const SYSTEM_TENANT = 'system'
export const SYSTEM_STREAM = 'ledger-system'

export const TENANT_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/
export const DIGEST_PATTERN = /^sha256:[0-9a-f]{64}$/

export const Tenant = z
  .string()
  .regex(TENANT_PATTERN, 'a tenant is 1 to 63 of a-z, 0-9 and -, and starts with a letter or digit')
  .refine((tenant) => tenant !== SYSTEM_TENANT, 'the tenant "system" is reserved')

export const RunId = z.string().regex(RUN_ID_PATTERN, RUN_ID_FORM)

export const Name = z.string().min(1).max(NAME_MAX_CHARS)

/** Version of a worker's code, such as `2026-11-27.1` or a commit. */
export const WorkerVersion = z.string().regex(/^[A-Za-z0-9._+-]{1,64}$/, 'takes 1 to 64 letters, digits, and . _ + -')
export const Digest = z.string().regex(DIGEST_PATTERN, 'a digest is sha256: and 64 lowercase hex digits')

/** Decimal money of at most 18 digits with at most 9 after the point; nothing else, so that no float slips in. */
export const Money = z
  .string()
  .max(MONEY_MAX_CHARS)
  .regex(
    MONEY_PATTERN,
    'an amount is a decimal string such as "2.50": at most 9 digits before the point and 9 after it',
  )

/** ISO 4217 form; the ledger compares it, it does not convert. */
export const Currency = z.string().regex(CURRENCY_PATTERN, 'a currency is three capital letters')

export function runStream(tenant: string, runId: string): string {
  return `run-${tenant}.${runId}`
}

export function ledgerStream(tenant: string): string {
  return `ledger-${tenant}`
}

/** Who read what of a tenant, as recorded by one process; `writer` is a UUID, new at each start. */
export function accessStream(tenant: string, writer: string): string {
  return `access-${tenant}.${writer}`
}

/** One large value of a tenant, by the hex digits of its digest. */
export function valueStream(tenant: string, digest: string): string {
  return `value-${tenant}.${digest.slice(digest.indexOf(':') + 1)}`
}

const HASH_PATTERN = /^[0-9a-f]{64}$/
const WRITER_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export interface StreamName {
  readonly kind: 'run' | 'ledger' | 'access' | 'value'
  readonly tenant: string
  /** Present where `kind` is `run`. */
  readonly runId?: string
}

/** Of the name that was read last: events of one stream mostly come one after the other. */
let lastRead: { readonly stream: string; readonly name: StreamName | undefined } = { stream: '', name: undefined }

/** Reads a stream's name back; undefined where it is none of ours. */
export function parseStream(stream: string): StreamName | undefined {
  if (lastRead.stream !== stream) lastRead = { stream, name: readStream(stream) }
  return lastRead.name
}

/** A tenant has no dot, so the first one ends it. */
function readStream(stream: string): StreamName | undefined {
  if (stream.startsWith('ledger-')) {
    const tenant = stream.slice('ledger-'.length)
    return TENANT_PATTERN.test(tenant) ? { kind: 'ledger', tenant } : undefined
  }
  const dot = stream.indexOf('.')
  if (dot < 0) return undefined
  const [kind = '', tenant = ''] = splitOnce(stream.slice(0, dot), '-')
  const rest = stream.slice(dot + 1)
  if (!TENANT_PATTERN.test(tenant)) return undefined
  if (kind === 'run' && RUN_ID_PATTERN.test(rest)) return { kind, tenant, runId: rest }
  if (kind === 'access' && WRITER_PATTERN.test(rest)) return { kind, tenant }
  if (kind === 'value' && HASH_PATTERN.test(rest)) return { kind, tenant }
  return undefined
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
