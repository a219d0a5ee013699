/** @module The guarded `fetch` for users of the runtime: its refusals are errors of the runtime. */
import { type Fetch, guardedFetch, type TrustOptions } from '../../egress/guarded-fetch.ts'
import { AgentError } from '../errors.ts'

export type { TrustOptions } from '../../egress/guarded-fetch.ts'

/**
 * Fits the `fetch` option of the `openai`, `@anthropic-ai/sdk` and `ollama` clients. Redirects are refused. Throws `invalid-allow` immediately; a request
 * throws `address-refused`, `redirect-refused`, and, while the body is read, `response-too-large`.
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
