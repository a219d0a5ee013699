/** @module One attempt to deliver: at the operator's address and at no other, within a time, whatever the receiver answers with. */
import { dialFailure } from '../egress/dial-failure.ts'
import { guardedFetch, type TrustOptions } from '../egress/guarded-fetch.ts'

const ATTEMPT_MAX_MS = 10_000
const ANSWER_MAX_BYTES = 64 * 1024

/** Undefined where the receiver took it (2xx), else why it did not. Never rejects. */
export type PostDelivery = (
  headers: Readonly<Record<string, string>>,
  body: string,
  closing: AbortSignal,
) => Promise<string | undefined>

export type PostOptions = Pick<TrustOptions, 'allow' | 'timeoutMs' | 'lookup'> & {
  readonly url: string
  /** Of this program. */
  readonly version: string
}

/** What it says of a failure holds no part of the URL but its host: paths and queries of webhooks are secrets of some receivers. */
export function postDelivery({ url, version, ...trust }: PostOptions): PostDelivery {
  const timeoutMs = trust.timeoutMs ?? ATTEMPT_MAX_MS
  const fetch = guardedFetch({ ...trust, timeoutMs, maxResponseBytes: ANSWER_MAX_BYTES })
  const own = { 'content-type': 'application/json', 'user-agent': `countersign/${version}` }
  return async (headers, body, signal) => {
    try {
      const response = await fetch(url, { method: 'POST', headers: { ...own, ...headers }, body, signal })
      // Nobody reads what it says: the connection goes with it, where it says much.
      await response.body?.cancel().catch(() => undefined)
      return response.ok ? undefined : `it answers ${response.status}`
    } catch (error) {
      return dialFailure(error, timeoutMs)
    }
  }
}
