/**
 * @module A time-stamping authority over HTTP (RFC 3161, section 3.4), through the guarded `fetch`; its reply is checked against the request before it is
 * accepted.
 */
import { randomBytes } from 'node:crypto'
import { TIMESTAMP_REPLY_MAX_BYTES } from '../../schemas/value-forms.ts'
import { DialError } from '../egress/dial-error.ts'
import { dialFailure } from '../egress/dial-failure.ts'
import { type Fetch, guardedFetch, type TrustOptions } from '../egress/guarded-fetch.ts'
import type { Stamping, StampingFault, TimestampAuthority } from '../ledger/log/timestamp-authority.ts'
import type { TimestampSettings } from '../settings/config.ts'
import { guardedTarget } from '../settings/guarded-target.ts'
import { sha256 } from '../signing/digests.ts'

const ANSWER_MAX_MS = 15_000
const NONCE_BYTES = 8

/** Throws `SettingsError` for an unusable address. */
export function timestampAuthority({ url, allow }: TimestampSettings): TimestampAuthority {
  const plain = 'so that its tokens cannot be held back on the way'
  const target = guardedTarget({ url, allow, setting: 'timestamp-url', allowIn: '--timestamp-allow', plain })
  return httpAuthority(url, { allow: target })
}

export function httpAuthority(
  url: string,
  trust: Pick<TrustOptions, 'allow' | 'timeoutMs' | 'lookup'>,
): TimestampAuthority {
  const timeoutMs = trust.timeoutMs ?? ANSWER_MAX_MS
  const fetch = guardedFetch({ ...trust, timeoutMs, maxResponseBytes: TIMESTAMP_REPLY_MAX_BYTES })
  return {
    name: new URL(url).host,
    stamp: async (text, closing) => {
      try {
        return await requested({ fetch, url, closing }, Buffer.from(text))
      } catch (error) {
        const isTooLarge = error instanceof DialError && error.code === 'response-too-large'
        return failed(isTooLarge ? 'too-large' : 'unreachable', dialFailure(error, timeoutMs))
      }
    },
  }
}

interface Exchange {
  readonly fetch: Fetch
  readonly url: string
  readonly closing: AbortSignal
}

async function requested({ fetch, url, closing }: Exchange, data: Uint8Array): Promise<Stamping> {
  // Loaded at the first request, because a ledger without an authority does not need ASN.1.
  const [{ timestampRequest }, { readTimestampReply }, { checkTokenSignature }] = await Promise.all([
    import('../timestamps/timestamp-request.ts'),
    import('../timestamps/timestamp-reply.ts'),
    import('../timestamps/token-signature.ts'),
  ])
  const question = { digest: sha256(data), nonce: randomBytes(NONCE_BYTES) }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/timestamp-query', accept: 'application/timestamp-reply' },
    body: Buffer.from(timestampRequest(question)),
    signal: closing,
  })
  if (response.status !== 200) {
    await response.body?.cancel().catch(() => undefined)
    return failed('unreachable', `it answers ${response.status}`)
  }
  const reply = new Uint8Array(await response.arrayBuffer())
  const read = readTimestampReply(reply, question)
  if (!read.ok) return failed(read.code, read.message)
  // Whether to trust the authority is up to the verifier; a token with an invalid signature is useless to everyone.
  const signature = await checkTokenSignature(read.token.signed, { data })
  if (!signature.ok) return failed('wrong-signature', signature.message)
  const { time, policy, serial } = read.token
  return { ok: true, time, policy, serial, reply }
}

function failed(code: StampingFault, message: string): Stamping {
  return { ok: false, code, message }
}
