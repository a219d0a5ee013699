/** @module A turn of the model as a call on record: what it was newly told, and what it said. Served on resume and replay. */
import type { Json } from '../../../schemas/json.ts'
import type { Usage } from '../../../schemas/values.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { callTool } from '../calls/call.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import type { CallContext } from '../calls/tool-options.ts'
import { type ToolSpec, toolSpec } from '../calls/tool-spec.ts'
import { AgentError } from '../errors.ts'
import { type ExecutionContext, runWithin } from '../runtime/execution-context.ts'
import type { DescribedTool } from './describe-tools.ts'
import { messageFault, type Said } from './message-fault.ts'
import type { AssistantMessage, Message, Model, ModelFunction } from './messages.ts'

export interface NamedModel {
  readonly name: string
  readonly complete: ModelFunction
}

export function namedModel(model: Model): NamedModel {
  if (typeof model === 'function') return { name: model.name === '' ? 'model' : model.name, complete: model }
  return { name: model.name, complete: (...request) => model.complete(...request) }
}

/** The conversation, and how much of it the record has. */
export interface History {
  readonly messages: Message[]
  /** Messages that earlier turns have recorded. */
  told: number
  /** Of all that was recorded, chained: a turn is the same turn only after the same conversation. */
  digest: Json
}

interface ModelTurn {
  readonly leaseMs?: number | undefined
  readonly model: NamedModel
  readonly tools: ReadonlyMap<string, DescribedTool>
}

/** Puts what the model said at the end of the history. Throws `invalid-model-message`, and what the model threw. */
export async function askModel(
  execution: ExecutionContext,
  modelTurn: ModelTurn,
  history: History,
): Promise<AssistantMessage> {
  const { tools } = modelTurn
  const reported = kept(history.messages.slice(history.told))
  const after = history.digest
  const { step, ...here } = execution
  const args = { messages: reported, after, tools: [...tools.keys()] }
  // The step does not count the turn itself: a wrapped client inside counts its call, and else the answer tells what was used.
  const message = (await runWithin(here, () =>
    callTool(here, turnSpec(execution, modelTurn, history), args),
  )) as unknown
  const { usage } = message as AssistantMessage
  if (step !== undefined && usage !== undefined) step.modelCalls += 1
  history.digest = jsonDigest({ after, told: reported, said: message as Json })
  history.messages.push(message as AssistantMessage)
  history.told = history.messages.length
  return message as AssistantMessage
}

function turnSpec({ step }: ExecutionContext, { model, tools, leaseMs }: ModelTurn, { messages }: History): ToolSpec {
  const descriptions = [...tools.values()].map(({ description }) => description)
  const execute = async (_: unknown, { signal }: CallContext) =>
    said(model.name, await model.complete([...messages], descriptions, { signal }))
  const inputs = { name: `model:${model.name}`, input: undefined, takes: 'value', execute } as const
  return {
    // Asking again costs money and changes nothing.
    ...toolSpec(inputs, { compensate: 'not-needed', onUnknown: 'retry', ...(leaseMs !== undefined && { leaseMs }) }),
    phase: 'model',
    operation: { operation: 'chat', name: model.name },
    ...(step !== undefined && { agent: step.agent }),
    usage: (message) => usageOf(message as AssistantMessage, model.name),
    inside: { dedupe: 'position', ...(step !== undefined && { step }) },
  }
}

function usageOf({ usage }: AssistantMessage, model: string): Usage | undefined {
  return usage && { tokens: usage.inputTokens + usage.outputTokens, ...usage, model }
}

function said(name: string, answer: unknown): Json {
  const fault = messageFault(answer)
  if (fault !== undefined) {
    const { place, message } = fault
    throw new AgentError('invalid-model-message', `what ${name} said is no message at ${place}: ${message}`, { place })
  }
  const { content, toolCalls = [], usage } = answer as Said
  return {
    role: 'assistant',
    content: content ?? null,
    ...(toolCalls.length > 0 && {
      toolCalls: toolCalls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    }),
    ...(usage !== undefined && { usage: { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens } }),
  }
}

function kept(messages: readonly Message[]): Json {
  const recorded = recordable(messages, undefined, CALL_VALUE)
  if (recorded.ok) return recorded.value
  throw new AgentError('not-recordable', `the conversation cannot be recorded: ${recorded.reason}`)
}
