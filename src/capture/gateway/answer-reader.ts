/** @module A streamed answer while it passes: what goes on to the client, and what is known of it for the record. Pure. */
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { fieldsIn } from '../../agent/models/dialect.ts'
import { soundUsage } from '../../agent/models/model-usage.ts'
import type { ModelUsage } from '../../agent/models/price-table.ts'
import { textIn } from '../../agent/models/stream-texts.ts'
import { dataOf, FrameCutter } from './frames.ts'
import { tokensIn } from './projected.ts'
import type { Provider } from './provider.ts'

export interface ReaderOptions {
  readonly provider: Provider
  readonly request: JsonObject
  /** The client did not ask for the frame that tells the usage: it is kept back. */
  readonly hidesUsage: boolean
  /** Characters of an answer that are kept for the record. */
  readonly keptChars?: number
}

/** Below what a value of the record may have, for it grows as it is packed and redacted. */
const KEPT_CHARS = 4 * 1024 * 1024

export class AnswerReader {
  readonly #options: ReaderOptions
  readonly #frames = new FrameCutter()
  readonly #chunks: Json[] = []
  /** Behind what is kept: the chunks that tell of usage. */
  readonly #late: Json[] = []
  #keptChars = 0
  #lateTokens = 0
  /** The provider said that this is all. */
  isEnded = false
  /** An answer was given to its end, whether or not the stream was. */
  isFinished = false
  /** What the provider said in the middle of its stream. */
  error: string | undefined

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** What the client gets of these bytes now. */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    const shown = this.#frames.push(bytes).filter((frame) => this.#read(frame))
    return this.#options.hidesUsage ? shown : [bytes]
  }

  /** What the client gets behind the last of the bytes. */
  end(): readonly Uint8Array[] {
    const rest = this.#frames.end()
    const isShown = rest.length > 0 && this.#read(rest)
    return isShown && this.#options.hidesUsage ? [rest] : []
  }

  get chunks(): readonly Json[] {
    return this.#chunks
  }

  /** Whether the record has all of it. */
  get isWhole(): boolean {
    return this.#late.length === 0 && this.#lateTokens === 0
  }

  get hasBegun(): boolean {
    return this.#chunks.length > 0
  }

  /** By the provider's own word, given at the end. */
  reported(): ModelUsage | undefined {
    return soundUsage(this.#options.provider.dialect.streamUsage([...this.#chunks, ...this.#late].map(fieldsIn)))
  }

  /** Counted here, of what came: the provider's word on the input where it began with that. */
  counted(inputTokens: number): ModelUsage {
    const outputTokens = tokensIn(textIn(this.#chunks)) + this.#lateTokens
    const begun = soundUsage(this.#options.provider.dialect.usage(fieldsIn(fieldsIn(this.#chunks[0]).message)))
    return begun === undefined ? { inputTokens, outputTokens } : { ...begun, outputTokens }
  }

  /** Whether the frame is shown to a client that did not ask for the usage. */
  #read(frame: Uint8Array): boolean {
    const data = dataOf(frame)
    if (data === undefined) return true
    const { provider, request } = this.#options
    const chunk = parseJsonOrUndefined(data)
    if (provider.isEnd(data, chunk)) this.isEnded = true
    if (!isJsonObject(chunk ?? null)) return true
    const fields = chunk as JsonObject
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
    // What follows is not on record either, so that the record has a beginning and no gaps.
    this.#keptChars = keptChars
    this.#lateTokens += tokensIn(textIn([chunk]))
    if (chunk.usage !== undefined && chunk.usage !== null) this.#late.splice(0, this.#late.length, chunk)
  }
}
