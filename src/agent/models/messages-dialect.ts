/** @module The dialect of Anthropic's messages API. Pure. */
import { countIn, type Dialect, type Fields, fieldsIn } from './dialect.ts'
import type { ModelUsage } from './price-table.ts'

/** https://docs.anthropic.com/en/api/messages; `max_tokens` is required there. */
export const MESSAGES: Dialect = {
  provider: 'anthropic',
  boundIn: ({ max_tokens }) => countIn(max_tokens),
  bounded: (request, bound) => ({ ...request, max_tokens: bound }),
  askingUsage: (request) => request,
  usage: ({ usage }) => usageIn(fieldsIn(usage)),
  streamUsage: (chunks) => {
    const started = chunks.find(({ type }) => type === 'message_start')
    const ended = chunks.findLast(({ type }) => type === 'message_delta')
    // The counts in `message_delta` are totals; a count that it omits keeps its value from `message_start`.
    return ended === undefined
      ? undefined
      : usageIn({ ...fieldsIn(fieldsIn(started?.message).usage), ...present(fieldsIn(ended.usage)) })
  },
  shown: (chunk) => chunk,
}

function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))
}

/** `input_tokens` excludes tokens that were read from or written to the cache. */
function usageIn(usage: Fields): ModelUsage | undefined {
  const [fresh, outputTokens] = [countIn(usage.input_tokens), countIn(usage.output_tokens)]
  if (fresh === undefined || outputTokens === undefined) return undefined
  const cachedInputTokens = countIn(usage.cache_read_input_tokens) ?? 0
  const cacheWriteTokens = countIn(usage.cache_creation_input_tokens) ?? 0
  return {
    inputTokens: fresh + cachedInputTokens + cacheWriteTokens,
    outputTokens,
    ...(cachedInputTokens > 0 && { cachedInputTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
  }
}
