import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { agent, anthropicModel, type Model, openAiModel, ToolError } from '../../../src/agent/index.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { HOMES } from '../homes.ts'

const test = suite('agent: models behind the formats of OpenAI and Anthropic')

interface Provider {
  readonly fetch: typeof globalThis.fetch
  /** Bodies of the requests. */
  readonly received: { readonly [member: string]: unknown }[]
}

/** Answers each request with the next body. */
function provider(bodies: readonly object[]): Provider {
  const received: Provider['received'] = []
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    received.push(JSON.parse(String(init?.body)))
    return Response.json(bodies[received.length - 1])
  }
  return { received, fetch: fetch as typeof globalThis.fetch }
}

function findTool(cs: Countersign) {
  return cs.tool({
    name: 'find',
    description: 'finds a customer',
    input: z.object({ name: z.string() }),
    execute: ({ name }: { name: string }) => {
      if (name === 'Nobody') throw new ToolError('no such customer')
      return { id: `c-${name}` }
    },
  })
}

async function conversation(model: Model): Promise<string> {
  const kind = HOMES[0]
  if (kind === undefined) throw new Error('no home')
  await using home = await kind.open()
  const cs = home.process()
  const helper = agent({ model, tools: [findTool(cs)], system: 'be short' })
  return await cs.run({ name: 'help' }, async () => (await helper.generate({ prompt: 'who?' })).text)
}

const PARAMETERS = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }

test('the openai client: tools, real results and errors stand in the requests as the format has them', async () => {
  const call = (id: string, args: string) => ({ id, type: 'function', function: { name: 'find', arguments: args } })
  const says = (message: object) => ({ choices: [{ index: 0, message: { role: 'assistant', ...message } }] })
  const { received, fetch } = provider([
    says({ content: null, tool_calls: [call('a', '{"name":"Ada"}'), call('b', '{"name":"Nobody"}')] }),
    says({ content: 'Ada is c-Ada' }),
  ])
  const client = new OpenAI({ apiKey: 'none', fetch })
  assert.is(await conversation(openAiModel(client, { model: 'm-1', request: { temperature: 0 } })), 'Ada is c-Ada')
  const [first = {}, second = {}] = received
  assert.equal([first.model, first.temperature], ['m-1', 0])
  assert.equal(first.messages, [
    { role: 'system', content: 'be short' },
    { role: 'user', content: 'who?' },
  ])
  const [tool] = first.tools as { function: { name: string; description: string; parameters: object } }[]
  assert.equal([tool?.function.name, tool?.function.description], ['find', 'finds a customer'])
  assert.equal({ ...PARAMETERS, ...tool?.function.parameters }, tool?.function.parameters)
  assert.equal((second.messages as object[]).slice(2), [
    { role: 'assistant', content: null, tool_calls: [call('a', '{"name":"Ada"}'), call('b', '{"name":"Nobody"}')] },
    { role: 'tool', tool_call_id: 'a', content: '{"id":"c-Ada"}' },
    { role: 'tool', tool_call_id: 'b', content: 'no such customer' },
  ])
})

test('the anthropic client: one message of results a turn, errors marked, the system apart', async () => {
  const use = (id: string, name: string) => ({ type: 'tool_use', id, name: 'find', input: { name } })
  const says = (...content: object[]) => ({ id: 'm', type: 'message', role: 'assistant', content })
  const { received, fetch } = provider([
    says({ type: 'text', text: 'looking' }, use('a', 'Ada'), use('b', 'Nobody')),
    says({ type: 'text', text: 'Ada is ' }, { type: 'text', text: 'c-Ada' }),
  ])
  const client = new Anthropic({ apiKey: 'none', fetch })
  assert.is(await conversation(anthropicModel(client, { model: 'm-2', maxTokens: 100 })), 'Ada is c-Ada')
  const [first = {}, second = {}] = received
  assert.equal([first.model, first.max_tokens, first.system], ['m-2', 100, 'be short'])
  const [tool] = first.tools as { name: string; input_schema: object }[]
  assert.is(tool?.name, 'find')
  assert.equal({ ...PARAMETERS, ...tool?.input_schema }, tool?.input_schema)
  assert.equal(second.messages, [
    { role: 'user', content: [{ type: 'text', text: 'who?' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'looking' }, use('a', 'Ada'), use('b', 'Nobody')] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: '{"id":"c-Ada"}' },
        { type: 'tool_result', tool_use_id: 'b', content: 'no such customer', is_error: true },
      ],
    },
  ])
})

/** Answers each request with the next list of events, as a stream of them. */
function streaming(bodies: readonly (readonly object[])[]): Provider {
  const received: Provider['received'] = []
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    received.push(JSON.parse(String(init?.body)))
    const events = (bodies[received.length - 1] ?? []).map(
      (event) => `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
    )
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
  }
  return { received, fetch: fetch as typeof globalThis.fetch }
}

async function streamed(model: Model): Promise<string[]> {
  const kind = HOMES[0]
  if (kind === undefined) throw new Error('no home')
  await using home = await kind.open()
  const cs = home.process()
  const helper = agent({ model, tools: [findTool(cs)] })
  return await cs.run({ name: 'help' }, async () => {
    const told: string[] = []
    for await (const part of helper.stream({ prompt: 'who?' })) {
      if (part.type === 'text') told.push(part.text)
      if (part.type === 'result') told.push(part.message.content)
    }
    return told
  })
}

test('both clients request a stream where somebody reads along, and calls come together from their pieces (RUN-76)', async () => {
  const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] })
  const piece = (index: number, more: object) => ({ tool_calls: [{ index, ...more }] })
  const openai = streaming([
    [
      chunk({ content: 'one ' }),
      chunk({ content: 'moment' }),
      chunk(piece(0, { id: 'a', function: { name: 'find', arguments: '{"na' } })),
      chunk(piece(1, { id: 'b', function: { name: 'find', arguments: '' } })),
      chunk(piece(0, { function: { arguments: 'me":"Ada"}' } })),
      chunk(piece(1, { function: { arguments: '{"name":"Nobody"}' } })),
    ],
    [chunk({ content: 'c-Ada' })],
  ])
  const EXPECTED = ['one ', 'moment', '{"id":"c-Ada"}', 'no such customer', 'c-Ada']
  assert.equal(
    await streamed(openAiModel(new OpenAI({ apiKey: 'none', fetch: openai.fetch }), { model: 'm-1' })),
    EXPECTED,
  )
  assert.equal(
    openai.received.map(({ stream }) => stream),
    [true, true],
  )

  const text = (index: number, value: string) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'text_delta', text: value },
  })
  const use = (index: number, name: string) => [
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: `${index}`, name: 'find', input: {} },
    },
    { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '{"name":' } },
    { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: `"${name}"}` } },
  ]
  const anthropic = streaming([
    [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      text(0, 'one '),
      text(0, 'moment'),
      ...use(1, 'Ada'),
      ...use(2, 'Nobody'),
    ],
    [text(0, 'c-Ada')],
  ])
  const client = new Anthropic({ apiKey: 'none', fetch: anthropic.fetch })
  assert.equal(await streamed(anthropicModel(client, { model: 'm-2', maxTokens: 100 })), EXPECTED)
  assert.equal(
    anthropic.received.map(({ stream }) => stream),
    [true, true],
  )
})

test('what a turn used is charged to the run where the model says so', async () => {
  const kind = HOMES[0]
  if (kind === undefined) throw new Error('no home')
  await using home = await kind.open()
  const cs = home.process()
  const model: Model = () => ({ role: 'assistant', content: 'hi', usage: { inputTokens: 30, outputTokens: 12 } })
  await cs.run({ id: 'used', name: 'used', budget: { tokens: 1_000 } }, async () => {
    await agent({ model, tools: [] }).generate({ prompt: 'hello' })
  })
  const used: unknown[] = []
  for await (const { data } of home.connection.events('used', 'UsageRecorded')) used.push(data.usage ?? data)
  assert.is(used.length, 1)
  assert.match(JSON.stringify(used[0]), /"tokens":42/)
})

test.run()
