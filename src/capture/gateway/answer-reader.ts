/** @module Reads a streamed answer while it is relayed: the bytes for the client, and the content and usage for the record. Pure. */
import { createHash } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { fieldsIn } from '../../agent/models/dialect.ts'
import { soundUsage } from '../../agent/models/model-usage.ts'
import type { ModelUsage } from '../../agent/models/price-table.ts'
import { textIn } from '../../agent/models/stream-texts.ts'
import { dataOf, FrameCutter } from './frames.ts'
import { tokensIn } from './projected.ts'
import type { Provider } from './provider.ts'
import { isExact } from './recorded-exchange.ts'

export interface ReaderOptions {
  readonly provider: Provider
  readonly request: JsonObject
  /** The client did not request the frame that reports usage, so it is withheld. */
  readonly hidesUsage: boolean
  /** Maximum number of characters of an answer that are kept for the record. */
  readonly keptChars?: number
}

/** Less than the limit for a recorded value, because the answer grows when it is packed and redacted. */
const KEPT_CHARS = 4 * 1024 * 1024

export class AnswerReader {
  readonly #options: ReaderOptions
  readonly #frames = new FrameCutter()
  readonly #hash = createHash('sha256')
  #bytes = 0
  readonly #chunks: Json[] = []
  /** Chunks with usage that arrived after the kept part. */
  readonly #late: Json[] = []
  #keptChars = 0
  #lateTokens = 0
  /** The record can say what the chunks say. */
  isExact = true
  /** The provider has marked the end of the stream. */
  isEnded = false
  /** The answer was complete, even if the stream was not. */
  isFinished = false
  /** An error that the provider reported within its stream. */
  error: string | undefined

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** Returns the bytes to send to the client now. */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    this.#hash.update(bytes)
    this.#bytes += bytes.byteLength
    const shown = this.#frames.push(bytes).filter((frame) => this.#read(frame))
    return this.#options.hidesUsage ? shown : [bytes]
  }

  /** Returns the bytes to send to the client after the last input. */
  end(): readonly Uint8Array[] {
    const rest = this.#frames.end()
    const isShown = rest.length > 0 && this.#read(rest)
    return isShown && this.#options.hidesUsage ? [rest] : []
  }

  /** The digest and size of what the provider sent so far. */
  named(): { readonly digest: string; readonly bytes: number } {
    return { digest: `sha256:${this.#hash.copy().digest('hex')}`, bytes: this.#bytes }
  }

  get chunks(): readonly Json[] {
    return this.#chunks
  }

  /** Whether all of the answer is kept for the record. */
  get isComplete(): boolean {
    return this.#late.length === 0 && this.#lateTokens === 0
  }

  /** Usage reported by the provider at the end of the stream. */
  reported(): ModelUsage | undefined {
    return soundUsage(this.#options.provider.dialect.streamUsage([...this.#chunks, ...this.#late].map(fieldsIn)))
  }

  /** Usage counted here from the received chunks; the input count comes from the provider if the stream began with it. */
  counted(inputTokens: number): ModelUsage {
    const outputTokens = tokensIn(textIn(this.#chunks)) + this.#lateTokens
    const begun = soundUsage(this.#options.provider.dialect.usage(fieldsIn(fieldsIn(this.#chunks[0]).message)))
    return begun === undefined ? { inputTokens, outputTokens } : { ...begun, outputTokens }
  }

  /** Returns whether the frame is shown to a client that did not request usage. */
  #read(frame: Uint8Array): boolean {
    const data = dataOf(frame)
    if (data === undefined) return true
    const { provider, request } = this.#options
    const chunk = parseJsonOrUndefined(data)
    if (provider.isEnd(data, chunk)) this.isEnded = true
    if (!isJsonObject(chunk ?? null)) return true
    const fields = chunk as JsonObject
    this.isExact &&= isExact(Buffer.from(data))
    this.error ??= provider.errorIn(fields)
    this.isFinished ||= provider.isFinish(fields)
    this.#keep(fields, data.length)
    return provider.dialect.shown(fields, request) !== undefined
  }

  #keep(chunk: JsonObject, chars: number): void {
    const { keptChars = KEPT_CHARS } = this.#options
    if (this.#keptChars + chars <= keptChars) {
      this.#keptChars += chars
      this.#chunks.push(chunk)
      return
    }
    // Later chunks are not kept either, so that the record is a prefix of the answer without gaps.
    this.#keptChars = keptChars
    this.#lateTokens += tokensIn(textIn([chunk]))
    if (chunk.usage !== undefined && chunk.usage !== null) this.#late.splice(0, this.#late.length, chunk)
  }
}
