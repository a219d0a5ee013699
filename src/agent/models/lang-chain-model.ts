/** @module Tracks a LangChain chat model at its two innermost methods, through which all its calls pass. */
import type { Json } from '../../../schemas/json.ts'
import { askModel, type ModelAsk, type ModelCallContext } from './ask-model.ts'
import { askStream } from './ask-stream.ts'
import { countIn, type Fields, fieldsIn } from './dialect.ts'
import { jsonable } from './jsonable.ts'
import { loaded, type Method, type RunnableSettings, usageOfChunks, usageOfMessage, withoutIds } from './lang-chain.ts'
import { bytesOf } from './model-settings.ts'
import { callersSignal } from './requests.ts'
import { placeOfModelCall } from './track-client.ts'

interface ChatCall {
  readonly chat: object
  readonly settings: RunnableSettings
  /** Messages, options and callbacks. */
  readonly args: readonly unknown[]
}

/** Replaces `_generate`. */
export async function generated({ chat, settings, args }: ChatCall): Promise<unknown> {
  const dial = Reflect.get(chat, '_generate') as Method
  return askModel<unknown>(placeOfModelCall(`${settings.provider}/${settings.model}`), {
    ...chatAsk({ chat, settings, args }),
    call: (context) => Reflect.apply(dial, chat, withSignal(args, context)),
    usage: (result) => {
      const { generations, llmOutput } = fieldsIn(result)
      return usageOfMessage(fieldsIn((generations as readonly Fields[])[0]).message, llmOutput)
    },
    toJson: (result) => jsonable(result, 'the answer'),
    fromJson: async (json) => {
      const { generations, ...rest } = fieldsIn(json)
      const revived = (generations as readonly Fields[]).map((each) => revivedGeneration(each, settings))
      return { ...rest, generations: await Promise.all(revived) }
    },
  })
}

/** Replaces `_streamResponseChunks`. */
export async function* streamed({ chat, settings, args }: ChatCall): AsyncGenerator<unknown, void> {
  const dial = Reflect.get(chat, '_streamResponseChunks') as Method
  const [, , callbacks] = args
  yield* await askStream<unknown>(placeOfModelCall(`${settings.provider}/${settings.model}`), {
    ...chatAsk({ chat, settings, args }),
    open: (context) => begun(Reflect.apply(dial, chat, withSignal(args, context)) as AsyncIterable<unknown>),
    usage: (chunks) => usageOfChunks(chunks.map(fieldsIn)),
    toJson: (chunk) => jsonable(chunk, 'a chunk'),
    fromJson: async (json) => {
      const chunk = asChunk(await revivedGeneration(fieldsIn(json), settings))
      // Notifies the listeners of each piece, as the model itself does.
      const tell = fieldsIn(callbacks).handleLLMNewToken
      if (typeof tell === 'function')
        await Reflect.apply(tell, callbacks, [chunk.text, undefined, undefined, undefined, undefined, { chunk }])
      return chunk
    },
  })
}

/** A chat model connects when its first chunk is read, and has answered nothing before that came. */
async function begun<T>(chunks: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  const iterator = chunks[Symbol.asyncIterator]()
  return startingWith(await iterator.next(), iterator)
}

async function* startingWith<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncGenerator<T, void> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

function chatAsk({ chat, settings, args: [messages, options] }: ChatCall): ModelAsk {
  const { provider, model } = settings
  const params = invocationParams(chat, options)
  const { stop } = fieldsIn(options)
  const request = {
    messages: withoutIds(messages, `the messages to ${provider}/${model}`),
    params: jsonable(params, 'the parameters'),
    ...(stop !== undefined && { stop: jsonable(stop, 'the stop words') }),
  } satisfies { readonly [name: string]: Json }
  const count = settings.countTokens ?? bytesOf
  return {
    provider,
    model,
    request,
    inputTokens: count(JSON.stringify(request)),
    outputTokens: boundIn(params) ?? boundIn(fieldsIn(chat)),
    // Each LangChain package names its output limit differently, so none can be set here.
    boundable: false,
    settings,
  }
}

function invocationParams(chat: object, options: unknown): Fields {
  const method = Reflect.get(chat, 'invocationParams') as Method | undefined
  return typeof method === 'function' ? fieldsIn(Reflect.apply(method, chat, [options])) : {}
}

const BOUNDS = [
  'max_completion_tokens',
  'max_tokens',
  'max_output_tokens',
  'maxOutputTokens',
  'maxTokens',
  'num_predict',
] as const

function boundIn(params: Fields): number | undefined {
  return BOUNDS.map((name) => countIn(params[name])).find((bound) => bound !== undefined)
}

function withSignal([messages, options, ...rest]: readonly unknown[], { signal }: ModelCallContext): unknown[] {
  return [messages, { ...fieldsIn(options), signal: callersSignal(fieldsIn(options), signal) }, ...rest]
}

async function revivedGeneration(generation: Fields, { load }: RunnableSettings): Promise<Fields> {
  return { ...generation, message: await loaded(load, generation.message as Json) }
}

interface Chunk extends Fields {
  readonly text: string
  readonly message: { concat(message: unknown): unknown }
}

/** A ChatGenerationChunk with the members that its readers use; it can be concatenated. */
function asChunk(fields: Fields): Chunk {
  const chunk = fields as Chunk
  return {
    ...chunk,
    concat: (more: Chunk) =>
      asChunk({
        text: chunk.text + more.text,
        generationInfo: { ...fieldsIn(chunk.generationInfo), ...fieldsIn(more.generationInfo) },
        message: chunk.message.concat(more.message),
      }),
  }
}
