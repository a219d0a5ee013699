/** @module Model adapter for the OpenAI chat format: the `openai` package, or any client of that shape. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { AssistantMessage, Message, Model, ModelPart, ToolDescription } from './messages.ts'

/** The part of the `openai` client that is used: pass the client itself, wrapped by `trackOpenAI` if its usage is to be budgeted. */
export interface OpenAiLike {
  readonly chat: {
    readonly completions: {
      // The package types its own parameters; any client of this shape fits.
      create(body: never, options?: never): PromiseLike<unknown>
    }
  }
}

interface Choice {
  readonly message?: {
    readonly content?: string | null
    readonly refusal?: string | null
    readonly tool_calls?: readonly {
      readonly id: string
      readonly function?: { readonly name: string; readonly arguments: string }
    }[]
  }
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null
      readonly refusal?: string | null
      readonly tool_calls?: readonly {
        readonly index?: number
        readonly id?: string
        readonly function?: { readonly name?: string; readonly arguments?: string }
      }[]
    }
  }[]
}

/** The model to call and its request parameters. */
export interface OpenAiModelOptions {
  readonly model: string
  /** Further members of each request, such as `temperature` or `max_completion_tokens`. */
  readonly request?: JsonObject
}

/**
 * A model for `agent()` behind the OpenAI chat format. Throws errors of the client, and `invalid-model-message` for an answer of another shape.
 * @example
 * ```ts
 * import { agent, open, openAiModel } from 'countersign/agent'
 * import OpenAI from 'openai'
 *
 * await using cs = await open({ path: ':memory:' })
 * const model = openAiModel(new OpenAI(), { model: 'gpt-5-mini' })
 * const { text } = await cs.run({ name: 'ask' }, async () => agent({ model, tools: [] }).generate({ prompt: 'Say hello.' }))
 * console.log(text)
 * ```
 */
export function openAiModel(client: OpenAiLike, { model, request = {} }: OpenAiModelOptions): Model {
  const create = client.chat.completions.create.bind(client.chat.completions) as unknown as (
    body: JsonObject,
    options: { readonly signal: AbortSignal },
  ) => PromiseLike<unknown>
  return {
    name: model,
    complete: async (messages, tools, { signal, stream }) => {
      const offered = tools.length === 0 ? {} : { tools: tools.map(toolOf) }
      const body: JsonObject = { ...request, model, messages: messages.map(messageOf), ...offered }
      if (stream) return partsOf((await create({ ...body, stream }, { signal })) as AsyncIterable<Chunk>)
      const { choices } = (await create(body, { signal })) as { readonly choices?: readonly Choice[] }
      return answerOf(choices?.[0])
    },
  }
}

function toolOf({ name, description, parameters }: ToolDescription): JsonObject {
  return { type: 'function', function: { name, parameters, ...(description !== undefined && { description }) } }
}

function messageOf(message: Message): JsonObject {
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content ?? null,
        ...((message.toolCalls ?? []).length > 0 && {
          tool_calls: (message.toolCalls ?? []).map(({ id, name, arguments: args }) => {
            return { id, type: 'function', function: { name, arguments: textOf(args) } }
          }),
        }),
      }
    case 'tool':
      return { role: 'tool', tool_call_id: message.callId, content: message.content }
    default:
      return { role: message.role, content: message.content }
  }
}

function textOf(args: Json): string {
  return typeof args === 'string' ? args : JSON.stringify(args)
}

async function* partsOf(chunks: AsyncIterable<Chunk>): AsyncGenerator<ModelPart, void> {
  const calls = new Map<number, { id: string; name: string; arguments: string }>()
  for await (const { choices } of chunks) {
    const { content, refusal, tool_calls: pieces = [] } = choices?.[0]?.delta ?? {}
    const text = content ?? refusal ?? ''
    if (text !== '') yield { text }
    for (const { index = 0, id, function: called } of pieces) {
      const call = calls.get(index) ?? { id: '', name: '', arguments: '' }
      calls.set(index, call)
      call.id = id ?? call.id
      call.name += called?.name ?? ''
      call.arguments += called?.arguments ?? ''
    }
  }
  for (const toolCall of calls.values()) yield { toolCall }
}

function answerOf(choice: Choice | undefined): AssistantMessage {
  const { content, refusal, tool_calls: calls = [] } = choice?.message ?? {}
  const toolCalls = calls.map(({ id, function: called }) => {
    return { id, name: called?.name ?? '', arguments: called?.arguments ?? '' }
  })
  return { role: 'assistant', content: content ?? refusal ?? null, ...(toolCalls.length > 0 && { toolCalls }) }
}
