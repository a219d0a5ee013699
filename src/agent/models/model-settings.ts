/** @module What an author may say of the model calls of a client, a middleware or a single call. */
import type { Json } from '../../../schemas/json.ts'
import type { Backoff } from '../calls/backoff.ts'
import type { Price } from './price-table.ts'

/** Settings of the model calls of a client, a middleware or a single call. */
export interface ModelSettings {
  /** Whose budget is charged; default: the writer's. */
  readonly agent?: string
  /** Price of these calls, in place of the table's; `'free'`: they cost nothing, as on a machine of one's own. */
  readonly price?: Price | 'free'
  /** The most that the model can answer with: the bound of a call that names none. */
  readonly maxOutputTokens?: number
  /**
   * Counts the tokens of a text, to project what goes in. Default: its UTF-8 bytes, which no tokenizer exceeds; a real tokenizer
   * reserves about a quarter of that.
   */
  readonly countTokens?: (text: string) => number
  /** `content` (the default), or digests alone: then a replay or a resume ends at this call, with `not-recorded`. */
  readonly record?: 'content' | 'digest'
  /** What a resume does at a call whose content is not on record; default `stop`. A replay always stops. */
  readonly onMissing?: 'stop' | 'call'
  /**
   * Applied to requests, answers and errors before they are recorded, and to each text of a stream as a whole. The code gets the real
   * answer while it runs, and the redacted one on resume and replay. What the code records of it elsewhere (arguments of tools, turns
   * of the loop, handoffs, the output of the run) is not covered.
   */
  readonly redact?: (value: Json) => Json
  /** Tries after the first where the provider is busy or out of reach; default 2. Each is reserved. */
  readonly retries?: number
  /** Default: exponential from 500 ms up to 8 s, with jitter; a provider's `Retry-After` goes first. */
  readonly backoff?: Backoff
  /** Milliseconds for one try, its stream included; default: none. */
  readonly timeout?: number
  /** Milliseconds; renewed while the call runs. After a crash a resume waits so long before it asks again. Default 60,000. */
  readonly leaseMs?: number
}

/** Texts have at most so many tokens: byte-level tokenizers never split a byte. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}
