/** @module Agents as their authors write them: loops over the client packages of OpenAI, Anthropic, the AI SDK and LangChain, with 40 tools and results of many keys. */
import { createHash } from 'node:crypto'
import Anthropic from '@anthropic-ai/sdk'
import type { BaseLanguageModelInput } from '@langchain/core/language_models/base'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { load } from '@langchain/core/load'
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'
import { tool as aiTool, generateText, jsonSchema, stepCountIs, wrapLanguageModel } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import OpenAI from 'openai'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { CheckResult } from '../../../src/agent/calls/tool-options.ts'
import { aiSdkMiddleware } from '../../../src/agent/models/ai-sdk.ts'
import { trackAnthropic } from '../../../src/agent/models/track-anthropic.ts'
import { trackOpenAI } from '../../../src/agent/models/track-openai.ts'
import { trackRunnable } from '../../../src/agent/models/track-runnable.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { fakeProvider } from '../models/fake-providers.ts'

const TOOLS = 40
const MODEL = 'm'

/** What the model asks for next: names and arguments, or a last word. */
export interface Turn {
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: JsonObject }[]
  readonly text: string
}

class Refused extends Error {
  override readonly name = 'Refused'
  readonly status = 422
  readonly reason: string
  constructor(reason: string) {
    super(`refused: ${reason}`)
    this.reason = reason
  }
}

/** Where the effects of tools are kept. It outlives every process. */
export interface Effects {
  readonly add: (line: string) => void
  readonly has: (line: string) => boolean
}

/** What every tool refuses. */
const isBad = (n: number): boolean => n % 7 === 6

/** Whether this effect must be made once: its tool changes something, and does not fail. */
export const isOnce = (line: string): boolean =>
  Number(/tool_(\d+)/.exec(line)?.[1]) % 2 === 0 && !isBad(Number(line.split(' ')[1]))

/** The world that tools act on. */
class World {
  readonly #effects: Effects

  constructor(effects: Effects) {
    this.#effects = effects
  }

  /** What a tool gave, if it was carried out. */
  found(name: string, { n, note }: { readonly n: number; readonly note: string }): Json | undefined {
    return !isBad(n) && this.#effects.has(`${name} ${n}`) ? this.#gives(name, n, note) : undefined
  }

  act(name: string, { n, note }: { readonly n: number; readonly note: string }): Json {
    this.#effects.add(`${name} ${n}`)
    if (isBad(n)) throw new Refused(`${name} has no ${n}`)
    return this.#gives(name, n, note)
  }

  /** Members in an order of their own, as of any API. */
  #gives(name: string, n: number, note: string): Json {
    const lines = Array.from({ length: n % 4 }, (_, i) => ({
      sku: `s${i}`,
      qty: i + 0.5,
      zone: null,
      at: { b: 1, a: [n, 'ü'] },
    }))
    return {
      zeta: note,
      id: `${name}-${n}`,
      '10': n,
      '9': true,
      cents: n * 100 + 0.1,
      lines,
      alpha: '\u2028"\\',
    }
  }
}

/** A model that is a function of all that it was sent: another transcript gets other answers. */
export function answerTo(transcript: unknown, turns: number, turn: number): Turn {
  const digest = createHash('sha256').update(JSON.stringify(transcript)).digest()
  const text = `turn ${turn}: ${digest.toString('hex').slice(0, 8)}`
  if (turn >= turns) return { calls: [], text }
  const count = 1 + ((digest[0] ?? 0) % 3)
  const calls = Array.from({ length: count }, (_, i) => {
    const tool = `tool_${(digest[i + 1] ?? 0) % TOOLS}`
    return { id: `c${turn}-${i}`, name: tool, args: { n: turn * 3 + i, note: text } }
  })
  return { calls, text }
}

export type Act = (name: string, args: JsonObject) => Promise<unknown>
/** One agent's loop over a client package; gives its whole transcript as text. */
export type Loop = (act: Act, turns: number) => Promise<string>

export const PARAMETERS = {
  type: 'object' as const,
  properties: { n: { type: 'number' as const }, note: { type: 'string' as const } },
}
export const NAMES = Array.from({ length: TOOLS }, (_, i) => `tool_${i}`)

/** What the model is told of a call: its result as JSON in the order seen, or its error. */
export async function told(act: Act, name: string, args: JsonObject): Promise<string> {
  try {
    return JSON.stringify(await act(name, args))
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return `${error.name} ${error.status}: ${error.reason}`
  }
}

const openAi: Loop = async (act, turns) => {
  const { fetch } = fakeProvider((_, body) => {
    const messages = body.messages as JsonObject[]
    const turn = messages.filter(({ role }) => role === 'assistant').length
    const { calls, text } = answerTo(messages, turns, turn)
    const tool_calls = calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }))
    const message = { role: 'assistant', content: text, refusal: null, ...(calls.length > 0 && { tool_calls }) }
    const usage = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 }
    const choices = [{ index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop', logprobs: null }]
    return Response.json({ id: `chat-${turn}`, created: 1, model: MODEL, object: 'chat.completion', choices, usage })
  })
  const client = trackOpenAI(new OpenAI({ apiKey: 'k', baseURL: 'http://model.test/v1', fetch }), {
    countTokens: () => 1,
  })
  const tools = NAMES.map((name) => ({ type: 'function' as const, function: { name, parameters: PARAMETERS } }))
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'begin' }]
  for (;;) {
    const { choices } = await client.chat.completions.create({ model: MODEL, messages, tools, max_tokens: 50 })
    const message = choices[0]?.message as OpenAI.ChatCompletionMessage
    messages.push(message)
    if (message.tool_calls === undefined) return JSON.stringify(messages)
    const answers = await Promise.all(
      message.tool_calls.map(async (call): Promise<OpenAI.ChatCompletionToolMessageParam> => {
        const { name, arguments: args } =
          call.type === 'function' ? call.function : { name: call.type, arguments: '{}' }
        return { role: 'tool', tool_call_id: call.id, content: await told(act, name, JSON.parse(args)) }
      }),
    )
    messages.push(...answers)
  }
}

const anthropic: Loop = async (act, turns) => {
  const { fetch } = fakeProvider((_, body) => {
    const messages = body.messages as JsonObject[]
    const turn = messages.filter(({ role }) => role === 'assistant').length
    const { calls, text } = answerTo(messages, turns, turn)
    const uses = calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }))
    const content = [{ type: 'text', text }, ...uses]
    const stop_reason = calls.length > 0 ? 'tool_use' : 'end_turn'
    const usage = { input_tokens: 20, output_tokens: 7 }
    return Response.json({
      id: `msg-${turn}`,
      type: 'message',
      role: 'assistant',
      model: MODEL,
      content,
      stop_reason,
      stop_sequence: null,
      usage,
    })
  })
  const client = trackAnthropic(new Anthropic({ apiKey: 'k', baseURL: 'http://model.test', fetch }), {
    countTokens: () => 1,
  })
  const tools = NAMES.map((name) => ({ name, input_schema: PARAMETERS }))
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'begin' }]
  for (;;) {
    const { content, stop_reason } = await client.messages.create({ model: MODEL, messages, tools, max_tokens: 50 })
    messages.push({ role: 'assistant', content })
    if (stop_reason !== 'tool_use') return JSON.stringify(messages)
    const results: Anthropic.ToolResultBlockParam[] = []
    for (const block of content) {
      if (block.type !== 'tool_use') continue
      const said = await told(act, block.name, block.input as JsonObject)
      results.push({ type: 'tool_result', tool_use_id: block.id, content: said })
    }
    messages.push({ role: 'user', content: results })
  }
}

const aiSdk: Loop = async (act, turns) => {
  const model = new MockLanguageModelV3({
    provider: 'mock',
    modelId: MODEL,
    doGenerate: async ({ prompt }) => {
      const turn = prompt.filter(({ role }) => role === 'assistant').length
      const { calls, text } = answerTo(prompt, turns, turn)
      const asked = calls.map(({ id, name, args }) => ({
        type: 'tool-call' as const,
        toolCallId: id,
        toolName: name,
        input: JSON.stringify(args),
      }))
      return {
        content: [{ type: 'text' as const, text }, ...asked],
        finishReason: { unified: calls.length > 0 ? ('tool-calls' as const) : ('stop' as const), raw: undefined },
        usage: {
          inputTokens: { total: 20, noCache: 20, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 7, text: 7, reasoning: 0 },
        },
        response: { id: `res-${turn}`, timestamp: new Date(0), modelId: MODEL },
        warnings: [],
      }
    },
  })
  const tools = Object.fromEntries(
    NAMES.map((name) => [
      name,
      aiTool({ inputSchema: jsonSchema<JsonObject>(PARAMETERS), execute: (args: JsonObject) => told(act, name, args) }),
    ]),
  )
  const wrapped = wrapLanguageModel({ model, middleware: aiSdkMiddleware({ countTokens: () => 1 }) })
  const { steps, text } = await generateText({
    model: wrapped,
    prompt: 'begin',
    tools,
    stopWhen: stepCountIs(turns + 1),
    maxOutputTokens: 50,
  })
  return JSON.stringify([text, steps.map((step) => [step.content, step.response.messages])])
}

/** A chat model of LangChain's own base class that is bound to tools as its providers are. */
class Chat extends BaseChatModel {
  readonly turns: number
  constructor(turns: number) {
    super({})
    this.turns = turns
  }
  _llmType(): string {
    return 'chat'
  }
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const plain = messages.map((message) => [
      message.getType(),
      message.content,
      (message as ToolMessage).tool_call_id ?? null,
    ])
    const turn = messages.filter((message) => message.getType() === 'ai').length
    const { calls, text } = answerTo(plain, this.turns, turn)
    const tool_calls = calls.map(({ id, name, args }) => ({ id, name, args, type: 'tool_call' as const }))
    const usage_metadata = { input_tokens: 20, output_tokens: 7, total_tokens: 27 }
    return {
      generations: [{ text, message: Object.assign(new AIMessage({ content: text, tool_calls }), { usage_metadata }) }],
    }
  }
}

const langChain: Loop = async (act, turns) => {
  const chat = trackRunnable(new Chat(turns), {
    provider: 'fake',
    model: MODEL,
    load,
    maxOutputTokens: 50,
    countTokens: () => 1,
  })
  const messages: BaseMessage[] = [new HumanMessage('begin')]
  for (;;) {
    const message = (await chat.invoke(messages as BaseLanguageModelInput)) as AIMessage
    messages.push(message)
    const calls = message.tool_calls ?? []
    if (calls.length === 0)
      return JSON.stringify(
        messages.map((each) => [each.getType(), each.content, (each as AIMessage).tool_calls ?? null]),
      )
    for (const { id = '', name, args } of calls) {
      messages.push(new ToolMessage({ tool_call_id: id, content: await told(act, name, args as JsonObject) }))
    }
  }
}

export const LOOPS = { OpenAI: openAi, Anthropic: anthropic, 'the AI SDK': aiSdk, LangChain: langChain }

/** Every other tool changes something, and can be asked whether it did; the others only look. */
export function bodyOf(
  cs: Countersign,
  { effects, loop, turns }: { effects: Effects; loop: Loop; turns: number },
): () => Promise<string> {
  const world = new World(effects)
  const tools = new Map(
    NAMES.map((name, i) => {
      const execute = (args: JsonObject) => world.act(name, args as never)
      const check = (args: JsonObject): CheckResult<Json> => {
        const result = world.found(name, args as never)
        return result === undefined ? { done: false } : { done: true, result }
      }
      const common = { name, execute, errors: [Refused], parameters: PARAMETERS }
      const tool = i % 2 === 0 ? cs.tool({ ...common, check }) : cs.tool({ ...common, effects: 'none' as const })
      return [name, tool as (args: JsonObject) => Promise<unknown>]
    }),
  )
  const act: Act = async (name, args) => {
    const tool = tools.get(name)
    if (tool === undefined) throw new Error(`the model asked for ${name}`)
    return tool(args)
  }
  return () => loop(act, turns)
}
