/** @module Relays a streamed answer as it arrives and settles the call at its end, however it ends. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { INLINE_CEILING_BYTES } from '../../../schemas/value-forms.ts'
import type { Usage } from '../../../schemas/values.ts'
import { inFull } from '../../agent/calls/spending.ts'
import { type Rate, recordedUsage } from '../../agent/models/model-usage.ts'
import { onAbort } from '../../resources/linked-signal.ts'
import { AnswerReader, type ReaderOptions } from './answer-reader.ts'
import type { Outcome } from './model-calls.ts'
import type { ProjectedRequest } from './projected.ts'
import { type Clean, recordedChunks } from './recorded-exchange.ts'
import { leftCode } from './who-left.ts'

/** Maximum length of the answer kept with a failure: its event fits an append of every store. */
const RECEIVED_MAX_CHARS = INLINE_CEILING_BYTES / 8

export interface Relaying extends ReaderOptions {
  readonly body: ReadableStream<Uint8Array>
  readonly projected: ProjectedRequest
  readonly clean: Clean
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal
  /** Ends the request to the provider. */
  readonly stop: () => void
  /** Resolves to false if the outcome could not be recorded in time; the stream then ends as broken. */
  readonly settle: (outcome: Outcome) => Promise<boolean>
  /** Closes the client's connection; false if there is no connection to close. */
  readonly sever: () => boolean
  /** The reason why a stream broke, as text without addresses. */
  readonly reasonOf: (error: unknown) => string
}

type End = { readonly kind: 'over' | 'left' } | { readonly kind: 'broken'; readonly reason: string }

type Out = ReadableStreamDefaultController<Uint8Array>

export function relayedAnswer(relaying: Relaying): ReadableStream<Uint8Array> {
  const answer = new AnswerReader(relaying)
  const reader = relaying.body.getReader()
  let settled: Promise<boolean> | undefined
  const settle = (end: End): Promise<boolean> => {
    settled ??= relaying.settle(outcomeOf(answer, end, relaying))
    return settled
  }
  let failure: { readonly reason: string } | undefined
  const ended = async (out: Out, end: End): Promise<void> => {
    if ((await settle(end)) && end.kind === 'over') out.close()
    // After the connection was cut, the client cannot mistake the end of the stream for the end of a complete answer.
    else if (relaying.sever()) out.close()
    else out.error(new Error('the answer was cut'))
  }
  const pull = async (out: Out): Promise<void> => {
    for (;;) {
      if (failure !== undefined) return ended(out, { kind: 'broken', ...failure })
      const read = await reader.read().catch((error: unknown) => ({ reason: relaying.reasonOf(error) }))
      if ('reason' in read) failure = read
      const isOver = 'reason' in read || read.done
      const shown = isOver ? answer.end() : answer.push(read.value)
      for (const part of shown) out.enqueue(part)
      if (isOver && failure === undefined) return ended(out, { kind: 'over' })
      if (shown.length > 0) return
    }
  }
  const cancel = async (): Promise<void> => {
    const isLeft = settle({ kind: answer.isEnded ? 'over' : 'left' })
    relaying.stop()
    await reader.cancel().catch(() => undefined)
    await isLeft
  }
  // Also settles if the client never starts to read.
  if (relaying.gone.aborted) void cancel()
  else onAbort(relaying.gone, () => void cancel())
  return new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0 })
}

/**
 * The outcome as observed: a complete answer, the part that the client received before it disconnected, or a failure. The cost of a stream without an end
 * marker is unknown, so the whole reservation is charged.
 */
function outcomeOf(answer: AnswerReader, end: End, { projected, clean, gone }: Relaying): Outcome {
  const { rate, inputTokens, reserve } = projected
  const content = contentOf(answer, clean)
  const partial = (): Usage => recordedUsage(answer.reported() ?? answer.counted(inputTokens), rate, true)
  if (answer.error !== undefined)
    return failed(
      { code: 'provider-error', message: clean(answer.error) },
      { usage: usageOfBroken(answer, partial), content },
    )
  if (end.kind === 'left') return { result: { ...content, cut: leftCode(gone) }, usage: partial() }
  if (end.kind === 'broken' && !answer.isEnded)
    return failed({ code: 'stream-broken', message: clean(end.reason) }, { usage: partial(), content })
  if (answer.isEnded || answer.isFinished) return { result: content, ...usageOrAll(answer, projected) }
  const usage = inFull(reserve)
  return failed(
    { code: 'stream-without-end', message: 'the stream ended without the word of the provider that it is all' },
    { usage, content },
  )
}

/** A provider that reports an error before any content has used nothing, as with an error status. */
function usageOfBroken(answer: AnswerReader, partial: () => Usage): Usage | undefined {
  return answer.chunks.length > 1 || !answer.isComplete ? partial() : undefined
}

function usageOrAll(answer: AnswerReader, { rate, reserve }: ProjectedRequest): Pick<Outcome, 'usage'> {
  return { usage: usageOf(answer.reported(), rate) ?? inFull(reserve) }
}

function usageOf(reported: ReturnType<AnswerReader['reported']>, rate: Rate): Usage | undefined {
  return reported === undefined ? undefined : recordedUsage(reported, rate, false)
}

function contentOf(answer: AnswerReader, clean: Clean): JsonObject {
  if (!answer.isExact) return { ...answer.named(), kept: false }
  return { chunks: recordedChunks(answer.chunks, clean), ...(!answer.isComplete && { isPartial: true }) }
}

function failed(
  error: { readonly code: string; readonly message: string },
  { usage, content }: { readonly usage: Usage | undefined; readonly content: JsonObject },
): Outcome {
  const fits = JSON.stringify(content).length <= RECEIVED_MAX_CHARS
  const details: Json = { retryable: false, broken: true, ...(fits && { received: content }) }
  const message = error.message.slice(0, MESSAGE_MAX_CHARS)
  return { error: { ...error, message, details }, ...(usage !== undefined && { usage }) }
}

const MESSAGE_MAX_CHARS = 4_096
