/** @module What is recorded of a model call: its content, redacted where the author says so, or digests alone. */
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

/** The request, in any order of its members: SHA-256 over JCS (RFC 8785) of provider, model and the request, unredacted. */
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

/** The arguments of the call on record. */
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

/** What the record has: the answer, the chunks, or neither. */
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

/** What a failure keeps of the chunks before it: at four bytes to a unit its event fits an append of every store. */
const RECEIVED_MAX_CHARS = INLINE_CEILING_BYTES / 8

/** A provider's message may repeat the request: it passes the same redaction, and is left out where only digests are recorded. */
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
  // A stream that broke is told by that: its error is the same whatever the provider's package throws.
  const form = opened ? {} : formOf(error, errors, record !== 'digest' && redact === undefined)
  const details = { name, ...judged, ...form, ...(opened && { broken: true, ...(fits && { received }) }) }
  if (record === 'digest') return { ...plain, message: `${name} (its message is not recorded)`, details }
  return { ...plain, message: redact === undefined ? plain.message : redactedText(plain.message, redact), details }
}

/** What cannot be redacted is left out: the failure is recorded all the same. */
function redactedText(text: string, redact: (value: Json) => Json): string {
  try {
    const redacted = redact(text)
    return typeof redacted === 'string' ? redacted : 'redacted'
  } catch {
    return 'redacted'
  }
}

const same = (value: Json): Json => value
