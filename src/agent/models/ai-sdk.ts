/**
 * @module `aiSdkMiddleware` tracks language and embedding models of the AI SDK (`ai` from version 6, V3) through `wrapLanguageModel` and `wrapEmbeddingModel`.
 */

import type { Json } from '../../../schemas/json.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { AgentError } from '../errors.ts'
import { thrownText } from '../thrown.ts'
import { askModel, type ModelAsk, type ModelCallContext } from './ask-model.ts'
import { askStream } from './ask-stream.ts'
import { checkModelSettings } from './check-model.ts'
import { countIn, type Fields, fieldsIn } from './dialect.ts'
import { jsonable } from './jsonable.ts'
import { bytesOf, type ModelSettings } from './model-settings.ts'
import type { ModelUsage } from './price-table.ts'
import { isRetryable } from './provider-errors.ts'
import { placeOfModelCall } from './track-client.ts'
import { readAll, toWebStream } from './tracked-promise.ts'

interface GenerateOptions<Result> {
  readonly params: object
  readonly model: {
    readonly provider: string
    readonly modelId: string
    doGenerate(params: never): PromiseLike<Result>
  }
}

interface StreamResult<Part> {
  stream: ReadableStream<Part>
}

interface StreamOptions<Part> {
  readonly params: object
  readonly model: {
    readonly provider: string
    readonly modelId: string
    doStream(params: never): PromiseLike<StreamResult<Part>>
  }
}

interface EmbedOptions<Result> {
  readonly params: object
  readonly model: {
    readonly provider: string
    readonly modelId: string
    doEmbed(params: never): PromiseLike<Result>
  }
}

/** The shape of a LanguageModelV3Middleware and of an EmbeddingModelV3Middleware. */
export interface AiSdkMiddleware {
  readonly specificationVersion: 'v3'
  readonly wrapGenerate: <Result>(options: GenerateOptions<Result>) => Promise<Result>
  readonly wrapStream: <Part>(options: StreamOptions<Part>) => Promise<StreamResult<Part>>
  readonly wrapEmbed: <Result>(options: EmbedOptions<Result>) => Promise<Result>
}

/**
 * Middleware for `wrapLanguageModel({model, middleware: aiSdkMiddleware()})` and `wrapEmbeddingModel`: inside a run, budget is reserved for each `doGenerate`,
 * `doStream` and `doEmbed`, and the call is recorded and served. The runtime retries; after the last retry it throws an error that the SDK does not retry. Prices are
 * found by the model's own `provider` and `modelId`. Bodies and headers of the exchange are not recorded.
 * @example
 * ```ts
 * import { generateText, wrapLanguageModel } from 'ai'
 * import { MockLanguageModelV3 } from 'ai/test'
 * import { aiSdkMiddleware, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const bare = new MockLanguageModelV3({
 *   doGenerate: async () => ({
 *     content: [{ type: 'text', text: 'hello' }],
 *     finishReason: { unified: 'stop', raw: 'stop' },
 *     usage: {
 *       inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
 *       outputTokens: { total: 1, text: 1, reasoning: undefined },
 *     },
 *     warnings: [],
 *   }),
 * })
 * const model = wrapLanguageModel({ model: bare, middleware: aiSdkMiddleware({ maxOutputTokens: 100 }) })
 * console.log(await cs.run({ name: 'ask' }, async () => (await generateText({ model, prompt: 'Say hello.' })).text))
 * ```
 */
export function aiSdkMiddleware(settings: ModelSettings = {}): AiSdkMiddleware {
  checkModelSettings('aiSdkMiddleware', settings)
  return {
    specificationVersion: 'v3',
    wrapGenerate: ({ model, params }) => generate(model, params, settings),
    wrapStream: ({ model, params }) => stream(model, params, settings),
    wrapEmbed: ({ model, params }) => {
      const ask = { ...modelAskOf(model, params, settings), operation: 'embeddings', outputTokens: 0 } as const
      return answered(ask, {
        call: (context) => model.doEmbed(sent(params, { ...context, maxOutputTokens: undefined })),
        usage: ({ tokens }) => usageIn({ inputTokens: { total: tokens }, outputTokens: { total: 0 } }),
      })
    },
  }
}

function generate<Result>(
  model: GenerateOptions<Result>['model'],
  params: object,
  settings: ModelSettings,
): Promise<Result> {
  const call = (context: ModelCallContext): PromiseLike<Result> => model.doGenerate(sent(params, context))
  return answered(modelAskOf(model, params, settings), { call, usage: usageIn })
}

function answered<Result>(
  ask: ModelAsk,
  {
    call,
    usage,
  }: {
    readonly call: (context: ModelCallContext) => PromiseLike<Result>
    readonly usage: (usage: Fields) => ModelUsage | undefined
  },
): Promise<Result> {
  const pending = askModel<Result>(placeOfModelCall(`${ask.provider}/${ask.model}`), {
    ...ask,
    call: async (context) => call(context),
    usage: (result) => usage(fieldsIn(fieldsIn(result).usage)),
    toJson: (result) => jsonable(recordable(result), 'the result'),
    fromJson: (json) => withDate(fieldsIn(json)) as Result,
  })
  return pending.catch(enough)
}

async function stream<Part>(
  model: StreamOptions<Part>['model'],
  params: object,
  settings: ModelSettings,
): Promise<StreamResult<Part>> {
  const ask = modelAskOf(model, params, settings)
  const query = askStream<Part>(placeOfModelCall(`${ask.provider}/${ask.model}`), {
    ...ask,
    open: async (context) => readAll((await model.doStream(sent(params, context))).stream),
    usage: (parts) => usageIn(fieldsIn(parts.findLast((part) => fieldsIn(part).type === 'finish')).usage),
    toJson: (part) => jsonable(part, 'a part of the stream'),
    fromJson: (json) => partWithDate(fieldsIn(json)) as Part,
  })
  return { stream: toWebStream(await query.catch(enough)) }
}

function modelAskOf(
  { provider, modelId }: { readonly provider: string; readonly modelId: string },
  params: object,
  settings: ModelSettings,
) {
  const { abortSignal: _, headers: __, ...request } = params as Fields
  const json = jsonable(request, `the request to ${provider}/${modelId}`)
  const count = settings.countTokens ?? bytesOf
  return {
    provider,
    model: modelId,
    request: json,
    inputTokens: count(JSON.stringify(json)),
    outputTokens: countIn(request.maxOutputTokens),
    settings,
  }
}

function sent(params: object, { maxOutputTokens, signal }: ModelCallContext): never {
  const { abortSignal } = params as Fields
  const both = abortSignal instanceof AbortSignal ? linkedSignal(signal, abortSignal) : signal
  return { ...params, ...(maxOutputTokens !== undefined && { maxOutputTokens }), abortSignal: both } as never
}

/** Omits the raw request, body and headers, which the provider's package adds for debugging. */
function recordable(result: unknown): unknown {
  const { request: _, response, ...rest } = fieldsIn(result)
  const { body: __, headers: ___, ...metadata } = fieldsIn(response)
  return response === undefined ? rest : { ...rest, response: metadata }
}

function withDate(result: Fields): Fields {
  return result.response === undefined ? result : { ...result, response: dated(fieldsIn(result.response)) }
}

function partWithDate(part: Fields): Fields {
  return part.type === 'response-metadata' ? dated(part) : part
}

function dated(metadata: Fields): Fields {
  return typeof metadata.timestamp === 'string' ? { ...metadata, timestamp: new Date(metadata.timestamp) } : metadata
}

function usageIn(usage: unknown): ModelUsage | undefined {
  const { inputTokens, outputTokens } = fieldsIn(usage)
  const input = fieldsIn(inputTokens)
  const [inputSum, outputSum] = [countIn(input.total), countIn(fieldsIn(outputTokens).total)]
  if (inputSum === undefined || outputSum === undefined) return undefined
  const [cachedInputTokens, cacheWriteTokens] = [countIn(input.cacheRead), countIn(input.cacheWrite)]
  return {
    inputTokens: inputSum,
    outputTokens: outputSum,
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
  }
}

/** The SDK retries errors marked as retryable; the runtime has already done so, with reservations, so such an error is wrapped in one that is not. */
function enough(error: unknown): never {
  if (!isRetryable(error)) throw error
  const message = thrownText(error)
  throw new AgentError('model-failed', message, { retryable: true } satisfies Json, { cause: error })
}
