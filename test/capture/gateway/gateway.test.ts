import { createServer } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fieldsIn } from '../../../src/agent/models/dialect.ts'
import { bytesDigest } from '../../../src/signing/digests.ts'
import { event, type GatewayRig, gatewayRig, sends, spent, UPSTREAM_KEY, usageIn } from '../../support/gateway-rig.ts'
import { listening } from '../../support/listening.ts'
import { ASK, ASK_CLAUDE, CHAT, chunk, MESSAGES, PRICES, USAGE } from '../../support/provider-streams.ts'
import { eventually } from '../../support/within.ts'

const gateway = suite('capture: model gateway')

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

gateway('a request that never left costs nothing: its address takes no connection (CAP-25)', async () => {
  const closed = createServer()
  const port = await listening(closed)
  await new Promise((resolve) => closed.close(resolve))
  const upstreams = { openai: { url: `http://127.0.0.1:${port}/v1`, key: { env: 'PATH' } } }
  await using rig = await gatewayRig({ file: { upstreams } })
  const unsent = await read(rig, CHAT_PATH, ASK)
  assert.is(unsent.status, 502)
  assert.match(unsent.text, 'provider_unreachable')
  const [call] = await rig.settled('r-1')
  assert.is(call?.status, 'failed')
  assert.equal(await spent(rig, 'r-1'), { tokens: 0, cost: '0', reservedTokens: 0 })
  const other = await read(rig, MESSAGES_PATH, ASK_CLAUDE)
  assert.match(other.text, 'upstream_not_configured')
})

gateway(
  'the end of the gateway is not recorded as the client’s leaving, in one piece and in mid-stream (CAP-64)',
  async () => {
    for (const [body, begin] of [
      [ASK, ''],
      [STREAM, CHAT.slice(0, 3).join('')],
    ] as const) {
      await using rig = await gatewayRig({ file: { prices: PRICES } })
      rig.answers((response) => {
        if (begin === '') return
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(begin)
      })
      const asked = read(rig, CHAT_PATH, body).catch(() => undefined)
      await eventually(() => rig.received[0], 'the request')
      await rig.cut()
      await asked
      const [call] = await rig.settled('r-1')
      const said = JSON.stringify([call?.result, call?.error])
      assert.match(said, /gateway-ended/)
      assert.not.match(said, /client/)
    }
  },
)

gateway(
  'a usage that no ledger takes is charged as an estimate, and the call has an outcome (CAP-22, CAP-24)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    for (const [at, usage] of [
      { prompt_tokens: 1, completion_tokens: 1e15 },
      { prompt_tokens: 1_000_000_000, completion_tokens: 1 },
    ].entries()) {
      rig.answers((response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ choices: [{ message: { content: 'hi' } }], usage }))
      })
      assert.is((await read(rig, CHAT_PATH, ASK)).status, 200)
      const calls = await rig.settled('r-1', at + 1)
      assert.is(calls[at]?.status, 'succeeded')
      assert.is((await usageIn(rig, 'r-1'))?.estimated, true)
    }
  },
)

gateway(
  'an answer whose outcome the ledger refuses for good is held back, and a stream of it cut (CAP-24)',
  async () => {
    await using rig = await gatewayRig({
      wrap: (ledger) => ({
        ...ledger,
        execute: async (caller, runId, command, info) =>
          command.kind === 'settle'
            ? { ok: false, refusal: { code: 'value-too-large', detail: 'no' }, replayed: false }
            : ledger.execute(caller, runId, command, info),
      }),
    })
    rig.answers((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"choices":[{"message":{"content":"hi"}}]}')
    })
    const held = await read(rig, CHAT_PATH, ASK)
    assert.is(held.status, 503)
    assert.match(held.text, 'not_recorded')
    rig.answers(sends(...CHAT))
    assert.is((await read(rig, CHAT_PATH, STREAM)).isBroken, true)
  },
)

gateway(
  'an answer with a number that a record cannot hold passes as it is, and is recorded by its digest, with its usage (CAP-63)',
  async () => {
    await using rig = await gatewayRig({ file: { prices: PRICES } })
    const whole = '{"id":12345678901234567890,"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}'
    rig.answers((response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(whole))
    assert.is((await read(rig, CHAT_PATH, ASK)).text, whole)
    const [call] = await rig.settled('r-1')
    assert.equal(call?.result, { digest: bytesDigest(Buffer.from(whole)), bytes: whole.length, kept: false })
    assert.is((await usageIn(rig, 'r-1'))?.outputTokens, 4)
    const odd = CHAT.map((frame) => frame.replace('"index":0', '"index":0,"n":12345678901234567890'))
    rig.answers(sends(...odd))
    await read(rig, CHAT_PATH, { ...STREAM, stream_options: { include_usage: true } })
    const [, streamed] = await rig.settled('r-1', 2)
    const text = odd.join('')
    assert.equal(streamed?.result, {
      digest: bytesDigest(Buffer.from(text)),
      bytes: Buffer.byteLength(text),
      kept: false,
    })
  },
)

gateway('a run that was refused too often answers 429 refusals_exhausted (CAP-23)', async () => {
  await using rig = await gatewayRig({ file: { budget: { tokens: 10 } } })
  const codes = new Set<string>()
  for (let count = 0; count < 25; count += 1) {
    const { status, text } = await read(rig, CHAT_PATH, ASK)
    assert.is(status, 429)
    codes.add(String(fieldsIn(fieldsIn(JSON.parse(text)).error).code))
  }
  assert.equal([...codes], ['budget_exceeded', 'refusals_exhausted'])
  assert.is(rig.received.length, 0)
})

gateway.run()
