/** @module What the LangChain parts have in common: messages as JSON and back, and what their models used. Read by shape: no import. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { countIn, type Fields, fieldsIn } from './dialect.ts'
import { jsonable } from './jsonable.ts'
import type { ModelSettings } from './model-settings.ts'
import type { ModelUsage } from './price-table.ts'

/** `load` of `@langchain/core/load`: it brings messages back from the record. */
export type LoadMessages = (text: string) => Promise<unknown>

/** How a Runnable is tracked: its provider and model, as prices name them, and how its messages come back from the record. */
export interface RunnableSettings extends ModelSettings {
  /** As prices and the record name it, such as `openai`. */
  readonly provider: string
  readonly model: string
  /** `load` of `@langchain/core/load`. */
  readonly load: LoadMessages
}

export type Method = (...args: readonly unknown[]) => unknown

/** Parts of LangChain serialise themselves in this form (`lc`). */
export function loaded(load: LoadMessages, json: Json): Promise<unknown> | Json {
  return fieldsIn(json).lc === undefined ? json : load(JSON.stringify(json))
}

/** Messages without their ids: LangChain makes new ones in each life of a run. */
export function withoutIds(value: unknown, what: string): Json {
  return stripped(jsonable(value, what))
}

function stripped(value: Json): Json {
  if (Array.isArray(value)) return value.map((each) => stripped(each as Json))
  if (typeof value !== 'object' || value === null) return value
  const { kwargs, ...rest } = value as JsonObject
  const members = Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, stripped(member)]))
  if (rest.lc === undefined || kwargs === undefined)
    return kwargs === undefined ? members : { ...members, kwargs: stripped(kwargs) }
  const { id: _, ...found } = fieldsIn(kwargs) as JsonObject
  return { ...members, kwargs: stripped(found) }
}

/** Of a message, or of the result that it came in. */
export function usageOfMessage(message: unknown, llmOutput?: unknown): ModelUsage | undefined {
  const { usage_metadata } = fieldsIn(message)
  const { input_tokens, output_tokens, input_token_details } = fieldsIn(usage_metadata)
  const reported = counted(input_tokens, output_tokens)
  if (reported !== undefined) {
    const { cache_read, cache_creation } = fieldsIn(input_token_details)
    const [cachedInputTokens, cacheWriteTokens] = [countIn(cache_read), countIn(cache_creation)]
    return {
      ...reported,
      ...(cachedInputTokens !== undefined && { cachedInputTokens }),
      ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    }
  }
  const { promptTokens, completionTokens } = fieldsIn(fieldsIn(llmOutput).tokenUsage)
  return counted(promptTokens, completionTokens)
}

function counted(input: unknown, output: unknown): ModelUsage | undefined {
  const [inputTokens, outputTokens] = [countIn(input), countIn(output)]
  return inputTokens === undefined || outputTokens === undefined ? undefined : { inputTokens, outputTokens }
}

/** Counts of the pieces add up: each says what came with it. */
export function usageOfChunks(chunks: readonly Fields[]): ModelUsage | undefined {
  const reported = chunks.flatMap((chunk) => usageOfMessage(fieldsIn(fieldsIn(chunk.message).kwargs)) ?? [])
  if (reported.length === 0) return undefined
  const sum = (of: (usage: ModelUsage) => number | undefined): number =>
    reported.reduce((all, each) => all + (of(each) ?? 0), 0)
  return {
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cachedInputTokens: sum(({ cachedInputTokens }) => cachedInputTokens),
    cacheWriteTokens: sum(({ cacheWriteTokens }) => cacheWriteTokens),
  }
}
