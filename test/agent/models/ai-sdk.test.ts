import { APICallError, embed, embedMany, generateText, streamText, wrapEmbeddingModel, wrapLanguageModel } from 'ai'
import { MockEmbeddingModelV3, MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { aiSdkMiddleware } from '../../../src/agent/models/ai-sdk.ts'
import type { ModelSettings } from '../../../src/agent/models/model-settings.ts'
import { codeOf, HOMES, NO_WAIT, rejection, type TestHome } from '../homes.ts'

const PRICES = {
  currency: 'USD',
  models: { 'mock/m': { input: '2', output: '8', cachedInput: '1', maxOutputTokens: 40 } },
} as const
const USAGE = {
  inputTokens: { total: 9, noCache: 4, cacheRead: 5, cacheWrite: undefined },
  outputTokens: { total: 4, text: 4, reasoning: undefined },
}
const METADATA = { id: 'res-1', timestamp: new Date('2026-01-01T00:00:00Z'), modelId: 'm' }
const FINISHED = { unified: 'stop', raw: 'stop' } as const

function mock(fail: (n: number) => Error | undefined = () => undefined): MockLanguageModelV3 {
  let calls = 0
  const tried = (): void => {
    const failed = fail(++calls)
    if (failed !== undefined) throw failed
  }
  return new MockLanguageModelV3({
    provider: 'mock',
    modelId: 'm',
    doGenerate: async () => {
      tried()
      return {
        content: [{ type: 'text', text: 'hello there' }],
        finishReason: FINISHED,
        usage: USAGE,
        response: { ...METADATA, headers: { secret: 'header' }, body: { raw: 'body' } },
        warnings: [],
      }
    },
    doStream: async () => {
      tried()
      return {
        stream: simulateReadableStream({
          initialDelayInMs: null,
          chunkDelayInMs: null,
          chunks: [
            { type: 'stream-start' as const, warnings: [] },
            { type: 'response-metadata' as const, ...METADATA },
            { type: 'text-start' as const, id: '1' },
            { type: 'text-delta' as const, id: '1', delta: 'hello ' },
            { type: 'text-delta' as const, id: '1', delta: 'there' },
            { type: 'text-end' as const, id: '1' },
            { type: 'finish' as const, finishReason: FINISHED, usage: USAGE },
          ],
        }),
      }
    },
  })
}

/** What the SDK makes of a text, whole or streamed. */
const asks = {
  generateText: async (model: Parameters<typeof generateText>[0]['model']) => {
    const { text, usage, response } = await generateText({ model, prompt: 'hi' })
    return { text, input: usage.inputTokens, at: response.timestamp.toISOString() }
  },
  streamText: async (model: Parameters<typeof generateText>[0]['model']) => {
    const result = streamText({ model, prompt: 'hi', onError: () => undefined })
    const parts: string[] = []
    for await (const part of result.textStream) parts.push(part)
    return { parts, input: (await result.usage).inputTokens, at: (await result.response).timestamp.toISOString() }
  },
}

for (const { name, open } of HOMES) {
  const sdk = suite(`AI SDK middleware ${name}`)

  const process = (home: TestHome) => home.process(undefined, { prices: PRICES })
  const wrapped = (model: MockLanguageModelV3, settings: ModelSettings = {}) =>
    wrapLanguageModel({ model, middleware: aiSdkMiddleware(settings) })

  for (const [what, ask] of Object.entries(asks)) {
    sdk(`${what} gives what it gives without, live and from the record, and is charged`, async () => {
      await using home = await open()
      const bare = await ask(mock())
      const model = mock()
      const body = () => ask(wrapped(model)) as Promise<unknown>
      assert.equal(await process(home).run({ id: 'r', budget: { cost: '1.00 USD' } }, body), bare)
      assert.equal((await process(home).replay('r', body)).output, bare)
      const calls = [...model.doGenerateCalls, ...model.doStreamCalls]
      assert.equal([calls.length, calls[0]?.maxOutputTokens], [1, 40], 'sent with the bound that was reserved for')
      assert.is((await home.connection.budget('r')).cost, '0.000045')
      let written = ''
      for await (const portion of home.connection.exportRun('r')) written += portion
      assert.not.match(written, /secret|"raw":"body"/)
    })

    sdk(`${what}: over budget nothing is dialled`, async () => {
      await using home = await open()
      const model = mock()
      const error = await rejection(
        process(home).run({ budget: { tokens: 5 } }, async () => {
          if (what === 'generateText') return ask(wrapped(model)) as Promise<unknown>
          const result = streamText({ model: wrapped(model), prompt: 'hi', onError: () => undefined })
          for await (const part of result.fullStream) if (part.type === 'error') throw part.error
          return 'nothing'
        }),
      )
      assert.is(codeOf(error), 'budget-exceeded')
      assert.is(model.doGenerateCalls.length + model.doStreamCalls.length, 0)
    })
  }

  sdk('the runtime retries, each try reserved, and the SDK does not retry on top', async () => {
    await using home = await open()
    const busy = () => new APICallError({ message: 'busy', url: 'x', requestBodyValues: {}, statusCode: 503 })
    const model = mock((n) => (n < 3 ? busy() : undefined))
    const settings = { backoff: NO_WAIT }
    await process(home).run({ id: 'r', budget: { tokens: 5_000 } }, async () => {
      await generateText({ model: wrapped(model, settings), prompt: 'hi' })
    })
    let reserved = 0
    for await (const _ of home.connection.events('r', 'BudgetReserved')) reserved += 1
    assert.equal([model.doGenerateCalls.length, reserved], [3, 3])
    const down = mock(busy)
    const error = await rejection(
      process(home).run(async () => {
        await generateText({ model: wrapped(down, settings), prompt: 'hi' })
      }),
    )
    assert.equal([codeOf(error), down.doGenerateCalls.length], ['model-failed', 3])
  })

  sdk('outside of a run nothing is dialled', async () => {
    const model = mock()
    assert.is(codeOf(await rejection(generateText({ model: wrapped(model), prompt: 'hi' }))), 'no-active-run')
    assert.is(model.doGenerateCalls.length, 0)
  })

  sdk('embed and embedMany are calls of the model, charged by its tokens and served (RUN-77)', async () => {
    await using home = await open()
    let requests = 0
    const bare = new MockEmbeddingModelV3({
      provider: 'mock',
      modelId: 'm',
      maxEmbeddingsPerCall: 2,
      doEmbed: async ({ values }) => {
        requests += 1
        return { embeddings: values.map((value) => [value.length, 0.5]), usage: { tokens: 5 }, warnings: [] }
      },
    })
    const model = wrapEmbeddingModel({ model: bare, middleware: aiSdkMiddleware() })
    const body = async () => {
      const { embedding } = await embed({ model, value: 'one' })
      const { embeddings, usage } = await embedMany({ model, values: ['a', 'bb', 'ccc'] })
      return [embedding, ...embeddings, usage.tokens]
    }
    const expected = [[3, 0.5], [1, 0.5], [2, 0.5], [3, 0.5], 10]
    const cs = home.process(undefined, { prices: PRICES })
    assert.equal(await cs.run({ id: 'e', name: 'e', budget: { cost: '0.01 USD' } }, body), expected)
    assert.equal((await cs.replay('e', body)).output, expected)
    assert.is(requests, 3)
    const costs: unknown[] = []
    for await (const { data } of home.connection.events('e', 'UsageRecorded'))
      costs.push((data.usage as { cost?: string }).cost)
    assert.equal(costs, ['0.00001', '0.00001', '0.00001'])
  })

  sdk.run()
}
