/** @module Shared by the LangChain wrappers: messages as JSON and back, and model usage. LangChain objects are recognised by shape, without an import. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { countIn, type Fields, fieldsIn } from './dialect.ts'
import { jsonable } from './jsonable.ts'
import type { ModelSettings } from './model-settings.ts'
import type { ModelUsage } from './price-table.ts'

/** `load` of `@langchain/core/load`, which restores messages from the record. */
export type LoadMessages = (text: string) => Promise<unknown>

/** Settings for tracking a Runnable: its provider and model, as in the price table, and the function that restores its messages from the record. */
export interface RunnableSettings extends ModelSettings {
  /** The provider's name in prices and in the record, such as `openai`. */
  readonly provider: string
  readonly model: string
  /** `load` of `@langchain/core/load`. */
  readonly load: LoadMessages
}

export type Method = (...args: readonly unknown[]) => unknown

/** LangChain objects serialise themselves in a form with the member `lc`. */
export function loaded(load: LoadMessages, json: Json): Promise<unknown> | Json {
  return fieldsIn(json).lc === undefined ? json : load(JSON.stringify(json))
}

/** Removes the ids of messages, because LangChain generates new ones each time a run is executed. */
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

/** The usage in a message, or else in the result that contains it. */
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

/** Sums the usage over the chunks, each of which reports only its own share. */
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
