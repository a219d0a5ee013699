/** @module One delivery attempt: to the configured address only, with a timeout, whatever the receiver answers. */
import { dialFailure } from '../egress/dial-failure.ts'
import { guardedFetch, type TrustOptions } from '../egress/guarded-fetch.ts'

const ATTEMPT_MAX_MS = 10_000
const ANSWER_MAX_BYTES = 64 * 1024

/** Resolves to undefined if the receiver accepted the delivery (2xx), else to the reason. Never rejects. */
export type PostDelivery = (
  headers: Readonly<Record<string, string>>,
  body: string,
  closing: AbortSignal,
) => Promise<string | undefined>

export type PostOptions = Pick<TrustOptions, 'allow' | 'timeoutMs' | 'lookup'> & {
  readonly url: string
  /** Version of this program. */
  readonly version: string
}

/** The reason of a failure contains no part of the URL except its host, because some receivers have secrets in paths and queries. */
export function postDelivery({ url, version, ...trust }: PostOptions): PostDelivery {
  const timeoutMs = trust.timeoutMs ?? ATTEMPT_MAX_MS
  const fetch = guardedFetch({ ...trust, timeoutMs, maxResponseBytes: ANSWER_MAX_BYTES })
  const own = { 'content-type': 'application/json', 'user-agent': `countersign/${version}` }
  return async (headers, body, signal) => {
    try {
      const response = await fetch(url, { method: 'POST', headers: { ...own, ...headers }, body, signal })
      // The response body is discarded; if it is long, the connection is closed with it.
      await response.body?.cancel().catch(() => undefined)
      return response.ok ? undefined : `it answers ${response.status}`
    } catch (error) {
      return dialFailure(error, timeoutMs)
    }
  }
}
