/** @module `trackRunnable`: chat models and other Runnables of LangChain (`@langchain/core` from version 1), wrapped and enforcing. */

import { type Json, parseJson } from '../../../schemas/json.ts'
import { aName, callable } from '../option-rules.ts'
import { askModel } from './ask-model.ts'
import { checkModelSettings } from './check-model.ts'
import { loaded, type Method, type RunnableSettings, usageOfMessage, withoutIds } from './lang-chain.ts'
import { generated, streamed } from './lang-chain-model.ts'
import { bytesOf } from './model-settings.ts'
import { placeOfModelCall } from './track-client.ts'

/**
 * The same Runnable, with its type. A chat model is reserved, recorded and served by call, streamed or not, wherever it is in a
 * chain, and what it makes of itself (`bindTools`, `withStructuredOutput`) is tracked as well. Any other Runnable is one call: its
 * input is the request, its output the answer, which a stream gives in one piece. Prices are found by `provider` and `model` as passed
 * here. A bound that the model itself does not have cannot be sent: where it has none, `maxOutputTokens` is reserved in full.
 * @example
 * ```ts
 * import { load } from '@langchain/core/load'
 * import { FakeListChatModel } from '@langchain/core/utils/testing'
 * import { open, trackRunnable } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const chat = trackRunnable(new FakeListChatModel({ responses: ['hello'] }), {
 *   ...{ provider: 'fake', model: 'list', maxOutputTokens: 50 },
 *   load,
 * })
 * console.log(await cs.run({ name: 'ask' }, async () => String((await chat.invoke('Say hello.')).content)))
 * ```
 */
export function trackRunnable<Target extends object>(runnable: Target, settings: RunnableSettings): Target {
  checkModelSettings('trackRunnable', settings, { provider: aName, model: aName, load: callable })
  return typeof Reflect.get(runnable, '_generate') === 'function'
    ? trackChatModel(runnable, settings)
    : trackWhole(runnable, settings)
}

/** Methods that make a model of a model. */
const BUILDERS = /^(bind|with)/

const tracked = new WeakSet<object>()

function trackChatModel<Target extends object>(chat: Target, settings: RunnableSettings): Target {
  const base = baseOf(chat)
  const streams = Reflect.get(chat, '_streamResponseChunks') !== base._streamResponseChunks
  const proxy = new Proxy(chat, {
    get: (raw, key, receiver) => {
      if (key === '_generate') return (...args: readonly unknown[]) => generated({ chat: raw, settings, args })
      if (key === '_streamResponseChunks' && streams) {
        return (...args: readonly unknown[]) => streamed({ chat: raw, settings, args })
      }
      // A model's own event stream would go around the two above: the base's is made of them.
      if (key === '_streamChatModelEvents') return base._streamChatModelEvents
      const value: unknown = Reflect.get(raw, key, receiver)
      return typeof value === 'function' && BUILDERS.test(String(key)) ? rewrapped(value as Method, settings) : value
    },
  })
  tracked.add(proxy)
  return proxy
}

/** Some models give a new one where they are bound to tools: it is the same model. */
function rewrapped(method: Method, settings: RunnableSettings): Method {
  return function (this: unknown, ...args: readonly unknown[]): unknown {
    return trackedWithin(Reflect.apply(method, this, args), settings)
  }
}

/** A model, or what holds one together with its configuration (a RunnableBinding). */
function trackedWithin(input: unknown, settings: RunnableSettings): unknown {
  if (typeof input !== 'object' || input === null || tracked.has(input)) return input
  if (typeof Reflect.get(input, '_generate') === 'function') return trackChatModel(input, settings)
  const bound: unknown = Reflect.get(input, 'bound')
  if (bound !== undefined) Reflect.set(input, 'bound', trackedWithin(bound, settings))
  return input
}

/** The members that every chat model begins with: those of the eldest that has them. */
function baseOf(chat: object): { readonly _streamResponseChunks?: unknown; readonly _streamChatModelEvents?: unknown } {
  let base: object = chat
  for (let each: unknown = chat; typeof each === 'object' && each !== null; each = Object.getPrototypeOf(each)) {
    if (Object.hasOwn(each, '_streamResponseChunks')) base = each
  }
  return base
}

function trackWhole<Target extends object>(runnable: Target, settings: RunnableSettings): Target {
  const invoke = (input: unknown, options?: unknown): Promise<unknown> => invoked(runnable, settings, [input, options])
  async function* once(input: unknown, options?: unknown): AsyncGenerator<unknown, void> {
    yield await invoke(input, options)
  }
  const members: Readonly<Record<string, unknown>> = {
    invoke,
    _streamIterator: once,
    // Joined as LangChain joins what comes in pieces: by the last of them, where they cannot be added.
    transform: async function* (inputs: AsyncIterable<unknown>, options?: unknown) {
      let input: unknown
      for await (const each of inputs) input = input === undefined ? each : added(input, each)
      yield* once(input, options)
    },
    batch: (inputs: readonly unknown[], options?: unknown) =>
      Promise.all(inputs.map((input, i) => invoke(input, Array.isArray(options) ? options[i] : options))),
  }
  return new Proxy(runnable, {
    get: (raw, key, receiver) =>
      typeof key === 'string' && Object.hasOwn(members, key) ? members[key] : Reflect.get(raw, key, receiver),
  })
}

function added(input: unknown, more: unknown): unknown {
  if (typeof input === 'string' && typeof more === 'string') return input + more
  const concat: unknown = typeof input === 'object' && input !== null ? Reflect.get(input, 'concat') : undefined
  return typeof concat === 'function' ? Reflect.apply(concat, input, [more]) : more
}

function invoked(runnable: object, settings: RunnableSettings, [input, options]: readonly unknown[]): Promise<unknown> {
  const { provider, model } = settings
  const request = withoutIds(input, `the input of ${provider}/${model}`)
  const count = settings.countTokens ?? bytesOf
  const dial = Reflect.get(runnable, 'invoke') as Method
  return askModel<unknown>(placeOfModelCall(`${provider}/${model}`), {
    provider,
    model,
    request,
    inputTokens: count(JSON.stringify(request)),
    outputTokens: undefined,
    boundable: false,
    settings,
    call: () => Reflect.apply(dial, runnable, [input, options]),
    usage: (output) => usageOfMessage(output),
    toJson: (output) => withIds(output),
    fromJson: async (json) => loaded(settings.load, json),
  })
}

const withIds = (output: unknown): Json => parseJson(JSON.stringify(output) ?? 'null')
