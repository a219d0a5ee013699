/** @module A result that arrives in parts: passed on as they arrive, and recorded as a whole (RUN-74, RUN-75). */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { INLINE_CEILING_BYTES, VALUE_CEILING_BYTES } from '../../../schemas/value-forms.ts'
import type { Failure } from '../../../schemas/values.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { Codecs } from '../calls/codecs.ts'
import { recordable } from '../calls/recordable.ts'
import { AgentError, RecordedFailure } from '../errors.ts'
import { ChunkFeed, type ChunkSource } from './chunk-feed.ts'
import { untilAborted } from './until-aborted.ts'

/** Maximum size of the parts kept with a failure: with the rest of its event they fit an append of every store. */
const RECEIVED_MAX_BYTES = INLINE_CEILING_BYTES / 2

const NO_CODECS = new Codecs()

export interface PartStreamOptions extends Pick<ChunkSource, 'isHalted'> {
  readonly codecs?: Codecs
}

export class PartStream {
  readonly #codecs: Codecs
  readonly #stopping = new AbortController()
  /** Readers get the parts as the record will hold them, so that a resume shows them the same parts. */
  readonly feed: ChunkFeed<unknown>
  readonly #received: Json[] = []
  #bytes = 0
  /** Number of parts that fit into the record of a failure. */
  #fitting = 0

  constructor({ codecs = NO_CODECS, isHalted }: PartStreamOptions) {
    this.#codecs = codecs
    this.feed = new ChunkFeed({ stop: () => this.#stopping.abort(), isHalted })
  }

  /** A signal for the source: aborted with `signal`, and when all readers stop. */
  endedBy(signal: AbortSignal): AbortSignal {
    return linkedSignal(signal, this.#stopping.signal)
  }

  /**
   * Reads the source to its end, with or without a reader; if the reader stops, it ends there, and the parts so far are the result. `opened` is called at the
   * first part.
   */
  async collect(source: AsyncIterable<unknown>, signal: AbortSignal, opened?: () => void): Promise<readonly unknown[]> {
    for await (const part of untilAborted(source, this.endedBy(signal))) {
      const recorded = recordable(part, this.#codecs)
      if (!recorded.ok) throw new AgentError('not-recordable', `a part cannot be recorded: ${recorded.reason}`)
      this.#bytes += Buffer.byteLength(JSON.stringify(recorded.value)) + 1
      if (this.#bytes > VALUE_CEILING_BYTES)
        throw new AgentError('not-recordable', `the parts have more than ${VALUE_CEILING_BYTES} bytes together`)
      this.#received.push(recorded.value)
      if (this.#bytes <= RECEIVED_MAX_BYTES) this.#fitting += 1
      this.feed.push(this.#codecs.decode(recorded.value))
      if (this.#received.length === 1) opened?.()
    }
    return this.#received.map((json) => this.#codecs.decode(json))
  }

  /** Adds the parts received before a failure to it, as far as its event has room for them. */
  failure(failure: Failure): Failure {
    if (this.#received.length === 0) return failure
    const details = typeof failure.details === 'object' && failure.details !== null ? failure.details : {}
    const received = this.#received.slice(0, this.#fitting)
    return { ...failure, details: { ...details, parts: this.#received.length, received } }
  }
}

/** Parts by error: an error of any class may be created from a failure, and has no member for them. */
const received = new WeakMap<object, readonly Json[]>()

/** Notes for `receivedBefore` the parts in the failure from which the error was created. */
export function keepReceived<E extends object>(error: E, { details }: Failure): E {
  const kept = receivedIn(details)
  if (kept.length > 0) received.set(error, kept)
  return error
}

/** Parts that were received before a recorded failure. */
export function receivedBefore(error: unknown): readonly Json[] {
  if (!(error instanceof Error)) return []
  return received.get(error) ?? (error instanceof RecordedFailure ? receivedIn(error.evidence) : [])
}

function receivedIn(details: Json | undefined): readonly Json[] {
  const kept = isJsonObject(details ?? null) ? (details as JsonObject).received : undefined
  return Array.isArray(kept) ? kept : []
}

/** The recorded parts, from the first one for each reader, followed by the error that they ended with, if any. */
export function servedParts<Part>(parts: readonly Part[], failure?: { readonly error: unknown }): AsyncIterable<Part> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* parts
      if (failure !== undefined) throw failure.error
    },
  }
}

/** Web streams are recognised as well. */
export function isPartSource(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
