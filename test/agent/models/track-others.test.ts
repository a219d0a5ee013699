import Anthropic from '@anthropic-ai/sdk'
import { Ollama } from 'ollama'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { trackAnthropic } from '../../../src/agent/models/track-anthropic.ts'
import { trackOllama } from '../../../src/agent/models/track-ollama.ts'
import { codeOf, HOMES, NO_WAIT, rejection, type TestHome } from '../homes.ts'
import { anthropic, collected, type FakeProvider, fakeProvider, ollama } from './fake-providers.ts'

const MODEL = 'model-test'
const PRICES = {
  currency: 'USD',
  models: { [MODEL]: { input: '2', output: '8', cachedInput: '1', cacheWrite: '3', maxOutputTokens: 100 } },
} as const
const messages = [{ role: 'user' as const, content: 'hello' }]
const HELLO = { model: MODEL, max_tokens: 50, messages }

const anthropicOf = ({ fetch }: FakeProvider): Anthropic =>
  new Anthropic({ apiKey: 'k', baseURL: 'http://model.test', fetch })
const ollamaOf = ({ fetch }: FakeProvider): Ollama => new Ollama({ host: 'http://model.test', fetch })
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

interface Case {
  readonly what: string
  readonly cost: string
  /** The same through a bare client and a tracked one, on a provider of its own. */
  readonly bare: () => Promise<unknown>
  readonly tracked: (provider: FakeProvider) => () => Promise<unknown>
  readonly answer: Parameters<typeof fakeProvider>[0]
}

function anthropicCase(what: string, ask: (client: Anthropic) => Promise<unknown>): Case {
  return {
    what,
    cost: '0.000049',
    answer: anthropic,
    bare: () => ask(anthropicOf(fakeProvider(anthropic))),
    tracked: (provider) => {
      const client = trackAnthropic(anthropicOf(provider))
      return () => ask(client)
    },
  }
}

function ollamaCase(what: string, ask: (client: Ollama) => Promise<unknown>): Case {
  return {
    what,
    cost: '0.00005',
    answer: ollama,
    bare: () => ask(ollamaOf(fakeProvider(ollama))),
    tracked: (provider) => {
      const client = trackOllama(ollamaOf(provider))
      return () => ask(client)
    },
  }
}

const CASES: readonly Case[] = [
  anthropicCase('anthropic messages.create', (client) => client.messages.create(HELLO)),
  anthropicCase('anthropic messages.create streamed', async (client) =>
    collected(await client.messages.create({ ...HELLO, stream: true })),
  ),
  anthropicCase('anthropic messages.stream', async (client) => {
    const stream = client.messages.stream(HELLO)
    return [await stream.finalText(), await stream.finalMessage()]
  }),
  ollamaCase('ollama chat', (client) => client.chat({ model: MODEL, messages })),
  ollamaCase('ollama chat streamed', async (client) =>
    collected(await client.chat({ model: MODEL, messages, stream: true })),
  ),
  ollamaCase('ollama generate', (client) => client.generate({ model: MODEL, prompt: 'hello' })),
  ollamaCase('ollama generate streamed', async (client) =>
    collected(await client.generate({ model: MODEL, prompt: 'hello', stream: true })),
  ),
]

for (const { name, open } of HOMES) {
  const track = suite(`other tracked clients ${name}`)

  const process = (home: TestHome) => home.process(undefined, { prices: PRICES })

  for (const { what, cost, bare, tracked, answer } of CASES) {
    track(`${what} gives what the bare client gives, chunk by chunk, live and from the record`, async () => {
      await using home = await open()
      const expected = plain(await bare())
      const provider = fakeProvider(answer)
      const ask = tracked(provider)
      const body = async (): Promise<unknown> => plain(await ask())
      assert.equal(await process(home).run({ id: 'r', budget: { cost: '1.00 USD' } }, body), expected)
      assert.equal((await process(home).replay('r', body)).output, expected)
      assert.is(provider.requests.length, 1)
      const usages: Json[] = []
      for await (const { data } of home.connection.events('r', 'UsageRecorded')) {
        usages.push((data.usage as JsonObject).cost ?? null)
      }
      assert.equal(usages, [cost])
    })
  }

  track('ollama: free where that is said, else of unknown price; bounded where the request is not', async () => {
    await using home = await open()
    const provider = fakeProvider(ollama)
    const cs = home.process()
    const free = trackOllama(ollamaOf(provider), { price: 'free', maxOutputTokens: 20 })
    const unpriced = trackOllama(ollamaOf(provider), { maxOutputTokens: 20 })
    await cs.run({ id: 'r', budget: { cost: '0.01 USD' } }, async () => {
      await free.chat({ model: MODEL, messages })
      assert.is(codeOf(await rejection(unpriced.chat({ model: MODEL, messages }))), 'unknown-price')
    })
    assert.equal([(await home.connection.budget('r')).cost, provider.requests.length], ['0', 1])
    assert.equal(provider.requests[0]?.options, { num_predict: 20 })
  })

  track('anthropic: overloaded is retried, each try reserved', async () => {
    await using home = await open()
    const busy = () => Response.json({ type: 'error', error: { type: 'overloaded_error' } }, { status: 529 })
    const provider = fakeProvider(anthropic, (n) => (n < 3 ? busy() : undefined))
    const client = trackAnthropic(anthropicOf(provider), { backoff: NO_WAIT })
    await process(home).run({ id: 'r', budget: { tokens: 10_000 } }, async () => {
      await client.messages.create(HELLO)
    })
    let reserved = 0
    for await (const _ of home.connection.events('r', 'BudgetReserved')) reserved += 1
    assert.equal([provider.requests.length, reserved], [3, 3])
  })

  track('what would spend outside of the budget is refused', async () => {
    await using home = await open()
    const claude = trackAnthropic(anthropicOf(fakeProvider(anthropic)))
    const llama = trackOllama(ollamaOf(fakeProvider(ollama)))
    await process(home).run(async () => {
      for (const ask of [
        () => claude.beta.messages.create(HELLO),
        () => claude.messages.batches.create({ requests: [] }),
        () => llama.embed({ model: MODEL, input: 'x' }),
      ]) {
        let code: unknown
        try {
          await ask()
        } catch (error) {
          code = codeOf(error)
        }
        assert.is(code, 'not-tracked')
      }
    })
  })

  track.run()
}
