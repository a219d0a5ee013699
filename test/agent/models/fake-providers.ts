/** @module Providers behind an injected `fetch`: they answer as their APIs do, and keep what they were asked. */
import type { JsonObject } from '../../../schemas/json.ts'

export interface FakeProvider {
  readonly fetch: (url: RequestInfo | URL, init?: RequestInit) => Promise<Response>
  readonly requests: JsonObject[]
}

/** `fail` may answer in place of the provider: by the number of the request, from 1. */
export function fakeProvider(
  answer: (path: string, body: JsonObject) => Response,
  fail: (n: number) => Response | Error | undefined = () => undefined,
): FakeProvider {
  const requests: JsonObject[] = []
  return {
    requests,
    fetch: async (url, init) => {
      const body = JSON.parse(String(init?.body)) as JsonObject
      requests.push(body)
      init?.signal?.throwIfAborted()
      const failed = fail(requests.length)
      if (failed instanceof Error) throw failed
      return failed ?? answer(new URL(String(url)).pathname, body)
    },
  }
}

const WORDS = ['my ', 'CANARY', ' says', ' hello']

export const openAi: Parameters<typeof fakeProvider>[0] = (path, body) =>
  path.endsWith('/responses') ? responses(body) : chat(body)

function chat(body: JsonObject): Response {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 4,
    total_tokens: 13,
    prompt_tokens_details: { cached_tokens: 5 },
  }
  const base = { id: 'chatcmpl-1', created: 1, model: body.model ?? '' }
  if (body.stream !== true) {
    const message = { role: 'assistant', content: WORDS.join(''), refusal: null }
    return Response.json({
      ...base,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop', logprobs: null }],
      usage,
    })
  }
  const withUsage = (body.stream_options as JsonObject | undefined)?.include_usage === true
  const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
    ...base,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
    ...(withUsage && { usage: null }),
  })
  return sse([
    chunk({ role: 'assistant', content: '' }),
    ...WORDS.map((content) => chunk({ content })),
    chunk({}, 'stop'),
    ...(withUsage ? [{ ...base, object: 'chat.completion.chunk', choices: [], usage }] : []),
    '[DONE]',
  ])
}

function responses(body: JsonObject): Response {
  const usage = { input_tokens: 9, output_tokens: 4, total_tokens: 13, input_tokens_details: { cached_tokens: 5 } }
  const content = [{ type: 'output_text', text: WORDS.join(''), annotations: [] }]
  const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }
  const response = {
    id: 'resp_1',
    object: 'response',
    model: body.model ?? '',
    status: 'completed',
    output: [message],
    usage,
  }
  if (body.stream !== true) return Response.json(response)
  const base = { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0 }
  return sse([
    {
      type: 'response.created',
      sequence_number: 0,
      response: { ...response, status: 'in_progress', output: [], usage: null },
    },
    {
      type: 'response.output_item.added',
      sequence_number: 1,
      output_index: 0,
      item: { ...message, status: 'in_progress', content: [] },
    },
    {
      ...base,
      type: 'response.content_part.added',
      sequence_number: 2,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    ...WORDS.map((delta, i) => ({ ...base, sequence_number: i + 3, delta })),
    { type: 'response.completed', sequence_number: 7, response },
  ])
}

export const anthropic: Parameters<typeof fakeProvider>[0] = (_, body) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body.model ?? '', stop_sequence: null }
  const cache = { cache_creation_input_tokens: 2, cache_read_input_tokens: 3 }
  if (body.stream !== true) {
    return Response.json({
      ...message,
      content: [{ type: 'text', text: WORDS.join('') }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 4, output_tokens: 4, ...cache },
    })
  }
  const events: JsonObject[] = [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 4, output_tokens: 1, ...cache } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...WORDS.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  ]
  return sse(events)
}

export const ollama: Parameters<typeof fakeProvider>[0] = (path, body) => {
  const piece = (text: string): JsonObject =>
    path.endsWith('/chat') ? { message: { role: 'assistant', content: text } } : { response: text }
  const base = { model: body.model ?? '', created_at: '2026-01-01T00:00:00Z' }
  const end = { done: true, done_reason: 'stop', prompt_eval_count: 9, eval_count: 4 }
  if (body.stream !== true) return Response.json({ ...base, ...piece(WORDS.join('')), ...end })
  const lines = [...WORDS.map((text) => ({ ...base, ...piece(text), done: false })), { ...base, ...piece(''), ...end }]
  return new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

/** Server-sent events; the last one may be a bare text. An error breaks the body there. */
export function sse(events: readonly (JsonObject | string | Error)[]): Response {
  const encoder = new TextEncoder()
  const rest = [...events]
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const event = rest.shift()
      if (event === undefined) return controller.close()
      if (event instanceof Error) return controller.error(event)
      const name = typeof event === 'object' && typeof event.type === 'string' ? `event: ${event.type}\n` : ''
      const data = typeof event === 'string' ? event : JSON.stringify(event)
      controller.enqueue(encoder.encode(`${name}data: ${data}\n\n`))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
