/** @module `trackOllama` tracks the `ollama` client, or one of its shape. */
import { checkModelSettings } from './check-model.ts'

import { countIn, type Dialect, type Fields, fieldsIn } from './dialect.ts'
import type { ModelSettings } from './model-settings.ts'
import type { ModelUsage } from './price-table.ts'
import { askAnswer, askChunks } from './requests.ts'
import { trackClient } from './track-client.ts'

const PROVIDER = 'ollama'

/**
 * Returns the same client, with its type: inside a run, budget is reserved for `chat` and `generate`, streamed or not, and the calls are recorded and served.
 * For a locally hosted model set `price: 'free'`, because no model is assumed to be free. Any other method that would cost money is refused (`not-tracked`).
 * @example
 * ```ts
 * import { open, trackOllama } from 'countersign/agent'
 * import { Ollama } from 'ollama'
 *
 * await using cs = await open({ path: ':memory:' })
 * const ollama = trackOllama(new Ollama({ host: process.env.OLLAMA_HOST ?? 'http://127.0.0.1:11434' }), { price: 'free', maxOutputTokens: 500 })
 * const text = await cs.run({ name: 'ask', budget: { tokens: 2_000 } }, async () => {
 *   const { message } = await ollama.chat({ model: 'llama3.2', messages: [{ role: 'user', content: 'Say hello.' }] })
 *   return message.content
 * })
 * console.log(text)
 * ```
 */
export function trackOllama<Client extends object>(client: Client, settings: ModelSettings = {}): Client {
  checkModelSettings('trackOllama', settings)
  const ask = (dial: (...args: readonly unknown[]) => unknown, [input]: readonly unknown[]) => {
    const request = fieldsIn(input)
    // The client modifies the request it receives, and supports no abort signal except the stream's own `abort`.
    const asking = {
      dialect: OLLAMA,
      settings,
      request,
      dial: (body: Fields, signal: AbortSignal) => dialled(dial({ ...body }), signal),
    }
    return request.stream === true ? askChunks(asking) : askAnswer(asking)
  }
  return trackClient(client, {
    provider: PROVIDER,
    calls: { chat: ask, generate: ask },
    helpers: new Set(),
    clients: new Set(),
    free: /^(list|show|ps|version|abort|pull|push|create|delete|copy|encodeImage)$/,
  })
}

async function dialled(answer: unknown, signal: AbortSignal): Promise<unknown> {
  const value = await answer
  const { abort } = fieldsIn(value)
  const stop = (): void => {
    if (typeof abort === 'function') Reflect.apply(abort, value, [])
  }
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  return value
}

/** https://github.com/ollama/ollama/blob/main/docs/api.md; a negative `num_predict` is not a limit. */
const OLLAMA: Dialect = {
  provider: PROVIDER,
  boundIn: ({ options }) => countIn(fieldsIn(options).num_predict),
  bounded: (request, bound) => ({ ...request, options: { ...fieldsIn(request.options), num_predict: bound } }),
  askingUsage: (request) => request,
  usage: usageIn,
  streamUsage: (chunks) => usageIn(chunks.findLast(({ done }) => done === true) ?? {}),
  shown: (chunk) => chunk,
}

/** Ollama does not report the token count of a prompt that was entirely in its cache. */
function usageIn({ prompt_eval_count, eval_count }: Fields): ModelUsage | undefined {
  const outputTokens = countIn(eval_count)
  return outputTokens === undefined ? undefined : { inputTokens: countIn(prompt_eval_count) ?? 0, outputTokens }
}
