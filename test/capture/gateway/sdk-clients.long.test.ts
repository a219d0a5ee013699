import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { fieldsIn } from '../../../src/agent/models/dialect.ts'
import { type GatewayRig, gatewayRig, sends, spent, UPSTREAM_KEY, usageIn } from '../../support/gateway-rig.ts'
import { ASK, ASK_CLAUDE, CHAT, MESSAGES, PRICES, USAGE, USAGE_FRAME } from '../../support/provider-streams.ts'
import { within } from '../../support/within.ts'

const gateway = suite('capture: clients of the providers')

const openAi = (rig: GatewayRig, run: string, more: object = {}) =>
  new OpenAI({
    ...{ baseURL: `${rig.url}/openai/v1`, apiKey: `sk-cs-${rig.key}`, maxRetries: 0 },
    defaultHeaders: { 'x-countersign-run': run },
    ...more,
  })
const claude = (rig: GatewayRig, run: string) =>
  new Anthropic({
    ...{ baseURL: `${rig.url}/anthropic`, apiKey: `sk-cs-${rig.key}`, maxRetries: 0 },
    defaultHeaders: { 'x-countersign-run': run },
  })

gateway(
  'a chat of the openai client is claimed before it is sent, and settled by the provider’s usage (CAP-20, CAP-22)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    let whileOpen: JsonObject | undefined
    rig.answers(async (response) => {
      whileOpen = await rig.client.budget('r-1')
      response.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'req-1' })
      response.end(
        JSON.stringify({
          id: 'c-1',
          choices: [{ index: 0, message: { role: 'assistant', content: 'hello' } }],
          usage: USAGE,
        }),
      )
    })
    const { data, response } = await openAi(rig, 'r-1').chat.completions.create(ASK).withResponse()
    assert.is(data.choices[0]?.message.content, 'hello')
    assert.is(response.headers.get('x-request-id'), 'req-1')
    assert.is(response.headers.get('x-countersign-run'), 'r-1')
    const [call] = await rig.settled('r-1')
    assert.is(call?.status, 'succeeded')
    assert.is(call?.tool, 'model:openai')
    assert.is(call?.phase, 'model')
    const [received] = rig.received
    assert.is(whileOpen?.reservedTokens, Math.ceil(Buffer.byteLength(received?.text ?? '') / 2) + 50)
    assert.equal(await spent(rig, 'r-1'), { tokens: 13, cost: '0.000049', reservedTokens: 0 })
    assert.is(received?.headers.authorization, `Bearer ${UPSTREAM_KEY}`)
    assert.is(received?.headers['accept-encoding'], 'identity')
    assert.is(received?.headers['x-countersign-run'], undefined)
  },
)

gateway(
  'a streamed chat asks for its usage, keeps that frame, and passes every other byte as it came (CAP-21)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    rig.answers(sends(...CHAT))
    const texts: string[] = []
    for await (const part of await openAi(rig, 'r-1').chat.completions.create({ ...ASK, stream: true }))
      texts.push(part.choices[0]?.delta.content ?? '')
    assert.is(texts.join(''), 'hello')
    const sent = JSON.stringify({ ...ASK, stream: true })
    assert.is(rig.received[0]?.text, `{"stream_options":{"include_usage":true},${sent.slice(1)}`)
    const [call] = await rig.settled('r-1')
    assert.is(call?.status, 'succeeded')
    assert.match(JSON.stringify(call?.result), 'hello', 'the text is whole, so that redaction finds what is in it')
    assert.is((await spent(rig, 'r-1')).tokens, 13)
    assert.is(await rawStream(rig, ASK), CHAT.filter((frame) => frame !== USAGE_FRAME).join(''))
    const own = { ...ASK, stream_options: { include_usage: true } }
    assert.is(await rawStream(rig, own), CHAT.join(''), 'a client that asks for the frame gets it')
    assert.is(rig.received.at(-1)?.text, JSON.stringify({ ...own, stream: true }), 'and its request is sent as it is')
  },
)

async function rawStream(rig: GatewayRig, body: object): Promise<string> {
  const response = await fetch(`${rig.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rig.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true }),
  })
  return response.text()
}

gateway(
  'messages of the Anthropic client, streamed or not, are settled with what was read from and written to the cache (CAP-22)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    rig.answers(sends(...MESSAGES))
    const message = await claude(rig, 'r-1').messages.stream(ASK_CLAUDE).finalMessage()
    assert.equal(message.content, [{ type: 'text', text: 'hello' }])
    await rig.settled('r-1')
    const usage = await usageIn(rig, 'r-1')
    assert.equal(usage, {
      ...{ tokens: 15, inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, cacheWriteTokens: 1 },
      ...{ cost: '0.000105', currency: 'USD', provider: 'anthropic', model: 'claude-sonnet-4-5' },
    })
    assert.is(rig.received[0]?.headers['x-api-key'], UPSTREAM_KEY)
    assert.is(rig.received[0]?.headers.authorization, undefined)
    assert.is(rig.received[0]?.text, JSON.stringify({ ...ASK_CLAUDE, stream: true }))
    rig.answers((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...message, usage: { input_tokens: 3, output_tokens: 2 } }))
    })
    await claude(rig, 'r-2').messages.create(ASK_CLAUDE)
    assert.is((await rig.settled('r-2'))[0]?.status, 'succeeded')
    assert.is((await spent(rig, 'r-2')).tokens, 5)
  },
)

gateway(
  'over the budget nothing is sent, and the client gets a 429 of its provider that it does not repeat (CAP-23)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES, budget: { tokens: 60 } } })
    const error = await openAi(rig, 'r-1', { maxRetries: 2 })
      .chat.completions.create(ASK)
      .catch((thrown: unknown) => thrown)
    assert.instance(error, OpenAI.RateLimitError)
    assert.is((error as InstanceType<typeof OpenAI.RateLimitError>).code, 'budget_exceeded')
    const other = await claude(rig, 'r-1')
      .messages.create(ASK_CLAUDE)
      .catch((thrown: unknown) => thrown)
    assert.instance(other, Anthropic.RateLimitError)
    assert.match(JSON.stringify((other as InstanceType<typeof Anthropic.APIError>).error), 'budget_exceeded')
    assert.is(rig.received.length, 0)
  },
)

gateway(
  'a client that leaves is settled with what came, and the provider is told by the end of its connection (CAP-25)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    const left = Promise.withResolvers<void>()
    rig.answers((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(CHAT.slice(0, 3).join(''))
      response.once('close', () => left.resolve())
    })
    const leaving = new AbortController()
    const response = await openAi(rig, 'r-1').chat.completions.create(
      { ...ASK, stream: true },
      { signal: leaving.signal },
    )
    for await (const part of response) if (part.choices[0]?.delta.content === 'lo') break
    leaving.abort()
    await within(left.promise, 'the end of the connection to the provider')
    const [call] = await rig.settled('r-1')
    assert.is(call?.status, 'succeeded')
    assert.is(fieldsIn(call?.result).cut, 'client-gone')
    assert.is((await usageIn(rig, 'r-1'))?.estimated, true)
  },
)

gateway.run()
