/** @module A streamed model call: chunks are passed on as they arrive, and the call is settled when the stream ends. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import type { CallTrace } from '../calls/call-trace.ts'
import { RecordedFailure } from '../errors.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { ChunkFeed, type ChunkSource } from '../streams/chunk-feed.ts'
import { untilAborted } from '../streams/until-aborted.ts'
import {
  calledModel,
  type ModelAsk,
  type ModelCallContext,
  modelSpec,
  type Opened,
  repeatedRequestPlace,
  type Used,
} from './ask-model.ts'
import { chunksOnRecord, requestOnRecord, servedFrom } from './model-record.ts'
import { bytesOf } from './model-settings.ts'
import { soundUsage } from './model-usage.ts'
import type { ModelUsage } from './price-table.ts'
import { textIn } from './stream-texts.ts'

export interface StreamAsk<Chunk> extends ModelAsk {
  /** Connects to the provider and returns the chunks; an abort of the context's signal ends them. */
  readonly open: (context: ModelCallContext) => Promise<AsyncIterable<Chunk>>
  /** The usage that the JSON chunks report. */
  readonly usage: (chunks: readonly Json[]) => ModelUsage | undefined
  /** The chunk as the caller receives it; undefined for a chunk that the caller did not request. */
  readonly shown?: (chunk: Chunk) => Chunk | undefined
  readonly toJson: (chunk: Chunk) => Json
  readonly fromJson: (json: Json) => Chunk | Promise<Chunk>
}

/** Resolves with the chunks when the provider answers; a served stream makes no connection. Throws like `askModel`. */
export async function askStream<Chunk>(
  execution: ExecutionContext,
  ask: StreamAsk<Chunk>,
  origin = execution,
): Promise<AsyncIterable<Chunk>> {
  const { session } = execution
  const stream = new LiveStream(ask, () => session.halted !== undefined)
  const trace: CallTrace = { attempts: 0 }
  const args = requestOnRecord(ask, ask.settings)
  const spec = { ...modelSpec(execution, ask, stream), isEarly: true } as const
  const call = calledModel(execution, spec, args, trace)
  return new Promise((resolve, reject) => {
    stream.begin(call, (chunks) => {
      session.parts.opened(execution, spec.name, call)
      resolve(chunks)
    })
    // Once the stream is live, its reader learns of the end from the stream itself.
    call
      .then(
        (value) => stream.live ?? servedStream(origin, ask, { value, trace }),
        (error: unknown) => stream.live ?? brokenThen(error, ask.fromJson),
      )
      .then(resolve, reject)
  })
}

class LiveStream<Chunk> {
  readonly #ask: StreamAsk<Chunk>
  readonly #isHalted: ChunkSource['isHalted']
  #settled: Promise<unknown> = Promise.resolve()
  #give: (stream: AsyncIterable<Chunk>) => void = () => undefined
  /** All chunks as JSON; these are copies, because a reader may modify a chunk. */
  #chunks: Json[] | undefined
  /** The chunks that the caller receives. */
  #shown: Json[] = []
  /** The stream that the caller reads, set once the provider has answered. */
  live: AsyncIterable<Chunk> | undefined

  constructor(ask: StreamAsk<Chunk>, isHalted: ChunkSource['isHalted']) {
    this.#ask = ask
    this.#isHalted = isHalted
  }

  begin(settled: Promise<unknown>, give: (stream: AsyncIterable<Chunk>) => void): void {
    this.#settled = settled
    this.#give = give
  }

  readonly execute = async (context: ModelCallContext): Promise<JsonObject> => {
    const stopping = new AbortController()
    const signal = linkedSignal(context.signal, stopping.signal)
    const source = await this.#ask.open({ ...context, signal })
    const { shown = (chunk) => chunk, toJson, fromJson, settings } = this.#ask
    const chunks: Json[] = []
    const remaining: Json[] = []
    this.#chunks = chunks
    this.#shown = remaining
    const feed = new ChunkFeed<Chunk>({ stop: () => stopping.abort(), isHalted: this.#isHalted })
    feed.endWith(this.#settled)
    this.live = feed
    this.#give(feed)
    // If the reader stops, the stream ends: the chunks up to then are the recorded answer.
    for await (const chunk of untilAborted(source, signal)) {
      const json = toJson(chunk)
      chunks.push(json)
      const inputs = shown(chunk)
      if (inputs === undefined) continue
      const recorded = inCanonicalOrder(inputs === chunk ? json : toJson(inputs))
      remaining.push(recorded)
      // The reader gets a copy, because it may modify the chunk.
      feed.push(await fromJson(inCanonicalOrder(recorded)))
    }
    return chunksOnRecord(remaining, settings)
  }

  readonly used = (): Used => {
    const chunks = this.#chunks ?? []
    const reported = soundUsage(this.#ask.usage(chunks))
    return reported === undefined
      ? { tokens: this.#counted(chunks), estimated: true }
      : { tokens: reported, estimated: false }
  }

  readonly failed = (): Opened => {
    const chunks = this.#chunks
    if (chunks === undefined) return { opened: false, used: undefined }
    const received = chunksOnRecord(this.#shown, this.#ask.settings)
    return { opened: true, used: this.#counted(chunks), received }
  }

  #counted(chunks: readonly Json[]): ModelUsage {
    const { inputTokens, settings } = this.#ask
    const count = settings.countTokens ?? bytesOf
    return { inputTokens, outputTokens: count(textIn(chunks)) }
  }
}

function servedStream<Chunk>(
  origin: ExecutionContext,
  ask: StreamAsk<Chunk>,
  { value, trace }: { value: Json; trace: CallTrace },
): AsyncIterable<Chunk> | Promise<AsyncIterable<Chunk>> {
  const served = servedFrom(value)
  if (served.kind === 'chunks') return revived(served.chunks, ask.fromJson)
  return askStream(repeatedRequestPlace(origin, ask, trace), ask, origin)
}

/** Serves a stream that broke when it was recorded: its chunks, then its error, while it is read. */
function brokenThen<Chunk>(error: unknown, fromJson: StreamAsk<Chunk>['fromJson']): AsyncIterable<Chunk> {
  const details = error instanceof RecordedFailure ? (error.evidence as JsonObject | undefined) : undefined
  if (details?.broken !== true) throw error
  const served = servedFrom(details.received ?? null)
  return revived(served.kind === 'chunks' ? served.chunks : [], fromJson, { error })
}

async function* revived<Chunk>(
  chunks: readonly Json[],
  fromJson: StreamAsk<Chunk>['fromJson'],
  failure?: { readonly error: unknown },
): AsyncGenerator<Chunk, void> {
  for (const chunk of chunks) yield await fromJson(chunk)
  if (failure !== undefined) throw failure.error
}
