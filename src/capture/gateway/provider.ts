/**
 * @module Properties of each provider for the gateway: paths, the header for its key, end-of-stream markers and error format. Usage is read by the runtime's
 * dialects.
 */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { chatDialect } from '../../agent/models/chat-dialect.ts'
import { countIn, type Dialect, fieldsIn } from '../../agent/models/dialect.ts'
import { MESSAGES } from '../../agent/models/messages-dialect.ts'
import type { ProviderName } from './gateway-file.ts'

/** A refusal by the gateway itself. `code` is stable. */
export interface GatewayError {
  readonly status: number
  readonly code: string
  readonly message: string
  /** Whether the same request may be retried unchanged; the clients of both providers honour this. */
  readonly retry?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

export interface Provider {
  readonly name: ProviderName
  readonly dialect: Dialect
  /** Path below the version. */
  readonly modelPath: string
  /** Paths that cost nothing and are forwarded with the provider's key. */
  readonly freePaths: readonly string[]
  readonly keyHeader: (key: string) => readonly [name: string, value: string]
  /** The member to set in a request so that its stream reports usage; undefined if streams always do. */
  readonly usageOption?: { readonly member: string; readonly value: JsonObject }
  /** Number of answers requested at once. */
  readonly choices: (request: JsonObject) => number
  /** Whether a frame of a stream marks its end. */
  readonly isEnd: (data: string, chunk: Json | undefined) => boolean
  /** Whether a chunk of a stream shows that the answer is complete. */
  readonly isFinish: (chunk: JsonObject) => boolean
  /** The error reported by a chunk of a stream, if any. */
  readonly errorIn: (chunk: JsonObject) => string | undefined
  readonly errorBody: (error: GatewayError) => JsonObject
}

const openai: Provider = {
  name: 'openai',
  dialect: chatDialect('openai'),
  modelPath: '/chat/completions',
  freePaths: ['/models'],
  keyHeader: (key) => ['authorization', `Bearer ${key}`],
  usageOption: { member: 'stream_options', value: { include_usage: true } },
  choices: ({ n }) => Math.max(1, countIn(n) ?? 1),
  isEnd: (data) => data === '[DONE]',
  isFinish: ({ choices }) =>
    Array.isArray(choices) && choices.some((choice: Json) => typeof fieldsIn(choice).finish_reason === 'string'),
  errorIn: ({ error }) => (error === undefined || error === null ? undefined : messageIn(error)),
  errorBody: ({ status, code, message }) => ({
    error: { message, type: OPENAI_TYPES[status] ?? typeOf(status), param: null, code },
  }),
}

const OPENAI_TYPES: Readonly<Record<number, string>> = { 429: 'insufficient_quota' }
const typeOf = (status: number): string => (status >= 500 ? 'server_error' : 'invalid_request_error')

const anthropic: Provider = {
  name: 'anthropic',
  dialect: MESSAGES,
  modelPath: '/messages',
  freePaths: ['/models'],
  keyHeader: (key) => ['x-api-key', key],
  choices: () => 1,
  isEnd: (_, chunk) => fieldsIn(chunk).type === 'message_stop',
  isFinish: ({ type }) => type === 'message_stop',
  errorIn: ({ type, error }) => (type === 'error' ? messageIn(error ?? null) : undefined),
  errorBody: ({ status, code, message }) => ({
    type: 'error',
    error: { type: ANTHROPIC_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error'), message, code },
  }),
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
}

export const PROVIDERS: Readonly<Record<ProviderName, Provider>> = { openai, anthropic }

function messageIn(error: Json): string {
  const { message } = fieldsIn(error)
  return typeof message === 'string' ? message : JSON.stringify(error)
}

export function errorResponse(provider: Provider, error: GatewayError): Response {
  const { status, retry = false, headers } = error
  return Response.json(provider.errorBody(error), {
    status,
    headers: { 'cache-control': 'no-store', 'x-should-retry': String(retry), ...headers },
  })
}
