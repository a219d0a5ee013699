/** @module A turn of the model as a recorded call: the new part of its input, and its answer. Served from the record on resume and replay. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import type { Usage } from '../../../schemas/values.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { callTool } from '../calls/call.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import type { CallContext } from '../calls/tool-options.ts'
import { type ToolSpec, toolSpec } from '../calls/tool-spec.ts'
import { AgentError, failureOf } from '../errors.ts'
import { type ExecutionContext, runWithin } from '../runtime/execution-context.ts'
import { isPartSource, PartStream, receivedBefore } from '../streams/part-stream.ts'
import type { DescribedTool } from './describe-tools.ts'
import { type MessageFault, type ModelMessage, messageFault, partFault } from './message-fault.ts'
import type { AssistantMessage, Message, Model, ModelFunction, ModelPart } from './messages.ts'

export interface NamedModel {
  readonly name: string
  readonly complete: ModelFunction
}

export function namedModel(model: Model): NamedModel {
  if (typeof model === 'function') return { name: model.name === '' ? 'model' : model.name, complete: model }
  return { name: model.name, complete: (...request) => model.complete(...request) }
}

/** The conversation, and how much of it has been recorded. */
export interface History {
  readonly messages: Message[]
  /** Number of messages that earlier turns recorded. */
  recorded: number
  /** Chained digest of everything recorded: a turn matches only after the same conversation. */
  digest: Json
}

interface ModelTurn {
  readonly leaseMs?: number | undefined
  /** The caller reads the texts as they arrive. */
  readonly isRead?: boolean
  readonly model: NamedModel
  readonly tools: ReadonlyMap<string, DescribedTool>
}

/** Yields the texts as they arrive, and appends the model's message to the history. Throws `invalid-model-message`, and errors of the model. */
export async function* askModel(
  execution: ExecutionContext,
  modelTurn: ModelTurn,
  history: History,
): AsyncGenerator<string, AssistantMessage> {
  const { tools, model } = modelTurn
  const reported = asRecorded(history.messages.slice(history.recorded))
  const after = history.digest
  const { step, ...here } = execution
  const args = { messages: reported, after, tools: [...tools.keys()] }
  const { session } = execution
  const stream = new PartStream({ isHalted: () => session.halted !== undefined })
  // The step does not count this call: a wrapped client inside counts its own calls; otherwise the usage in the answer is counted below.
  const settled = runWithin(here, () => callTool(here, turnSpec(execution, modelTurn, { history, stream }), args))
  const opened = () => {
    if (modelTurn.isRead === true) session.parts.opened(here, model.name, settled)
  }
  const recorded = yield* readAlong(stream, settled as Promise<Json>, opened)
  const { parts: _, ...message } = recorded as unknown as AssistantMessage & { readonly parts?: unknown }
  const { usage } = message
  if (step !== undefined && usage !== undefined) step.modelCalls += 1
  history.digest = jsonDigest({ after, told: reported, said: message as unknown as Json })
  history.messages.push(message)
  history.recorded = history.messages.length
  return message
}

/** Yields the texts of a live turn as they arrive, or the recorded texts of a served turn. */
async function* readAlong(
  stream: PartStream,
  settled: Promise<Json>,
  opened: () => void,
): AsyncGenerator<string, Json> {
  stream.feed.endWith(settled)
  try {
    let isFirst = true
    for await (const part of stream.feed) {
      if (isFirst) opened()
      isFirst = false
      const text = textOf(part)
      if (text !== undefined) yield text
    }
  } catch (error) {
    if (stream.feed.isEmpty) yield* receivedBefore(error).flatMap((part) => textOf(part) ?? [])
    throw error
  }
  const recorded = await settled
  if (stream.feed.isEmpty) yield* textsOf(recorded)
  return recorded
}

function turnSpec(
  { step }: ExecutionContext,
  { model, tools, leaseMs, isRead = false }: ModelTurn,
  { history, stream }: { readonly history: History; readonly stream: PartStream },
): ToolSpec {
  const descriptions = [...tools.values()].map(({ description }) => description)
  const execute = async (_: unknown, { signal: ending }: CallContext) => {
    const signal = stream.endedBy(ending)
    const answer = await model.complete([...history.messages], descriptions, { signal, stream: isRead })
    return isPartSource(answer)
      ? messageInParts(model.name, await stream.collect(answer, signal))
      : assistantMessage(model.name, answer)
  }
  const inputs = { name: `model:${model.name}`, input: undefined, takes: 'value', execute } as const
  return {
    // A repeated request costs money but has no other effect.
    ...toolSpec(inputs, { compensate: 'not-needed', onUnknown: 'retry', ...(leaseMs !== undefined && { leaseMs }) }),
    phase: 'model',
    operation: { operation: 'chat', name: model.name },
    failure: (error) => stream.failure(failureOf(error)),
    ...(step !== undefined && { agent: step.agent }),
    usage: (message) => usageOf(message as AssistantMessage, model.name),
    inside: { dedupe: 'position', ...(step !== undefined && { step }) },
  }
}

function usageOf({ usage }: AssistantMessage, model: string): Usage | undefined {
  return usage && { tokens: usage.inputTokens + usage.outputTokens, ...usage, model }
}

function mustBeFaultless(name: string, fault: MessageFault | undefined): void {
  if (fault === undefined) return
  const { place, message } = fault
  throw new AgentError('invalid-model-message', `what ${name} said is no message at ${place}: ${message}`, { place })
}

function messageInParts(name: string, parts: readonly unknown[]): Json {
  mustBeFaultless(name, partFault(parts))
  return assistantMessage(name, messageOf(parts))
}

function assistantMessage(name: string, answer: unknown): Json {
  mustBeFaultless(name, messageFault(answer))
  const { content, toolCalls = [], usage, parts = [] } = answer as ModelMessage & { readonly parts?: readonly number[] }
  return {
    role: 'assistant',
    content: content ?? null,
    ...(toolCalls.length > 0 && {
      toolCalls: toolCalls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    }),
    ...(usage !== undefined && { usage: { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens } }),
    ...(parts.length > 1 && { parts: [...parts] }),
  }
}

function asRecorded(messages: readonly Message[]): Json {
  const recorded = recordable(messages, undefined, CALL_VALUE)
  if (recorded.ok) return recorded.value
  throw new AgentError('not-recordable', `the conversation cannot be recorded: ${recorded.reason}`)
}

// Model turns in parts: joined into one message for the record, and split again into the original pieces.

/** Joins parts into a message; `parts` holds the lengths of its texts, in UTF-16 code units. An invalid part is placed where the message check reports it. */
function messageOf(parts: readonly unknown[]): ModelMessage & { readonly parts: readonly number[] } {
  const all = parts as readonly Partial<Record<'text' | 'toolCall' | 'usage', unknown>>[]
  const texts = all.flatMap((part) => ('text' in part ? [part.text] : []))
  const isText = texts.every((text) => typeof text === 'string')
  const usage = all.findLast((part) => 'usage' in part)?.usage as ModelMessage['usage']
  return {
    content: isText ? texts.join('') || null : (texts as never),
    toolCalls: all.flatMap((part) => ('toolCall' in part ? [part.toolCall] : [])) as NonNullable<
      ModelMessage['toolCalls']
    >,
    ...(usage !== undefined && { usage }),
    parts: isText ? texts.map((text) => (text as string).length) : [],
  }
}

function textOf(part: unknown): string | undefined {
  const { text } = part as Partial<Extract<ModelPart, { text: string }>>
  return typeof text === 'string' ? text : undefined
}

/** Splits the text of a turn into the pieces that arrived; a text that did not arrive in parts is one piece. */
function textsOf(message: Json): readonly string[] {
  if (!isJsonObject(message) || typeof message.content !== 'string') return []
  const { content, parts } = message
  if (!Array.isArray(parts)) return content === '' ? [] : [content]
  let from = 0
  return parts.map((length) => {
    const text = content.slice(from, from + Number(length))
    from += Number(length)
    return text
  })
}
