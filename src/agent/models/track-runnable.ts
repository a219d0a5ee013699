/** @module `trackRunnable` wraps chat models and other Runnables of LangChain (`@langchain/core` from version 1) and enforces budgets. */

import { type Json, parseJson } from '../../../schemas/json.ts'
import { aName, callable } from '../option-rules.ts'
import { askModel } from './ask-model.ts'
import { checkModelSettings } from './check-model.ts'
import { loaded, type Method, type RunnableSettings, usageOfMessage, withoutIds } from './lang-chain.ts'
import { generated, streamed } from './lang-chain-model.ts'
import { bytesOf } from './model-settings.ts'
import { placeOfModelCall } from './track-client.ts'

/**
 * Returns the same Runnable, with its type. For a chat model, budget is reserved for each call, streamed or not, wherever the model is in a chain, and the call
 * is recorded and served; models derived from it (`bindTools`, `withStructuredOutput`) are tracked as well. Any other Runnable is one call: its input is the
 * request and its output the answer, which a stream delivers in one piece. Prices are found by `provider` and `model` as passed here. An output limit that the
 * model itself does not have cannot be sent: if it has none, `maxOutputTokens` is reserved in full.
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

/** Methods that derive a model from a model. */
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
      // A model's own event stream would bypass the two methods above; the base class builds its stream from them.
      if (key === '_streamChatModelEvents') return base._streamChatModelEvents
      const value: unknown = Reflect.get(raw, key, receiver)
      return typeof value === 'function' && BUILDERS.test(String(key)) ? rewrapped(value as Method, settings) : value
    },
  })
  tracked.add(proxy)
  return proxy
}

/** Some models return a new object when tools are bound to them, which must be tracked as well. */
function rewrapped(method: Method, settings: RunnableSettings): Method {
  return function (this: unknown, ...args: readonly unknown[]): unknown {
    return trackedWithin(Reflect.apply(method, this, args), settings)
  }
}

/** Tracks a model, or the model inside a RunnableBinding, which holds a model with its configuration. */
function trackedWithin(input: unknown, settings: RunnableSettings): unknown {
  if (typeof input !== 'object' || input === null || tracked.has(input)) return input
  if (typeof Reflect.get(input, '_generate') === 'function') return trackChatModel(input, settings)
  const bound: unknown = Reflect.get(input, 'bound')
  if (bound !== undefined) Reflect.set(input, 'bound', trackedWithin(bound, settings))
  return input
}

/** The base chat model: the topmost prototype that defines `_streamResponseChunks`. */
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
    // Joined as LangChain joins streamed values: they are concatenated, or the last one is used if they cannot be.
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
