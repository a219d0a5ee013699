/** @module The recorded form of a model call: its content, redacted if so configured, or digests only. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { INLINE_CEILING_BYTES } from '../../../schemas/value-forms.ts'
import type { Failure } from '../../../schemas/values.ts'
import { jsonDigest } from '../../signing/digests.ts'
import type { ErrorClass } from '../calls/caught-error.ts'
import { AgentError, failureOf } from '../errors.ts'
import { thrownText } from '../thrown.ts'
import type { ModelSettings } from './model-settings.ts'
import { type PackedChunks, packChunks, unpackChunks } from './packed-chunks.ts'
import { isRetryable, statusOf } from './provider-errors.ts'
import { formOf } from './provider-failure.ts'
import { redactChunks } from './stream-texts.ts'

type Recording = Pick<ModelSettings, 'record' | 'redact'>

/** Digest of the request, independent of member order: SHA-256 over JCS (RFC 8785) of provider, model and the unredacted request. */
export function fingerprintOf(query: {
  readonly provider: string
  readonly model: string
  readonly request: Json
}): string {
  try {
    return jsonDigest({ provider: query.provider, model: query.model, request: query.request })
  } catch (error) {
    const reason = thrownText(error)
    throw new AgentError('not-recordable', `the request to ${query.provider}/${query.model} has no digest: ${reason}`)
  }
}

/** The recorded arguments of the call. */
export function requestOnRecord(
  query: { readonly provider: string; readonly model: string; readonly request: Json },
  { record, redact = same }: Recording,
): JsonObject {
  const { provider, model, request } = query
  const identity = { provider, model, fingerprint: fingerprintOf(query) }
  return record === 'digest' ? identity : { ...identity, request: redact(request) }
}

export function answerOnRecord(answer: Json, { record, redact = same }: Recording): JsonObject {
  return record === 'digest' ? { digest: jsonDigest(answer) } : { response: redact(answer) }
}

export function chunksOnRecord(chunks: readonly Json[], { record, redact }: Recording): JsonObject {
  if (record === 'digest') return { digest: jsonDigest([...chunks]), count: chunks.length }
  const remaining = redact === undefined ? chunks : redactChunks(chunks, redact)
  return { chunks: packChunks(remaining) as unknown as Json }
}

/** The recorded answer: a response, chunks, or neither. */
export type Served =
  | { readonly kind: 'response'; readonly response: Json }
  | { readonly kind: 'chunks'; readonly chunks: Json[] }
  | { readonly kind: 'missing' }

export function servedFrom(recorded: Json): Served {
  if (!isJsonObject(recorded)) return { kind: 'missing' }
  const { response, chunks } = recorded
  if (Array.isArray(chunks)) return { kind: 'chunks', chunks: unpackChunks(chunks as unknown as PackedChunks) }
  return response === undefined ? { kind: 'missing' } : { kind: 'response', response }
}

/** Maximum length of the chunks kept with a failure: at four bytes per UTF-16 unit, the event fits an append of every store. */
const RECEIVED_MAX_CHARS = INLINE_CEILING_BYTES / 8

/** A provider's error message may repeat the request, so it is redacted too, and omitted if only digests are recorded. */
export function failureOnRecord(
  error: unknown,
  {
    record,
    redact,
    opened,
    received,
    errors = [],
  }: Recording & {
    readonly opened: boolean
    readonly received?: JsonObject
    readonly errors?: readonly ErrorClass[] | undefined
  },
): Failure {
  const plain = failureOf(error)
  const status = statusOf(error)
  const judged = { retryable: !opened && isRetryable(error), ...(status !== undefined && { status }) }
  const name = error instanceof Error ? error.name : 'thrown'
  const fits = received !== undefined && JSON.stringify(received).length <= RECEIVED_MAX_CHARS
  // A broken stream is recorded as broken; the provider package's own error class is not kept.
  const form = opened ? {} : formOf(error, errors, record !== 'digest' && redact === undefined)
  const details = { name, ...judged, ...form, ...(opened && { broken: true, ...(fits && { received }) }) }
  if (record === 'digest') return { ...plain, message: `${name} (its message is not recorded)`, details }
  return { ...plain, message: redact === undefined ? plain.message : redactedText(plain.message, redact), details }
}

/** A text that cannot be redacted is replaced, so that the failure is recorded in any case. */
function redactedText(text: string, redact: (value: Json) => Json): string {
  try {
    const redacted = redact(text)
    return typeof redacted === 'string' ? redacted : 'redacted'
  } catch {
    return 'redacted'
  }
}

const same = (value: Json): Json => value
