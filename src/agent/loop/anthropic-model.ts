/** @module Model adapter for the Anthropic messages format: the `@anthropic-ai/sdk` package, or any client of that shape. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { parseStrictText } from '../../signing/strict-json.ts'
import type { AssistantMessage, Message, Model, ModelPart, ToolDescription, ToolMessage } from './messages.ts'

/** The part of the `@anthropic-ai/sdk` client that is used: pass the client itself, wrapped by `trackAnthropic` if its usage is to be budgeted. */
export interface AnthropicLike {
  readonly messages: {
    // The package types its own parameters; any client of this shape fits.
    create(body: never, options?: never): PromiseLike<unknown>
  }
}

interface StreamEvent {
  readonly index?: number
  readonly content_block?: Block
  readonly delta?: { readonly text?: string; readonly partial_json?: string }
}

interface Block {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly name?: string
  readonly input?: Json
}

/** The model to call and its request parameters. `maxTokens` is the limit for one answer, in tokens. */
export interface AnthropicModelOptions {
  readonly model: string
  /** Required, because the format has no default. */
  readonly maxTokens: number
  /** Further members of each request, such as `temperature`. */
  readonly request?: JsonObject
}

/**
 * A model for `agent()` behind the Anthropic messages format. Throws errors of the client, and `invalid-model-message` for an answer of another shape.
 * @example
 * ```ts
 * import Anthropic from '@anthropic-ai/sdk'
 * import { agent, anthropicModel, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const model = anthropicModel(new Anthropic(), { model: 'claude-sonnet-4-5', maxTokens: 500 })
 * const { text } = await cs.run({ name: 'ask' }, async () => agent({ model, tools: [] }).generate({ prompt: 'Say hello.' }))
 * console.log(text)
 * ```
 */
export function anthropicModel(
  client: AnthropicLike,
  { model, maxTokens, request = {} }: AnthropicModelOptions,
): Model {
  const create = client.messages.create.bind(client.messages) as unknown as (
    body: JsonObject,
    options: { readonly signal: AbortSignal },
  ) => PromiseLike<unknown>
  return {
    name: model,
    complete: async (messages, tools, { signal, stream }) => {
      const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content ?? '')
      const body: JsonObject = {
        ...request,
        model,
        max_tokens: maxTokens,
        messages: turnsOf(messages),
        ...(system.length > 0 && { system: system.join('\n\n') }),
        ...(tools.length > 0 && { tools: tools.map(toolOf) }),
      }
      if (stream) return partsOf((await create({ ...body, stream }, { signal })) as AsyncIterable<StreamEvent>)
      const { content = [] } = (await create(body, { signal })) as { readonly content?: readonly Block[] }
      return answerOf(content)
    },
  }
}

function toolOf({ name, description, parameters }: ToolDescription): JsonObject {
  return { name, input_schema: parameters, ...(description !== undefined && { description }) }
}

/** The format requires alternating roles, so all results of a turn go into one user message. */
function turnsOf(messages: readonly Message[]): JsonObject[] {
  const turns: { role: 'user' | 'assistant'; content: JsonObject[] }[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...blocksOf(message))
    else turns.push({ role, content: blocksOf(message) })
  }
  return turns
}

function blocksOf(message: Exclude<Message, { role: 'system' }> | Message): JsonObject[] {
  if (message.role === 'tool') return [resultOf(message)]
  const text = message.content ?? ''
  const blocks: JsonObject[] = text === '' ? [] : [{ type: 'text', text }]
  if (message.role !== 'assistant') return blocks
  return [
    ...blocks,
    ...(message.toolCalls ?? []).map(({ id, name, arguments: args }) => ({
      type: 'tool_use',
      id,
      name,
      input: inputOf(args),
    })),
  ]
}

function resultOf({ callId, content, isError }: ToolMessage): JsonObject {
  return { type: 'tool_result', tool_use_id: callId, content, ...(isError === true && { is_error: true }) }
}

/** The format accepts only an object, so other values are wrapped. */
function inputOf(args: Json): Json {
  const parsed = typeof args === 'string' ? parseStrictText(args) : { ok: true as const, value: args }
  const value = parsed.ok ? parsed.value : { text: args }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { value }
}

/** Yields text in pieces, and each call once it is complete. */
async function* partsOf(events: AsyncIterable<StreamEvent>): AsyncGenerator<ModelPart, void> {
  const calls = new Map<number, { id: string; name: string; arguments: string }>()
  for await (const { index = 0, content_block: block, delta } of events) {
    if (block?.type === 'tool_use') calls.set(index, { id: block.id ?? '', name: block.name ?? '', arguments: '' })
    const call = calls.get(index)
    if (call !== undefined) call.arguments += delta?.partial_json ?? ''
    const text = delta?.text ?? block?.text ?? ''
    if (text !== '') yield { text }
  }
  for (const toolCall of calls.values()) yield { toolCall }
}

function answerOf(blocks: readonly Block[]): AssistantMessage {
  const text = blocks.map(({ type, text: part }) => (type === 'text' ? (part ?? '') : '')).join('')
  const toolCalls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id = '', name = '', input = {} }) => ({ id, name, arguments: input }))
  return { role: 'assistant', content: text === '' ? null : text, ...(toolCalls.length > 0 && { toolCalls }) }
}
