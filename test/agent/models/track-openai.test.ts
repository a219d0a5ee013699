import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { agent } from '../../../src/agent/loop/agent.ts'
import { openAiModel } from '../../../src/agent/loop/openai-model.ts'
import { trackOpenAI } from '../../../src/agent/models/track-openai.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import { outcomeOf } from '../../../src/agent/saga/outcome.ts'
import { codeOf, HOMES, killedAfter, NO_WAIT, rejection, type TestHome } from '../homes.ts'
import { collected, type FakeProvider, fakeProvider, openAi, sse } from './fake-providers.ts'

const MODEL = 'gpt-test'
const PRICES = {
  currency: 'USD',
  models: { [MODEL]: { input: '2', output: '8', cachedInput: '1', maxOutputTokens: 100 } },
} as const
const HELLO = { model: MODEL, messages: [{ role: 'user' as const, content: 'hello' }] }
const COST = '0.000045'

const clientOf = ({ fetch }: FakeProvider): OpenAI =>
  new OpenAI({ apiKey: 'k', baseURL: 'http://model.test/v1', fetch })
/** What a client gives, less what it alone knows of the exchange. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

for (const { name, open } of HOMES) {
  const track = suite(`trackOpenAI ${name}`)

  const process = (home: TestHome) => home.process(undefined, { prices: PRICES })
  const usageIn = async (home: TestHome): Promise<Json[]> => {
    const all: Json[] = []
    for await (const { data } of home.connection.events('r', 'UsageRecorded'))
      all.push((data as JsonObject).usage ?? null)
    return all
  }

  const asks: Readonly<Record<string, (client: OpenAI) => Promise<unknown>>> = {
    'chat.completions.create': (client) => client.chat.completions.create(HELLO),
    'chat.completions.create streamed': async (client) =>
      collected(await client.chat.completions.create({ ...HELLO, stream: true })),
    'chat.completions.create streamed, with usage': async (client) =>
      collected(
        await client.chat.completions.create({ ...HELLO, stream: true, stream_options: { include_usage: true } }),
      ),
    'chat.completions.stream': async (client) => {
      const stream = client.chat.completions.stream(HELLO)
      return [await stream.finalContent(), await stream.finalMessage()]
    },
    'chat.completions.parse': (client) => client.chat.completions.parse(HELLO),
    'responses.create': (client) => client.responses.create({ model: MODEL, input: 'hello' }),
    'responses.create streamed': async (client) =>
      collected(await client.responses.create({ model: MODEL, input: 'hello', stream: true })),
    'responses.stream': (client) => client.responses.stream({ model: MODEL, input: 'hello' }).finalResponse(),
    'responses.parse': (client) => client.responses.parse({ model: MODEL, input: 'hello' }),
    withResponse: async (client) => (await client.chat.completions.create(HELLO).withResponse()).data,
    'tee and toReadableStream': async (client) => {
      const [left, right] = (await client.chat.completions.create({ ...HELLO, stream: true })).tee()
      const lines = await new Response(right.toReadableStream()).text()
      return [await collected(left), lines.trim().split('\n').length]
    },
  }

  for (const [what, ask] of Object.entries(asks)) {
    track(`${what} gives what the bare client gives, chunk by chunk, live and from the record`, async () => {
      await using home = await open()
      const bare = plain(await ask(clientOf(fakeProvider(openAi))))
      const provider = fakeProvider(openAi)
      const client = trackOpenAI(clientOf(provider))
      const body = async (): Promise<unknown> => plain(await ask(client))
      const options = { id: 'r', budget: { cost: '1.00 USD' } } as const
      assert.equal(await process(home).run(options, body), bare)
      assert.equal((await process(home).replay('r', body)).output, bare)
      assert.is(provider.requests.length, 1, 'a served call dials nobody')
      const [usage] = await usageIn(home)
      const { cost, estimated, cachedInputTokens } = usage as JsonObject
      assert.equal([cost, estimated, cachedInputTokens], [COST, undefined, 5])
    })
  }

  track('a request without a bound is sent with the one that was reserved for; one with a bound as it is', async () => {
    await using home = await open()
    const provider = fakeProvider(openAi)
    const client = trackOpenAI(clientOf(provider), { countTokens: () => 0 })
    await process(home).run({ budget: { tokens: 80 + 64 } }, async () => {
      await client.chat.completions.create({ ...HELLO, max_tokens: 7, n: 2 })
      await client.chat.completions.create(HELLO)
      await client.responses.create({ model: MODEL, input: 'x' })
    })
    const bounds = provider.requests.map((each) => [
      each.max_tokens,
      each.max_completion_tokens,
      each.max_output_tokens,
    ])
    assert.equal(bounds, [
      [7, undefined, undefined],
      [undefined, 67, undefined],
      [undefined, undefined, 54],
    ])
  })

  track('its own retries are off: the runtime asks again after Retry-After, each try reserved (RUN-47)', async () => {
    await using home = await open()
    const busy = () =>
      Response.json({ error: { message: 'busy' } }, { status: 429, headers: { 'retry-after-ms': '1' } })
    const provider = fakeProvider(openAi, (n) =>
      n === 1 ? busy() : n === 2 ? new TypeError('fetch failed') : undefined,
    )
    const client = trackOpenAI(clientOf(provider), { backoff: NO_WAIT })
    await process(home).run({ id: 'r', budget: { tokens: 1_000 } }, async () => {
      await client.chat.completions.create(HELLO)
    })
    let reserved = 0
    for await (const _ of home.connection.events('r', 'BudgetReserved')) reserved += 1
    assert.equal([provider.requests.length, reserved], [3, 3])
    const denied = fakeProvider(openAi, () => Response.json({ error: { message: 'no' } }, { status: 401 }))
    const error = await rejection(
      process(home).run(async () => {
        await trackOpenAI(clientOf(denied)).chat.completions.create(HELLO)
      }),
    )
    assert.ok(error instanceof OpenAI.AuthenticationError)
    assert.is(denied.requests.length, 1)
  })

  track(
    'a stream that breaks is charged by counted tokens, as an estimate, and breaks again from the record, behind what came before (RUN-75)',
    async () => {
      await using home = await open()
      const chunk = (content: string): JsonObject => ({ choices: [{ index: 0, delta: { content } }] })
      const provider = fakeProvider(() => sse([chunk('four'), chunk('more'), new Error('cut')]))
      const client = trackOpenAI(clientOf(provider), { countTokens: (text) => text.length })
      const body = async (): Promise<unknown> => {
        const stream = await client.chat.completions.create({ ...HELLO, stream: true })
        const read: unknown[] = []
        try {
          for await (const each of stream) read.push(each.choices[0]?.delta.content)
        } catch (error) {
          return { read, broke: (error as Error).message.length > 0 }
        }
        return read
      }
      const broken = { read: ['four', 'more'], broke: true }
      assert.equal(await process(home).run({ id: 'r', budget: { tokens: 1_000 } }, body), broken)
      const [usage] = await usageIn(home)
      const { outputTokens, estimated } = usage as JsonObject
      assert.equal([outputTokens, estimated, provider.requests.length], [8, true, 1])
      assert.equal((await process(home).replay('r', body)).output, broken)
    },
  )

  track(
    'embeddings are calls of the model, reserved, charged and served; large vectors stand beside the events (RUN-77)',
    async () => {
      await using home = await open()
      const DIMENSIONS = 1_536
      const vector = (seed: number) =>
        Float32Array.from({ length: DIMENSIONS }, (_, i) => Math.fround(Math.sin(seed * 31 + i)))
      const data = [1, 2, 3].map((seed, index) => {
        return { object: 'embedding', index, embedding: Buffer.from(vector(seed).buffer).toString('base64') }
      })
      const provider = fakeProvider(() =>
        Response.json({ object: 'list', model: MODEL, data, usage: { prompt_tokens: 12, total_tokens: 12 } }),
      )
      const client = trackOpenAI(clientOf(provider))
      const body = async (): Promise<number[]> => {
        const { data: vectors } = await client.embeddings.create({ model: MODEL, input: ['a', 'b', 'c'] })
        return vectors.map(({ embedding }) => embedding.length + (embedding[7] ?? 0))
      }
      const expected = [1, 2, 3].map((seed) => DIMENSIONS + (vector(seed)[7] ?? 0))
      assert.equal(await process(home).run({ id: 'r', budget: { tokens: 1_000, cost: '0.01 USD' } }, body), expected)
      assert.equal((await process(home).replay('r', body)).output, expected)
      assert.is(provider.requests.length, 1)
      const [usage] = await usageIn(home)
      const { inputTokens, outputTokens, cost, model } = usage as JsonObject
      assert.equal([inputTokens, outputTokens, cost, model], [12, 0, '0.000024', MODEL])
      for await (const { data: outcome } of home.connection.events('r', 'ToolCallSucceeded')) {
        assert.is(outcome.result, undefined)
        assert.ok(Number((outcome.resultRef as JsonObject).bytes) > 65_536)
      }
    },
  )

  track('a stream that its reader leaves is stopped, settled with what was read, and served so', async () => {
    await using home = await open()
    let cancelled = false
    const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word' } }] })}\n\n`
    const endless = (): Response =>
      new Response(
        new ReadableStream<Uint8Array>(
          {
            pull: (controller) => (cancelled ? undefined : controller.enqueue(new TextEncoder().encode(chunk))),
            cancel: () => {
              cancelled = true
            },
          },
          { highWaterMark: 0 },
        ),
        { headers: { 'content-type': 'text/event-stream' } },
      )
    const client = trackOpenAI(clientOf(fakeProvider(endless)))
    const body = async (): Promise<string> => {
      for await (const each of await client.chat.completions.create({ ...HELLO, stream: true })) {
        return String(each.choices[0]?.delta.content)
      }
      return 'nothing'
    }
    assert.is(await process(home).run({ id: 'r', budget: { tokens: 100_000 } }, body), 'word')
    assert.ok(cancelled)
    assert.is((await process(home).replay('r', body)).output, 'word')
    assert.is((await home.connection.budget('r')).reservedTokens, 0)
  })

  track('what would spend outside of the budget is refused, and what spends nothing is not', async () => {
    await using home = await open()
    const client = trackOpenAI(clientOf(fakeProvider(openAi)))
    const refused = async (ask: () => unknown): Promise<unknown> => {
      try {
        return await ask()
      } catch (error) {
        return codeOf(error)
      }
    }
    assert.is(await refused(() => client.chat.completions.create(HELLO)), 'no-active-run')
    await process(home).run(async () => {
      const asks = [
        () => client.completions.create({ model: MODEL, prompt: 'x' }),
        () => client.images.generate({ prompt: 'x' }),
        () => client.post('/chat/completions', { body: HELLO }),
        () => client.chat.completions.create(HELLO).asResponse(),
      ]
      for (const ask of asks) assert.is(await refused(ask), 'not-tracked')
    })
    const other = client.withOptions({ timeout: 5 })
    assert.is(await refused(() => other.chat.completions.create(HELLO)), 'no-active-run')
    const { chat } = client
    assert.equal([client.baseURL, client instanceof OpenAI, client.chat === chat], ['http://model.test/v1', true, true])
  })

  track('a digest of a stream calls again on resume where configured to, and stops there else', async () => {
    await using home = await open()
    const provider = fakeProvider(openAi)
    const body = (onMissing: 'call' | 'stop') => async (): Promise<string> => {
      const client = trackOpenAI(clientOf(provider), { record: 'digest', onMissing })
      const texts: string[] = []
      for await (const { choices } of await client.chat.completions.create({ ...HELLO, stream: true })) {
        texts.push(choices[0]?.delta.content ?? '')
      }
      return texts.join('')
    }
    const { change, dead } = killedAfter(3, true)
    void home.process(change).run({ id: 'r' }, body('call'))
    await dead
    assert.is(codeOf(await rejection(home.process().run({ id: 'r' }, body('stop')))), 'not-recorded')
    assert.is(await home.process().run({ id: 'r' }, body('call')), 'my CANARY says hello')
    assert.is(provider.requests.length, 2)
  })

  track(
    'the loop with a tracked client is held to the budget, and left standing where the author says so',
    async () => {
      await using home = await open()
      const provider = fakeProvider(openAi)
      const model = openAiModel(trackOpenAI(clientOf(provider)), {
        model: MODEL,
        request: { max_completion_tokens: 20 },
      })
      const asked = (tokens: number, id: string): Promise<unknown> =>
        process(home).run(
          { id, budget: { tokens }, compensateOnBudgetExceeded: false },
          async () => (await agent({ model, tools: [] }).generate({ prompt: 'hello' })).text,
        )
      assert.is(await asked(1_000, 'enough'), 'my CANARY says hello')
      const error = await rejection(asked(50, 'short'))
      assert.equal([codeOf(error), outcomeOf(error)?.status], ['budget-exceeded', 'FAILED'])
      assert.is(provider.requests.length, 1)
    },
  )

  track('what is no such client is refused at once, and a plain object of that shape is tracked', async () => {
    await using home = await open()
    assert.throws(
      () => trackOpenAI({ chat: {} }),
      (error: unknown) => codeOf(error) === 'not-a-client',
    )
    const plainClient = { chat: { completions: { create: async (_: object) => ({ usage: null, choices: [] }) } } }
    const client = trackOpenAI(plainClient)
    assert.is(codeOf(await rejection(client.chat.completions.create(HELLO))), 'no-active-run')
    const answer = await process(home).run(() => client.chat.completions.create(HELLO))
    assert.equal(answer.choices, [])
  })

  track('what is redacted is nowhere on record, though a stream tears it apart', async () => {
    await using home = await open()
    const redact = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll('my CANARY', '***')) as Json
    const client = trackOpenAI(clientOf(fakeProvider(openAi)), { redact })
    const body = async (_: Run<unknown>): Promise<number> => {
      const texts: string[] = []
      for await (const { choices } of await client.chat.completions.create({ ...HELLO, stream: true })) {
        texts.push(choices[0]?.delta.content ?? '')
      }
      return texts.join('').length
    }
    assert.is(await process(home).run({ id: 'r' }, body), 'my CANARY says hello'.length)
    let written = ''
    for await (const portion of home.connection.exportRun('r')) written += portion
    assert.not.match(written, /CANARY/)
    assert.match(written, /\*\*\* says hello/)
  })

  track.run()
}
