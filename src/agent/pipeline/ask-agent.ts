/** @module Calls an agent of any kind and reads its answer. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { Usage } from '../../../schemas/values.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import { AgentError } from '../errors.ts'
import { defaultPrompt } from './default-prompt.ts'
import { delegatedIn, delegatedText, type HandedOver } from './delegated.ts'
import type { GeneratingAgent, StepAgent, StepContext, StepOptions } from './step-types.ts'

export interface Answer extends HandedOver {
  /** The text whose tokens are counted: the answer, or the JSON of the payload. */
  readonly text: string
  /** Set if the agent reports its usage. */
  readonly usage?: Usage
}

/** Whether the agent determines the order of its calls; equal calls are then distinguished by position. */
export function isFramework(agent: StepAgent): boolean {
  return typeof agent !== 'function'
}

/** Asks an agent for its answer to a step. Throws `invalid-agent`, `invalid-output`, and the agent's errors. */
export async function askAgent(
  agent: StepAgent,
  request: { readonly slice: JsonObject; readonly context: StepContext },
  { input, output }: Pick<StepOptions, 'input' | 'output'>,
): Promise<Answer> {
  const { slice, context } = request
  const result = await call(agent, slice, { context, prepared: input?.(slice, context) })
  const usage = usageIn(result)
  const reads = isFramework(agent) && isGenerating(agent) ? generated : textIn
  const value = output === undefined ? reads(result) : output(result)
  const delegated = delegatedIn(
    typeof value === 'string' ? { text: value } : objectOf(value, context.agent),
    context.agent,
  )
  return {
    ...delegated,
    text: typeof value === 'string' ? value : delegatedText(delegated),
    ...(usage !== undefined && { usage }),
  }
}

function call(agent: StepAgent, slice: JsonObject, at: { context: StepContext; prepared: unknown }): unknown {
  const { context, prepared } = at
  const { signal, findings, ...reported } = context
  if (typeof agent === 'function') return agent(slice, context)
  if (isGenerating(agent)) {
    const query = prepared ?? defaultPrompt(slice, context)
    const options = typeof query === 'string' ? { prompt: query } : (query as object)
    return agent.generate({ ...options, abortSignal: signal } as never)
  }
  if ('invoke' in agent && typeof agent.invoke === 'function') {
    const again = findings.length === 0 ? slice : { ...slice, findings }
    return agent.invoke((prepared ?? again) as never, { signal, metadata: { ...reported, findings } } as never)
  }
  throw new AgentError('invalid-agent', `${context.agent} is no function and has neither invoke nor generate`)
}

/** LangChain's chat models have `invoke` and an unrelated `generate`. */
function isGenerating(agent: StepAgent): agent is GeneratingAgent {
  return 'generate' in agent && typeof agent.generate === 'function' && !('invoke' in agent)
}

/** The answer within a result with further members: `output` if it is an object, otherwise `text`. */
function generated(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result
  const output = tried(() => (result as { output?: unknown }).output)
  if (typeof output === 'object' && output !== null) return output
  return 'text' in result && typeof result.text === 'string' ? result.text : result
}

/** The text of a LangChain message, which has many other members. */
function textIn(result: unknown): unknown {
  return typeof result === 'object' && result !== null && isMessage(result) ? textOf(result.content) : result
}

function isMessage(result: object): result is { readonly content: unknown } {
  return 'content' in result && 'getType' in result && typeof result.getType === 'function'
}

/** Joins the text blocks of a message's content. */
function textOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content
  return content.map((block: { text?: unknown }) => (typeof block.text === 'string' ? block.text : '')).join('')
}

/** `output` of the AI SDK throws if there is none. */
function tried(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return undefined
  }
}

function objectOf(value: unknown, agent: string): JsonObject {
  const recorded = recordable(value, undefined, CALL_VALUE)
  if (recorded.ok && isJsonObject(recorded.value)) return recorded.value
  const reason = recorded.ok ? `it gave ${nameOf(recorded.value)}` : recorded.reason
  throw new AgentError('invalid-output', `an agent gives a JSON object or a text; ${agent}: ${reason}`, { agent })
}

function nameOf(value: Json): string {
  if (value === null) return 'nothing'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** AI SDK: `totalUsage` over all its turns, or `usage`. LangChain: `usage_metadata`. */
function usageIn(result: unknown): Usage | undefined {
  if (typeof result !== 'object' || result === null) return undefined
  const { totalUsage, usage, usage_metadata: metadata, finishReason } = result as Record<string, unknown>
  if (isMessage(result)) return usageOf(metadata, ['input_tokens', 'output_tokens', 'total_tokens'])
  if (finishReason === undefined) return undefined
  return usageOf(totalUsage ?? usage, ['inputTokens', 'outputTokens', 'totalTokens'])
}

function usageOf(usage: unknown, [input, output, total]: readonly [string, string, string]): Usage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const counts = usage as Record<string, unknown>
  const [inputTokens, outputTokens] = [countOf(counts[input]), countOf(counts[output])]
  const tokens = countOf(counts[total]) ?? (inputTokens ?? 0) + (outputTokens ?? 0)
  if (tokens === 0) return undefined
  return {
    tokens,
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
  }
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
