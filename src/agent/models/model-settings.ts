/** @module Settings that an author can give for the model calls of a client, a middleware or a single call. */
import type { Json } from '../../../schemas/json.ts'
import type { Backoff } from '../calls/backoff.ts'
import type { Price } from './price-table.ts'

/** Settings of the model calls of a client, a middleware or a single call. */
export interface ModelSettings {
  /** The agent whose budget is charged; default: the writer's. */
  readonly agent?: string
  /** Price of these calls, in place of the price table; `'free'`: they cost nothing, as with a locally hosted model. */
  readonly price?: Price | 'free'
  /** Maximum output of the model in tokens, used as the limit of a call that sets none. */
  readonly maxOutputTokens?: number
  /**
   * Counts the tokens of a text, to estimate the input. The default is its number of UTF-8 bytes, which no tokenizer exceeds; a real tokenizer reserves about a
   * quarter of that.
   */
  readonly countTokens?: (text: string) => number
  /** `content` (the default), or `digest` for digests only: a replay or resume then ends at this call, with `not-recorded`. */
  readonly record?: 'content' | 'digest'
  /** How a resume handles a call whose content is not recorded; default `stop`. A replay always stops. */
  readonly onMissing?: 'stop' | 'call'
  /**
   * Applied to requests, answers and errors before they are recorded, and to each text of a stream as a whole. The code receives the real answer while it runs,
   * and the redacted one on resume and replay. Copies that the code itself records (arguments of tools, turns of the loop, handoffs, the output of the run) are
   * not redacted.
   */
  readonly redact?: (value: Json) => Json
  /** Number of retries if the provider is busy or unreachable; default 2. Budget is reserved for each attempt. */
  readonly retries?: number
  /** Default: exponential from 500 ms up to 8 s, with jitter; a longer `Retry-After` of the provider takes precedence. */
  readonly backoff?: Backoff
  /** Timeout of one attempt including its stream, in milliseconds; default: none. */
  readonly timeout?: number
  /** Lease in milliseconds, renewed while the call runs. After a crash, a resume waits this long before it repeats the request. Default 60,000. */
  readonly leaseMs?: number
}

/** Upper bound for the tokens of a text: byte-level tokenizers never split a byte. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}
