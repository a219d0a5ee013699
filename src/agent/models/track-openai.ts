/** @module `trackOpenAI` tracks the `openai` client, or one of its shape. */

import type { ErrorClass } from '../calls/caught-error.ts'
import { aName } from '../option-rules.ts'
import { chatDialect, chatUsage, openAiUsage } from './chat-dialect.ts'
import { checkModelSettings } from './check-model.ts'
import { countIn, type Dialect, type Fields, fieldsIn } from './dialect.ts'
import type { ModelSettings } from './model-settings.ts'
import type { ModelUsage } from './price-table.ts'
import { errorsOf } from './provider-failure.ts'
import { askAnswer, askChunks, callersSignal } from './requests.ts'
import { type ClientMap, trackClient } from './track-client.ts'
import { trackedPromise } from './tracked-promise.ts'

/** Settings for tracking an `openai` client. */
export interface OpenAISettings extends ModelSettings {
  /** The provider's name in prices and in the record; default `openai`. For servers with a compatible API. */
  readonly provider?: string
}

/**
 * Returns the same client, with its type: inside a run, budget is reserved for `chat.completions.create` and `responses.create`, streamed or not,
 * `embeddings.create`, and the helpers built on them (`parse`, `stream`, `runTools`), and the calls are recorded and served. The client's own retries are off;
 * the runtime retries, with a reservation for each attempt. If a request sets no output limit, the reserved one is added. Any other method that would cost
 * money is refused (`not-tracked`): use the bare client for it.
 * @example
 * ```ts
 * import { open, trackOpenAI } from 'countersign/agent'
 * import OpenAI from 'openai'
 *
 * await using cs = await open({
 *   path: ':memory:',
 *   prices: { currency: 'USD', models: { 'openai/gpt-5-mini': { input: '0.25', output: '2' } } },
 * })
 * const openai = trackOpenAI(new OpenAI(), { agent: 'writer' })
 * const text = await cs.run({ name: 'ask', budget: { cost: '0.10 USD' } }, async () => {
 *   const { choices } = await openai.chat.completions.create({
 *     model: 'gpt-5-mini',
 *     max_completion_tokens: 500,
 *     messages: [{ role: 'user', content: 'Say hello.' }],
 *   })
 *   return choices[0]?.message.content ?? ''
 * })
 * console.log(text)
 * ```
 */
export function trackOpenAI<Client extends object>(client: Client, settings: OpenAISettings = {}): Client {
  checkModelSettings('trackOpenAI', settings, { provider: aName })
  const { provider = 'openai' } = settings
  return trackClient(client, openAiMap(provider, settings, errorsOf(client)))
}

function openAiMap(provider: string, settings: ModelSettings, errors: readonly ErrorClass[]): ClientMap {
  const tracked = (dialect: Dialect) => (dial: (...args: readonly unknown[]) => unknown, args: readonly unknown[]) => {
    const [request, options] = args.map(fieldsIn)
    const asking = {
      dialect,
      settings,
      errors,
      request: request ?? {},
      dial: (body: Fields, signal: AbortSignal) =>
        dial(body, { ...options, maxRetries: 0, signal: callersSignal(options, signal) }),
    }
    return trackedPromise<unknown>(request?.stream === true ? askChunks(asking) : askAnswer(asking))
  }
  return {
    provider,
    calls: {
      'chat.completions.create': tracked(chatDialect(provider)),
      'responses.create': tracked(responsesDialect(provider)),
      'embeddings.create': tracked(embeddingsDialect(provider)),
    },
    helpers: new Set([
      'chat.completions.parse',
      'chat.completions.stream',
      'chat.completions.runTools',
      'responses.parse',
      'responses.stream',
    ]),
    clients: new Set(['withOptions']),
    free: /^(models|files|uploads|vectorStores|webhooks)\.|(^|\.)(retrieve|list|delete|update|cancel|count)$/,
  }
}

/** https://platform.openai.com/docs/api-reference/responses; its streams always report usage, in their last event. */
function responsesDialect(provider: string): Dialect {
  return {
    provider,
    boundIn: ({ max_output_tokens }) => countIn(max_output_tokens),
    bounded: (request, bound) => ({ ...request, max_output_tokens: bound }),
    askingUsage: (request) => request,
    usage: ({ usage }) => responsesUsage(usage),
    streamUsage: (chunks) => responsesUsage(fieldsIn(chunks.at(-1)?.response).usage),
    shown: (chunk) => chunk,
  }
}

const responsesUsage = (usage: unknown): ModelUsage | undefined => openAiUsage(usage, 'input', 'output')

/** https://platform.openai.com/docs/api-reference/embeddings; the output consists of vectors, which are not charged. */
function embeddingsDialect(provider: string): Dialect {
  return {
    ...responsesDialect(provider),
    operation: 'embeddings',
    boundIn: () => 0,
    usage: ({ usage }) => chatUsage({ completion_tokens: 0, ...fieldsIn(usage) }),
  }
}
