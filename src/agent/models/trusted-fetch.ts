/** @module The guarded `fetch` as the runtime offers it: what it refuses is an error of the runtime. */
import { type Fetch, guardedFetch, type TrustOptions } from '../../egress/guarded-fetch.ts'
import { AgentError } from '../errors.ts'

export type { TrustOptions } from '../../egress/guarded-fetch.ts'

/**
 * Fits the `fetch` option of the `openai`, `@anthropic-ai/sdk` and `ollama` clients. Redirects are refused. Throws `address-refused`,
 * `redirect-refused`, `response-too-large` (while the body is read), `invalid-allow` at once.
 * @example
 * ```ts
 * import { trustedFetch } from 'countersign/agent'
 * import OpenAI from 'openai'
 *
 * const baseURL = process.env.OPENAI_BASE_URL ?? 'https://models.example.com/v1'
 * const openai = new OpenAI({ baseURL, fetch: trustedFetch({ allow: [new URL(baseURL).host] }) })
 * console.log(openai.baseURL === baseURL)
 * ```
 */
export function trustedFetch(options: TrustOptions): Fetch {
  return guardedFetch(options, ({ code, message, evidence }) => new AgentError(code, message, evidence))
}
