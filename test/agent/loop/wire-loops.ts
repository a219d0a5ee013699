/** @module Loops over the client packages of OpenAI, Anthropic, the AI SDK and LangChain, which speak to a server: turns whole and streamed, calls of tools side by side, refusals that the loop goes on after. */
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { load } from '@langchain/core/load'
import { type AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import {
  tool as aiTool,
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  stepCountIs,
  streamText,
  type ToolSet,
  wrapLanguageModel,
} from 'ai'
import OpenAI from 'openai'
import type { JsonObject } from '../../../schemas/json.ts'
import { aiSdkMiddleware } from '../../../src/agent/models/ai-sdk.ts'
import { trackAnthropic } from '../../../src/agent/models/track-anthropic.ts'
import { trackOpenAI } from '../../../src/agent/models/track-openai.ts'
import { trackRunnable } from '../../../src/agent/models/track-runnable.ts'
import { type Act, NAMES, PARAMETERS, told } from './client-loops.ts'

export interface WireAt {
  readonly act: Act
  /** The provider's address, and the key of an account there. */
  readonly url: string
  readonly key: string
  /** Hears all that the loop sees, in order. */
  readonly see: (what: string) => void
}

/** One agent's loop; gives its whole transcript as text. */
export type WireLoop = (at: WireAt) => Promise<string>

const MODEL = 'm'
const OUTPUT_MAX = 50
const SETTINGS = { countTokens: () => 1, retries: 4, backoff: { type: 'fixed', delayMs: 1 } } as const
/** Streams that break one after another. */
const BROKEN_MAX = 3

/** An error as a loop may log it. */
function errorText(error: unknown): string {
  const { status, code } = error as { readonly status?: unknown; readonly code?: unknown }
  return error instanceof Error
    ? `${error.constructor.name} ${error.name} ${status} ${code} ${error.message}`
    : `no error: ${String(error)}`
}

/** Asks until there is an answer: `refused` may change the conversation; a stream that broke is asked for again. */
async function untilAnswered<T>(
  see: WireAt['see'],
  ask: () => Promise<T>,
  refused: (error: unknown) => boolean,
): Promise<T> {
  for (let broken = 0; ; ) {
    try {
      return await ask()
    } catch (error) {
      see(errorText(error))
      if (refused(error)) continue
      broken += 1
      if (broken > BROKEN_MAX) throw error
    }
  }
}

const openAi: WireLoop = async ({ act, url, key, see }) => {
  const client = trackOpenAI(new OpenAI({ apiKey: key, baseURL: `${url}/v1` }), SETTINGS)
  const tools = NAMES.map((name) => ({ type: 'function' as const, function: { name, parameters: PARAMETERS } }))
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'begin' }]
  const refused = (error: unknown): boolean => {
    if (!(error instanceof OpenAI.BadRequestError)) return false
    messages.push({ role: 'user', content: `that was ${error.status} ${error.code}: ${error.message}` })
    return true
  }
  for (let turn = 0; ; turn += 1) {
    const ask = async (): Promise<OpenAI.ChatCompletionMessage> => {
      const request = { model: MODEL, messages, tools, max_tokens: OUTPUT_MAX }
      if (turn % 2 === 1) return client.chat.completions.stream(request).finalMessage()
      const { choices } = await client.chat.completions.create(request)
      return choices[0]?.message as OpenAI.ChatCompletionMessage
    }
    const message = await untilAnswered(see, ask, refused)
    see(JSON.stringify(message))
    messages.push(message)
    const calls = message.tool_calls ?? []
    if (calls.length === 0) return JSON.stringify(messages)
    const answers = await Promise.all(
      calls.map(async (call): Promise<OpenAI.ChatCompletionToolMessageParam> => {
        const { name, arguments: args } =
          call.type === 'function' ? call.function : { name: call.type, arguments: '{}' }
        const content = await told(act, name, JSON.parse(args) as JsonObject)
        see(content)
        return { role: 'tool', tool_call_id: call.id, content }
      }),
    )
    messages.push(...answers)
  }
}

const anthropic: WireLoop = async ({ act, url, key, see }) => {
  const client = trackAnthropic(new Anthropic({ apiKey: key, baseURL: url }), SETTINGS)
  const tools = NAMES.map((name) => ({ name, input_schema: PARAMETERS }))
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'begin' }]
  const refused = (error: unknown): boolean => {
    if (!(error instanceof Anthropic.BadRequestError)) return false
    messages.push({ role: 'user', content: `that was ${error.status}: ${error.message}` })
    return true
  }
  for (let turn = 0; ; turn += 1) {
    const ask = async (): Promise<Anthropic.Message> => {
      const request = { model: MODEL, messages, tools, max_tokens: OUTPUT_MAX }
      return turn % 2 === 1 ? client.messages.stream(request).finalMessage() : client.messages.create(request)
    }
    const { content, stop_reason } = await untilAnswered(see, ask, refused)
    see(JSON.stringify(content))
    messages.push({ role: 'assistant', content })
    if (stop_reason !== 'tool_use') return JSON.stringify(messages)
    const uses = content.filter((block) => block.type === 'tool_use')
    const results = await Promise.all(
      uses.map(async ({ id, name, input }): Promise<Anthropic.ToolResultBlockParam> => {
        const said = await told(act, name, input as JsonObject)
        see(said)
        return { type: 'tool_result', tool_use_id: id, content: said }
      }),
    )
    messages.push({ role: 'user', content: results })
  }
}

/** So many turns are one request of the package, which calls the tools by itself. */
const STEPS = 7

interface Segment {
  readonly model: LanguageModel
  readonly messages: ModelMessage[]
  readonly tools: ToolSet
}

interface Said {
  readonly messages: readonly ModelMessage[]
  readonly reason: string
}

async function generatedSegment(segment: Segment): Promise<Said> {
  const result = await generateText({ ...segment, stopWhen: stepCountIs(STEPS), maxOutputTokens: OUTPUT_MAX })
  return { messages: result.response.messages, reason: result.finishReason }
}

async function streamedSegment(segment: Segment, see: WireAt['see']): Promise<Said> {
  const result = streamText({
    ...segment,
    stopWhen: stepCountIs(STEPS),
    maxOutputTokens: OUTPUT_MAX,
    onError: ({ error }) => see(errorText(error)),
  })
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'text-delta') see(part.text)
  }
  const { messages } = await result.response
  return { messages, reason: await result.finishReason }
}

const aiSdk: WireLoop = async ({ act, url, key, see }) => {
  const model = wrapLanguageModel({
    model: createOpenAI({ apiKey: key, baseURL: `${url}/v1` }).chat(MODEL),
    middleware: aiSdkMiddleware(SETTINGS),
  })
  const tools: ToolSet = Object.fromEntries(
    NAMES.map((name) => [
      name,
      aiTool({ inputSchema: jsonSchema<JsonObject>(PARAMETERS), execute: (args: JsonObject) => told(act, name, args) }),
    ]),
  )
  const messages: ModelMessage[] = [{ role: 'user', content: 'begin' }]
  for (let n = 0; ; n += 1) {
    const segment = { model, messages, tools }
    const said = n % 2 === 0 ? await generatedSegment(segment) : await streamedSegment(segment, see)
    see(JSON.stringify(said))
    messages.push(...said.messages)
    if (said.reason !== 'tool-calls') return JSON.stringify(messages)
  }
}

const langChain: WireLoop = async ({ act, url, key, see }) => {
  const chat = new ChatOpenAI({
    model: MODEL,
    apiKey: key,
    maxTokens: OUTPUT_MAX,
    maxRetries: 0,
    configuration: { baseURL: `${url}/v1` },
  })
  const tracked = trackRunnable(chat, { ...SETTINGS, provider: 'openai', model: MODEL, load })
  const model = tracked.bindTools(
    NAMES.map((name) => ({ type: 'function' as const, function: { name, parameters: PARAMETERS } })),
  )
  const messages: BaseMessage[] = [new HumanMessage('begin')]
  for (let turn = 0; ; turn += 1) {
    let message: AIMessageChunk | undefined
    if (turn % 2 === 0) message = await model.invoke(messages)
    else
      for await (const chunk of await model.stream(messages))
        message = message === undefined ? chunk : message.concat(chunk)
    if (message === undefined) throw new TypeError('the model said nothing')
    messages.push(message)
    see(shownMessage(message))
    const { tool_calls: calls = [] } = message
    if (calls.length === 0) return messages.map(shownMessage).join('\n')
    const answers = await Promise.all(
      calls.map(async ({ id = '', name, args }) => {
        const content = await told(act, name, args as JsonObject)
        see(content)
        return new ToolMessage({ tool_call_id: id, content })
      }),
    )
    messages.push(...answers)
  }
}

function shownMessage(message: BaseMessage): string {
  const { tool_calls: calls = [] } = message as AIMessageChunk
  return JSON.stringify([message.getType(), message.content, calls.map(({ id, name, args }) => ({ id, name, args }))])
}

export const WIRE_LOOPS = {
  OpenAI: { loop: openAi, account: { refuses: true, breaks: true } },
  Anthropic: { loop: anthropic, account: { refuses: true, breaks: true } },
  'the AI SDK': { loop: aiSdk, account: {} },
  LangChain: { loop: langChain, account: {} },
} satisfies Readonly<Record<string, { readonly loop: WireLoop; readonly account: object }>>
