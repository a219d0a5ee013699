import { load } from '@langchain/core/load'
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { StringOutputParser } from '@langchain/core/output_parsers'
import { ChatPromptTemplate } from '@langchain/core/prompts'
import { RunnableLambda } from '@langchain/core/runnables'
import { tool } from '@langchain/core/tools'
import { FakeListChatModel, FakeStreamingChatModel } from '@langchain/core/utils/testing'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { langchainHandler } from '../../../src/agent/models/lang-chain-handler.ts'
import { langchainTool } from '../../../src/agent/models/lang-chain-tool.ts'
import { trackRunnable } from '../../../src/agent/models/track-runnable.ts'
import { outcomeOf } from '../../../src/agent/saga/outcome.ts'
import { codeOf, HOMES, NO_WAIT, rejection, type TestHome } from '../homes.ts'
import { collected } from './fake-providers.ts'

const SETTINGS = { provider: 'fake', model: 'm', load, maxOutputTokens: 50 } as const
const PRICES = { currency: 'USD', models: { 'fake/m': { input: '2', output: '8' } } } as const
const USAGE = { input_tokens: 9, output_tokens: 4, total_tokens: 13 }

/** Counts what is dialled, below all that LangChain does on top, and says what it used, which the fakes do not. */
function model(): { chat: FakeStreamingChatModel; dialled: () => number } {
  let dialled = 0
  class Counting extends FakeStreamingChatModel {
    override async _generate(...args: Parameters<FakeStreamingChatModel['_generate']>) {
      dialled += 1
      const result = await super._generate(...args)
      for (const { message } of result.generations) Object.assign(message, { usage_metadata: USAGE })
      return result
    }
    override async *_streamResponseChunks(...args: Parameters<FakeStreamingChatModel['_streamResponseChunks']>) {
      dialled += 1
      let n = 0
      for await (const chunk of super._streamResponseChunks(...args)) {
        if (++n === 2) Object.assign(chunk.message, { usage_metadata: USAGE })
        yield chunk
      }
    }
  }
  const chunks = ['hello ', 'there'].map((content) => new AIMessageChunk({ content }))
  return { chat: new Counting({ sleep: 0, responses: [new AIMessage('hello there')], chunks }), dialled: () => dialled }
}

const asks: Readonly<Record<string, (chat: FakeStreamingChatModel) => Promise<unknown>>> = {
  invoke: async (chat) => (await chat.invoke('hi')).content,
  stream: async (chat) => (await collected(await chat.stream('hi'))).map(({ content }) => content),
  'a stream added up': async (chat) => {
    let whole: AIMessageChunk | undefined
    for await (const chunk of await chat.stream([new HumanMessage('hi')])) {
      whole = whole === undefined ? chunk : whole.concat(chunk)
    }
    return [whole?.content, AIMessageChunk.isInstance(whole)]
  },
  batch: async (chat) => (await chat.batch(['one'])).map(({ content }) => content),
  'a chain': async (chat) =>
    ChatPromptTemplate.fromMessages([['user', '{q}']])
      .pipe(chat)
      .pipe(new StringOutputParser())
      .invoke({ q: 'hi' }),
  'a chain streamed': async (chat) =>
    collected(
      await ChatPromptTemplate.fromMessages([['user', '{q}']])
        .pipe(chat)
        .pipe(new StringOutputParser())
        .stream({ q: 'hi' }),
    ),
  streamEvents: async (chat) =>
    (await collected(chat.streamEvents('hi', { version: 'v2' }))).map(({ event, data }) => [
      event,
      (data.chunk as BaseMessage | undefined)?.content ?? null,
    ]),
  'bound to tools': async (chat) => {
    const lookup = tool(() => 'x', { name: 'lookup', description: 'looks', schema: z.object({ q: z.string() }) })
    return ((await chat.bindTools([lookup]).invoke('hi')) as BaseMessage).content
  },
}

for (const { name, open } of HOMES) {
  const chain = suite(`LangChain ${name}`)

  const process = (home: TestHome) => home.process(undefined, { prices: PRICES })

  for (const [what, ask] of Object.entries(asks)) {
    chain(`${what}: a tracked chat model gives what the bare one gives, live and from the record`, async () => {
      await using home = await open()
      const bare = JSON.parse(JSON.stringify(await ask(model().chat)))
      const { chat, dialled } = model()
      const body = (): Promise<unknown> => ask(trackRunnable(chat, SETTINGS))
      assert.equal(await process(home).run({ id: 'r', budget: { cost: '1.00 USD' } }, body), bare)
      assert.equal((await process(home).replay('r', body)).output, bare)
      const calls = await home.connection.calls('r')
      assert.equal([calls.length, calls[0]?.phase], [1, 'model'], 'each call is one call, also where tools are bound')
      if (what !== 'bound to tools') assert.is(dialled(), 1)
      const { cost, reservedCost } = await home.connection.budget('r')
      if (what !== 'bound to tools') assert.equal([cost, reservedCost], ['0.00005', '0'])
    })
  }

  chain('a stream whose provider is busy is asked for again by the runtime (RUN-235)', async () => {
    await using home = await open()
    let dialled = 0
    class Busy extends FakeStreamingChatModel {
      override async *_streamResponseChunks(...args: Parameters<FakeStreamingChatModel['_streamResponseChunks']>) {
        dialled += 1
        if (dialled < 3) throw Object.assign(new Error('busy'), { status: 503 })
        yield* super._streamResponseChunks(...args)
      }
    }
    const { chunks } = model().chat
    const chat = trackRunnable(new Busy({ sleep: 0, chunks }), { ...SETTINGS, backoff: NO_WAIT })
    const body = async (): Promise<unknown> => (await collected(await chat.stream('hi'))).map(({ content }) => content)
    assert.equal(await process(home).run({ id: 'r', budget: { tokens: 1_000 } }, body), ['hello ', 'there'])
    assert.equal((await process(home).replay('r', body)).output, ['hello ', 'there'])
    assert.is(dialled, 3)
    assert.is((await home.connection.calls('r'))[0]?.attempt, 3)
  })

  chain('what a model said is sent again after a crash, though LangChain gives it another id', async () => {
    await using home = await open()
    const list = new FakeListChatModel({ responses: ['one', 'two'] })
    const body = async (): Promise<unknown> => {
      const chat = trackRunnable(list, SETTINGS)
      const first = await chat.invoke('a')
      return (await chat.invoke([new HumanMessage('a'), first, new HumanMessage('b')])).content
    }
    assert.is(await process(home).run({ id: 'r' }, body), 'two')
    assert.is((await process(home).replay('r', body)).output, 'two')
  })

  chain('over budget nothing is dialled, in a chain as well', async () => {
    await using home = await open()
    const { chat, dialled } = model()
    const body = (): Promise<unknown> =>
      trackRunnable(chat, SETTINGS).pipe(new StringOutputParser()).invoke('hi') as Promise<unknown>
    assert.is(codeOf(await rejection(process(home).run({ budget: { tokens: 10 } }, body))), 'budget-exceeded')
    assert.is(codeOf(await rejection(body())), 'no-active-run')
    assert.is(dialled(), 0)
  })

  chain('any other Runnable is one call, and a stream of it one piece', async () => {
    await using home = await open()
    let dialled = 0
    const upper = RunnableLambda.from(async (text: string) => {
      dialled += 1
      return { text: text.toUpperCase() }
    })
    const body = async (): Promise<unknown> => {
      const tracked = trackRunnable(upper, SETTINGS)
      const piped = tracked.pipe(({ text }: { text: string }) => text)
      return [
        await tracked.invoke('a'),
        await tracked.batch(['b', 'c']),
        await collected(await tracked.stream('d')),
        await piped.invoke('e'),
        await collected(await piped.stream('f')),
      ]
    }
    const expected = [{ text: 'A' }, [{ text: 'B' }, { text: 'C' }], [{ text: 'D' }], 'E', ['F']]
    assert.equal(await process(home).run({ id: 'r' }, body), expected)
    assert.equal((await process(home).replay('r', body)).output, expected)
    assert.is(dialled, 6)
  })

  chain('a tool is claimed, served and undone; the schema is judged before', async () => {
    await using home = await open()
    const log: string[] = []
    const bare = tool(
      async ({ city }: { city: string }) => {
        log.push(`book ${city}`)
        return `booked ${city}`
      },
      { name: 'book', description: 'books a hotel', schema: z.object({ city: z.string() }) },
    )
    const program = (fails: boolean) => {
      const cs = home.process()
      const book = langchainTool(cs, bare, { compensate: ({ result }) => void log.push(`undo ${result}`) })
      return {
        cs,
        body: async (): Promise<unknown> => {
          const plain = await book.invoke({ city: 'Oslo' })
          const asCall = await book.invoke({ id: 'c1', name: 'book', type: 'tool_call', args: { city: 'Rome' } })
          const bad = await rejection(book.invoke({ city: 7 } as never))
          if (fails) throw new Error('no room')
          return [plain, (asCall as unknown as BaseMessage).content, (bad as Error).name]
        },
      }
    }
    const first = program(false)
    const output = await first.cs.run({ id: 'r' }, first.body)
    assert.equal((output as unknown[]).slice(0, 2), ['booked Oslo', 'booked Rome'])
    const again = program(false)
    assert.equal((await again.cs.replay('r', again.body)).output, output)
    assert.equal(log, ['book Oslo', 'book Rome'])
    const failing = program(true)
    const error = await rejection(failing.cs.run({ id: 'f' }, failing.body))
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    assert.equal(log.slice(2), ['book Oslo', 'book Rome', 'undo booked Rome', 'undo booked Oslo'])
    assert.is(codeOf(await rejection(failing.body())), 'no-active-run')
  })

  chain('the handler only records: the model runs, and what it used is overshoot', async () => {
    await using home = await open()
    const { chat, dialled } = model()
    const output = await process(home).run({ id: 'r', budget: { tokens: 5 } }, async () => {
      const callbacks = [langchainHandler({ provider: 'fake', model: 'm' })]
      return (await chat.invoke('hi', { callbacks })).content as string
    })
    assert.is(output, 'hello there')
    assert.is(dialled(), 1)
    for await (const { data } of home.connection.events('r', 'UsageRecorded')) {
      assert.equal([(data.usage as { cost?: string }).cost, data.overshoot], ['0.00005', { tokens: 8, cost: '0' }])
    }
    assert.is((await home.connection.budget('r')).tokens, 13)
    assert.throws(() => langchainHandler({ provider: 'fake', model: 'm' }), /outside of a run/)
  })

  chain.run()
}
