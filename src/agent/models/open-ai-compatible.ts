/** @module A client for endpoints with OpenAI's chat format, without a provider's package: it connects only to configured addresses. */

import { type JsonObject, parseJson } from '../../../schemas/json.ts'
import { sseData } from './sse-data.ts'
import { readAll } from './tracked-promise.ts'
import { type TrustOptions, trustedFetch } from './trusted-fetch.ts'

/** The endpoint's address, its credentials and headers, and the addresses that may be connected to. */
export interface EndpointOptions extends TrustOptions {
  /** URL up to the version, such as `https://models.example.com/v1`. */
  readonly baseURL: string
  readonly apiKey?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface AskOptions {
  readonly signal?: AbortSignal
}

export interface ChatRequest {
  readonly model: string
  readonly messages: readonly object[]
  readonly stream?: boolean
  readonly [member: string]: unknown
}

/** The part of the `openai` client that a run needs: wrap it by `trackOpenAI`, or pass it to `openAiModel`. */
export interface EndpointClient {
  readonly baseURL: string
  readonly chat: {
    readonly completions: {
      create(request: ChatRequest & { readonly stream: true }, options?: AskOptions): Promise<AsyncIterable<JsonObject>>
      create(request: ChatRequest, options?: AskOptions): Promise<JsonObject>
    }
  }
}

/**
 * An error response of the endpoint; `status` and `headers` show whether a retry is worthwhile.
 * @example
 * ```ts
 * import { EndpointError, openAiCompatible } from 'countersign/agent'
 *
 * const baseURL = process.env.OPENAI_BASE_URL ?? 'https://models.example.com/v1'
 * const endpoint = openAiCompatible({ baseURL: `${baseURL}/missing`, allow: [new URL(baseURL).host] })
 * const error = await endpoint.chat.completions.create({ model: 'm', messages: [] }).catch((thrown) => thrown)
 * if (error instanceof EndpointError) console.log(error.status) // 404
 * ```
 */
export class EndpointError extends Error {
  readonly status: number
  readonly headers: Headers

  constructor(message: string, { status, headers }: { status: number; headers: Headers }) {
    super(message)
    this.name = 'EndpointError'
    this.status = status
    this.headers = headers
  }
}

const MESSAGE_MAX_CHARS = 1_000
const STREAM_END = '[DONE]'

/**
 * Creates a client for an endpoint with OpenAI's chat format that connects only to hosts in `allow`. Throws `invalid-allow`; a call throws `EndpointError`,
 * `address-refused`, `redirect-refused`, `response-too-large`.
 * @example
 * ```ts
 * import { agent, open, openAiCompatible, openAiModel } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const baseURL = process.env.OPENAI_BASE_URL ?? 'https://models.example.com/v1'
 * const endpoint = openAiCompatible({ baseURL, apiKey: 'secret', allow: [new URL(baseURL).host] })
 * const model = openAiModel(endpoint, { model: 'local' })
 * const { text } = await cs.run({ name: 'ask' }, async () => agent({ model, tools: [] }).generate({ prompt: 'Say hello.' }))
 * console.log(text)
 * ```
 */
export function openAiCompatible(options: EndpointOptions): EndpointClient {
  const baseURL = new URL(options.baseURL).href.replace(/\/+$/, '')
  const fetch = trustedFetch(options)
  const headers = {
    ...(options.apiKey !== undefined && { authorization: `Bearer ${options.apiKey}` }),
    ...options.headers,
    'content-type': 'application/json',
  }
  const create = async (request: ChatRequest, { signal }: AskOptions = {}): Promise<unknown> => {
    const response = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(request),
      ...(signal !== undefined && { signal }),
    })
    if (!response.ok) throw await errorOf(response)
    return request.stream === true ? chunksOf(response) : parseJson(await response.text())
  }
  return { baseURL, chat: { completions: { create } } } as EndpointClient
}

async function* chunksOf({ body }: Response): AsyncGenerator<JsonObject, void> {
  if (body === null) return
  for await (const data of sseData(readAll(body))) {
    if (data === STREAM_END) return
    const chunk = parseJson(data) as JsonObject
    if (chunk.error !== undefined) throw new Error(`the endpoint broke off: ${JSON.stringify(chunk.error)}`)
    yield chunk
  }
}

async function errorOf(response: Response): Promise<EndpointError> {
  const text = await response.text().catch(() => '')
  return new EndpointError(`${response.status} ${text.slice(0, MESSAGE_MAX_CHARS)}`.trim(), response)
}
