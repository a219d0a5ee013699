/** @module The dialect of OpenAI's chat completions, and of compatible providers. Pure. */
import { countIn, type Dialect, type Fields, fieldsIn } from './dialect.ts'
import type { ModelUsage } from './price-table.ts'

/** https://platform.openai.com/docs/api-reference/chat */
export function chatDialect(provider: string): Dialect {
  return {
    provider,
    boundIn: (request) => {
      const bound = countIn(request.max_completion_tokens) ?? countIn(request.max_tokens)
      return bound === undefined ? undefined : bound * choicesIn(request)
    },
    bounded: (request, bound) => ({
      ...request,
      max_completion_tokens: Math.max(1, Math.floor(bound / choicesIn(request))),
    }),
    askingUsage: (request) => ({
      ...request,
      stream_options: { ...fieldsIn(request.stream_options), include_usage: true },
    }),
    usage: ({ usage }) => chatUsage(usage),
    streamUsage: (chunks) =>
      chatUsage(chunks.findLast(({ usage }) => typeof usage === 'object' && usage !== null)?.usage),
    shown: (chunk, request) => {
      if (fieldsIn(request.stream_options).include_usage === true || !('usage' in chunk)) return chunk
      const { usage, ...rest } = chunk
      if (usage === null) return rest
      return Array.isArray(chunk.choices) && chunk.choices.length === 0 ? undefined : chunk
    },
  }
}

function choicesIn({ n }: Fields): number {
  return Math.max(1, countIn(n) ?? 1)
}

export const chatUsage = (usage: unknown): ModelUsage | undefined => openAiUsage(usage, 'prompt', 'completion')

/** Reads usage in both OpenAI formats: `prompt`/`completion` tokens (chat completions) and `input`/`output` tokens (responses). */
export function openAiUsage(usage: unknown, into: string, out: string): ModelUsage | undefined {
  const counts = fieldsIn(usage)
  const [inputTokens, outputTokens] = [countIn(counts[`${into}_tokens`]), countIn(counts[`${out}_tokens`])]
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const cachedInputTokens = countIn(fieldsIn(counts[`${into}_tokens_details`]).cached_tokens)
  return { inputTokens, outputTokens, ...(cachedInputTokens !== undefined && { cachedInputTokens }) }
}
