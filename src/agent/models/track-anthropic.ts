/** @module `trackAnthropic` tracks the `@anthropic-ai/sdk` client, or one of its shape. */
import { checkModelSettings } from './check-model.ts'
import { type Fields, fieldsIn } from './dialect.ts'
import { MESSAGES } from './messages-dialect.ts'
import type { ModelSettings } from './model-settings.ts'
import { errorsOf } from './provider-failure.ts'
import { askAnswer, askChunks, callersSignal } from './requests.ts'
import { trackClient } from './track-client.ts'
import { trackedPromise } from './tracked-promise.ts'

const PROVIDER = MESSAGES.provider

/**
 * Returns the same client, with its type: inside a run, budget is reserved for `messages.create`, streamed or not, and for the helpers built on it
 * (`messages.stream`, `messages.parse`), and the calls are recorded and served. The client's own retries are off; the runtime retries, with a reservation for
 * each attempt. Any other method that would cost money is refused (`not-tracked`): use the bare client for it.
 * @example
 * ```ts
 * import Anthropic from '@anthropic-ai/sdk'
 * import { open, trackAnthropic } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const anthropic = trackAnthropic(new Anthropic(), { agent: 'writer' })
 * const used = await cs.run({ name: 'ask', budget: { tokens: 2_000 } }, async () => {
 *   const message = await anthropic.messages.create({
 *     model: 'claude-sonnet-4-5',
 *     max_tokens: 500,
 *     messages: [{ role: 'user', content: 'Say hello.' }],
 *   })
 *   return message.usage.output_tokens
 * })
 * console.log(used)
 * ```
 */
export function trackAnthropic<Client extends object>(client: Client, settings: ModelSettings = {}): Client {
  checkModelSettings('trackAnthropic', settings)
  const errors = errorsOf(client)
  const create = (dial: (...args: readonly unknown[]) => unknown, args: readonly unknown[]) => {
    const [request, options] = args.map(fieldsIn)
    const asking = {
      dialect: MESSAGES,
      settings,
      errors,
      request: request ?? {},
      dial: (body: Fields, signal: AbortSignal) =>
        dial(body, { ...options, maxRetries: 0, signal: callersSignal(options, signal) }),
    }
    return trackedPromise<unknown>(request?.stream === true ? askChunks(asking) : askAnswer(asking))
  }
  return trackClient(client, {
    provider: PROVIDER,
    calls: { 'messages.create': create },
    helpers: new Set(['messages.stream', 'messages.parse']),
    clients: new Set(['withOptions']),
    free: /^(models|beta\.models)\.|(^|\.)(retrieve|list|delete|cancel|countTokens)$/,
  })
}
