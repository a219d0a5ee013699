import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { fieldsIn } from '../../../src/agent/models/dialect.ts'
import { bytesDigest } from '../../../src/signing/digests.ts'
import { event, type GatewayRig, gatewayRig, sends, UPSTREAM_KEY } from '../../support/gateway-rig.ts'
import { within } from '../../support/within.ts'

const gateway = suite('capture: model gateway')

const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
const PRICES = {
  currency: 'USD',
  models: { 'gpt-5-mini': { input: '1', output: '10' }, 'claude-sonnet-4-5': { input: '3', output: '15' } },
}
const HELLO = [{ role: 'user', content: 'Say hello.' }] as const
const ASK = { model: 'gpt-5-mini', max_completion_tokens: 50, messages: [...HELLO] }
const ASK_CLAUDE = { model: 'claude-sonnet-4-5', max_tokens: 50, messages: [...HELLO] }

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  ...{ id: 'c-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5-mini' },
  choices: [{ index: 0, delta, finish_reason }],
})
const USAGE_FRAME = event({ id: 'c-1', object: 'chat.completion.chunk', created: 1, choices: [], usage: USAGE })
const CHAT = [
  event(chunk({ role: 'assistant', content: '' })),
  event(chunk({ content: 'hel' })),
  event(chunk({ content: 'lo' })),
  event(chunk({}, 'stop')),
  USAGE_FRAME,
  event('[DONE]'),
]
const MESSAGES = [
  event(
    {
      type: 'message_start',
      message: {
        ...{ id: 'm-1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] },
        ...{ stop_reason: null, stop_sequence: null },
        usage: { input_tokens: 7, cache_read_input_tokens: 2, cache_creation_input_tokens: 1, output_tokens: 1 },
      },
    },
    'message_start',
  ),
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start'),
  event({ type: 'ping' }, 'ping'),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hel' } }, 'content_block_delta'),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } }, 'content_block_delta'),
  event({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }, 'message_delta'),
  event({ type: 'message_stop' }, 'message_stop'),
]

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

/** As the last event of it says. */
async function usageIn(rig: GatewayRig, run: string): Promise<JsonObject | undefined> {
  let usage: JsonObject | undefined
  for await (const { header, data } of rig.client.events(run))
    if (header.type === 'UsageRecorded') usage = data.usage as JsonObject
  return usage
}

async function spent(rig: GatewayRig, run: string): Promise<JsonObject> {
  const { tokens, cost, reservedTokens } = await rig.client.budget(run)
  return { tokens, cost, reservedTokens } as JsonObject
}

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

/** A stream as a client without a package reads it: what came, and whether it broke off. */
async function read(rig: GatewayRig, path: string, body: object, signal?: AbortSignal) {
  const response = await fetch(`${rig.url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': rig.key, 'content-type': 'application/json', 'x-countersign-run': 'r-1' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
  let text = ''
  try {
    for await (const part of response.body ?? []) text += Buffer.from(part).toString()
    return { status: response.status, text, isBroken: false }
  } catch {
    return { status: response.status, text, isBroken: true }
  }
}
const STREAM = { ...ASK, stream: true }
const CHAT_PATH = '/openai/v1/chat/completions'
const MESSAGES_PATH = '/anthropic/v1/messages'

gateway(
  'an error in mid-stream is a failure with the usage of what came; the client gets it as it was sent (CAP-25)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    const error = { error: { message: 'The server is overloaded.', type: 'server_error' } }
    rig.answers(sends(...CHAT.slice(0, 3), event(error)))
    const broken = await read(rig, CHAT_PATH, STREAM)
    assert.is(broken.text, [...CHAT.slice(0, 3), event(error)].join(''))
    const [call] = await rig.settled('r-1')
    assert.is(call?.status, 'failed')
    assert.match(JSON.stringify(call?.error), 'The server is overloaded.')
    const usage = await usageIn(rig, 'r-1')
    assert.is(usage?.outputTokens, 3, 'five bytes')
    assert.is(usage?.estimated, true)
    assert.is((await spent(rig, 'r-1')).reservedTokens, 0)
  },
)

gateway(
  'a stream that is cut is a failure with the usage of what came, by the provider’s word where it gave one (CAP-25)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    rig.answers((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(MESSAGES.slice(0, 4).join(''), () => response.destroy())
    })
    const broken = await read(rig, MESSAGES_PATH, { ...ASK_CLAUDE, stream: true })
    assert.is(broken.isBroken, true)
    assert.is(broken.text, MESSAGES.slice(0, 4).join(''))
    const [call] = await rig.settled('r-1')
    assert.is(fieldsIn(call?.error).code, 'stream-broken')
    const usage = await usageIn(rig, 'r-1')
    assert.equal([usage?.inputTokens, usage?.outputTokens, usage?.estimated], [10, 2, true])
  },
)

gateway('a stream without an end is charged all that was reserved, as an estimate (CAP-25)', async () => {
  await using rig = await gatewayRig({ file: { prices: PRICES } })
  rig.answers(sends(...CHAT.slice(0, 3)))
  assert.is((await read(rig, CHAT_PATH, STREAM)).text, CHAT.slice(0, 3).join(''))
  const [call] = await rig.settled('r-1')
  assert.is(fieldsIn(call?.error).code, 'stream-without-end')
  const usage = await usageIn(rig, 'r-1')
  assert.is(usage?.tokens, Math.ceil(JSON.stringify(STREAM).length / 2) + 50)
  assert.is(usage?.estimated, true)
})

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

gateway(
  'what a provider refuses costs nothing and passes as it is; what it may have got and does not answer costs all that was reserved (CAP-25, CAP-28)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    rig.answers((response) => {
      response.writeHead(529, { 'content-type': 'application/json', 'retry-after': '7' })
      response.end('{"type":"error", "error":{"type":"overloaded_error","message":"Overloaded"}}')
    })
    const refused = await read(rig, MESSAGES_PATH, ASK_CLAUDE)
    assert.is(refused.status, 529)
    assert.is(refused.text, '{"type":"error", "error":{"type":"overloaded_error","message":"Overloaded"}}')
    await rig.settled('r-1')
    assert.is((await spent(rig, 'r-1')).tokens, 0)
    rig.answers((response) => void response.destroy())
    const silent = await read(rig, MESSAGES_PATH, ASK_CLAUDE)
    assert.is(silent.status, 502)
    assert.match(silent.text, 'provider_silent')
    await rig.settled('r-1', 2)
    assert.is((await usageIn(rig, 'r-1'))?.estimated, true)
    assert.is(rig.received.length, 2, 'nothing is sent again')
  },
)

gateway('a ledger that cannot record refuses the request, and nothing is sent (CAP-24)', async () => {
  const away = { is: false }
  await using rig = await gatewayRig({
    wrap: (ledger) => ({
      ...ledger,
      execute: async (caller, runId, command, info) => {
        if (away.is)
          return { ok: false, refusal: { code: 'store-unavailable', detail: 'the disk is full' }, replayed: false }
        return ledger.execute(caller, runId, command, info)
      },
    }),
  })
  away.is = true
  for (const [path, body] of [
    [CHAT_PATH, STREAM],
    [MESSAGES_PATH, ASK_CLAUDE],
  ] as const) {
    const refused = await read(rig, path, body)
    assert.is(refused.status, 503)
    assert.match(refused.text, 'ledger_away')
  }
  assert.is(rig.received.length, 0)
  away.is = false
  rig.answers((response) => {
    away.is = true
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(CHAT.join(''))
    setImmediate(() => setTimeout(() => (away.is = false), 100))
  })
  assert.is((await read(rig, CHAT_PATH, STREAM)).isBroken, false, 'the outcome is sent again until it is recorded')
  const calls = await rig.settled('r-1')
  assert.is(calls.at(-1)?.status, 'succeeded')
})

gateway(
  'keys are in no event and no line of the log; images are digests, and a policy’s redaction finds what streams in pieces (CAP-26)',
  async () => {
    await using rig = await gatewayRig()
    const image = {
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${Buffer.from('a picture').toString('base64')}` },
    }
    const policy = { redaction: [{ name: 'mail', at: ['/**'], find: ['email'] }] }
    await rig.client.execute('', { kind: 'start', body: { id: 'r-1', name: 'test', policy } } as never)
    const pieces = ['it is ann', '@exam', 'ple.com and ', UPSTREAM_KEY.slice(0, 9), UPSTREAM_KEY.slice(9)]
    rig.answers(sends(...pieces.map((content) => event(chunk({ content }))), ...CHAT.slice(3)))
    const messages = [{ role: 'user', content: [image, { type: 'text', text: `my key is ${rig.key}` }] }]
    const streamed = await read(rig, CHAT_PATH, { ...STREAM, messages })
    assert.match(streamed.text, '@exam', 'what is relayed is not touched')
    rig.answers(
      (response) =>
        void response
          .writeHead(401, { 'content-type': 'application/json' })
          .end(`{"error":{"message":"bad key ${UPSTREAM_KEY}"}}`),
    )
    await read(rig, CHAT_PATH, ASK)
    const calls = JSON.stringify(await rig.settled('r-1', 2))
    assert.match(calls, bytesDigest(Buffer.from('a picture')))
    assert.match(calls, 'redacted: mail')
    let written = ''
    for await (const { header, data } of rig.client.events('r-1')) written += JSON.stringify({ header, data })
    for (const text of [written, calls, JSON.stringify(rig.logs)]) {
      assert.not.match(text, UPSTREAM_KEY)
      assert.not.match(text, rig.key)
      assert.not.match(text, 'ann@example.com')
      assert.not.match(text, Buffer.from('a picture').toString('base64'))
    }
    assert.match(written, 'ToolCallSucceeded')
  },
)

gateway(
  'a key is a token of the ledger; without a run it has one a day, and it may use the models that a rule gives it (CAP-27)',
  async () => {
    await using rig = await gatewayRig({ file: { keys: [{ agent: 'writer', models: ['gpt-5*'] }] } })
    rig.answers((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ choices: [], usage: USAGE }))
    })
    const post = async (key: string, body: object, headers: object = {}) =>
      fetch(`${rig.url}${CHAT_PATH}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    assert.is((await post('sk-cs-nonsense', ASK)).status, 401)
    assert.is((await post(await rig.token({ scopes: ['runs:read'] }), ASK)).status, 403)
    assert.is((await post(rig.key, ASK)).status, 403, 'no rule names this key')
    const writer = await rig.token({ agent: 'writer' })
    assert.is((await post(writer, { ...ASK, model: 'o9' })).status, 403)
    assert.is(rig.received.length, 0)
    const runs = await Promise.all(
      [1, 2, 3].map(async () => (await post(writer, ASK)).headers.get('x-countersign-run')),
    )
    assert.is(new Set(runs).size, 1)
    assert.match(runs[0] ?? '', /^gateway-[0-9a-f]{12}-\d{4}-\d\d-\d\d$/)
    const [call] = await rig.settled(runs[0] ?? '', 3)
    assert.is(call?.agent, 'writer')
    const bound = await rig.token({ agent: 'writer', run: 'own' })
    assert.is((await post(bound, ASK)).headers.get('x-countersign-run'), 'own')
    assert.is((await post(bound, ASK, { 'x-countersign-run': 'other' })).status, 403)
  },
)

gateway(
  'other paths, and what is no strict JSON, are refused in the shape of the provider; models are listed (CAP-28, CAP-29)',
  async () => {
    await using rig = await gatewayRig()
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(`${rig.url}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${rig.key}`, 'content-type': 'application/json' },
      })
    const later = await ask('/openai/v1/responses', { method: 'POST', body: '{}' })
    assert.is(later.status, 404)
    assert.match(
      ((await later.json()) as { error: { message: string } }).error.message,
      'POST /openai/v1/chat/completions',
    )
    const claudes = await ask('/anthropic/v1/messages/batches', { method: 'POST', body: '{}' })
    assert.is(((await claudes.json()) as { error: { type: string } }).error.type, 'not_found_error')
    const twice = await ask(CHAT_PATH, { method: 'POST', body: '{"model":"a","model":"b"}' })
    assert.is(twice.status, 400)
    assert.is(rig.received.length, 0)
    rig.answers(
      (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}'),
    )
    assert.is(await (await ask('/openai/v1/models?x=1')).text(), '{"object":"list","data":[]}')
    assert.is(rig.received[0]?.path, '/v1/models?x=1')
  },
)

gateway('sixteen clients at once do not pass a hard limit (CAP-23)', async () => {
  const allowance = Math.ceil(JSON.stringify(ASK).length / 2) + 50
  await using rig = await gatewayRig({ file: { budget: { tokens: 5 * allowance + 10 } } })
  rig.answers((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const usage = { prompt_tokens: allowance - 50, completion_tokens: 50, total_tokens: allowance }
    response.end(JSON.stringify({ choices: [], usage }))
  })
  const answers = await Promise.all(Array.from({ length: 16 }, () => read(rig, CHAT_PATH, ASK)))
  assert.is(answers.filter(({ status }) => status === 200).length, 5)
  assert.is(answers.filter(({ status }) => status === 429).length, 11)
  assert.is((await spent(rig, 'r-1')).tokens, 5 * allowance)
})

gateway.run()
