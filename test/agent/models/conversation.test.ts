import { isDeepStrictEqual } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import { load } from '@langchain/core/load'
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { generateText, type ModelMessage, wrapLanguageModel } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import fc from 'fast-check'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { aiSdkMiddleware } from '../../../src/agent/models/ai-sdk.ts'
import {
  changeSince,
  indexedRequest,
  RecordedRequests,
  type RequestChange,
  wholeRequest,
} from '../../../src/agent/models/conversation.ts'
import { trackAnthropic } from '../../../src/agent/models/track-anthropic.ts'
import { trackOpenAI } from '../../../src/agent/models/track-openai.ts'
import { trackRunnable } from '../../../src/agent/models/track-runnable.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { canonicalJson } from '../../../src/signing/canonical-json.ts'
import { rounds } from '../../support/rounds.ts'
import { within } from '../../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, rejection, shortLife, type TestHome } from '../homes.ts'
import { collected } from './fake-providers.ts'

const test = suite('model conversations on record')
const [IN_PROCESS = never()] = HOMES
/** All of the claim in the soak: each turn sends all turns before it. */
const TURNS = rounds(15, 40, 61)
const said = (turn: number): string => `${turn}: ${'what was said '.repeat(200)}`

function never(): never {
  throw new Error('there are homes')
}

/** Asks once, with the whole conversation so far: the questions are odd, the answers even. */
type Ask = (texts: readonly string[]) => Promise<unknown>

const openAi = (): Ask => {
  const fetch = async () =>
    Response.json({
      id: 'c',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    })
  const client = trackOpenAI(new OpenAI({ apiKey: 'x', fetch }))
  const roles = ['user', 'assistant'] as const
  return (texts) =>
    client.chat.completions.create({
      model: 'm',
      messages: texts.map((content, i) => ({ role: roles[i % 2] ?? 'user', content })),
    })
}

const anthropic = (): Ask => {
  const fetch = async () =>
    Response.json({
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'yes' }],
      usage: { input_tokens: 1, output_tokens: 1 },
    })
  const client = trackAnthropic(new Anthropic({ apiKey: 'x', fetch }))
  // The mark of the cache moves on to the last message: the one before it changes as well.
  const marked = (text: string, isLast: boolean) => [
    { type: 'text' as const, text, ...(isLast && { cache_control: { type: 'ephemeral' as const } }) },
  ]
  return (texts) =>
    client.messages.create({
      model: 'm',
      max_tokens: 10,
      messages: texts.map((text, i) => ({
        role: i % 2 === 0 ? 'user' : 'assistant',
        content: marked(text, i === texts.length - 1),
      })),
    })
}

const aiSdk = (): Ask => {
  const bare = new MockLanguageModelV3({
    doGenerate: async () => ({
      content: [{ type: 'text', text: 'yes' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 1, text: 1, reasoning: undefined },
      },
      warnings: [],
    }),
  })
  const model = wrapLanguageModel({ model: bare, middleware: aiSdkMiddleware() })
  const messageOf = (content: string, i: number): ModelMessage => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content,
  })
  return (texts) => generateText({ model, messages: texts.map(messageOf) })
}

const langChain = (): Ask => {
  const bare = new FakeListChatModel({ responses: ['yes'] })
  const chat = trackRunnable(bare, { provider: 'fake', model: 'list', load })
  const messages = (texts: readonly string[]): BaseMessage[] =>
    texts.map((text, i) =>
      i === 0 ? new SystemMessage(text) : i % 2 === 1 ? new HumanMessage(text) : new AIMessage(text),
    )
  return (texts) => chat.invoke(messages(texts))
}

/** Sizes of what is on record of the requests, and the requests written out whole. */
async function recordedIn({ connection }: TestHome, runId: string) {
  const requests = new RecordedRequests()
  const whole = new Map<string, JsonObject>()
  let chars = 0
  for await (const { data } of connection.events(runId, 'ToolCallClaimed')) {
    if (data.phase !== 'model') continue
    const { args } = data
    chars += JSON.stringify(data).length
    const request = requests.whole(args as Json)
    // Claimed anew after a kill, a call is there twice: as the same request.
    if (request !== undefined) whole.set(String(data.callId), request)
  }
  return { chars, whole: [...whole.values()], plain: JSON.stringify([...whole.values()].at(-1)).length }
}

const CLIENTS = { OpenAI: openAi, Anthropic: anthropic, 'the AI SDK': aiSdk, LangChain: langChain }

for (const [name, client] of Object.entries(CLIENTS)) {
  test(`${name}: ${TURNS} turns are at most twice their plain size on record, and every request can be written out whole (RUN-84)`, async () => {
    for (const kind of client === openAi ? HOMES : [IN_PROCESS]) {
      await using home = await kind.open()
      const ask = client()
      const texts: string[] = []
      const body = async (): Promise<number> => {
        texts.length = 0
        for (let turn = 1; turn <= TURNS; turn += 1) {
          texts.push(said(2 * turn - 1))
          await ask(texts)
          texts.push(said(2 * turn))
        }
        return texts.length
      }
      const { change, dead } = killedAfter(2 * Math.floor(TURNS / 2), true)
      home
        .process(change)
        .run({ id: 'talk' }, body)
        .catch(() => undefined)
      await within(dead, 'the death')
      home.clock.nowMs += LONG_MS
      await home.process().run({ id: 'talk' }, body)
      const { chars, whole, plain } = await recordedIn(home, 'talk')
      assert.is(whole.length, TURNS, name)
      assert.ok(plain > TURNS * 2_000 * 2)
      assert.ok(chars <= 2 * plain, `${chars} characters on record of ${plain}`)
      for (const [turn, request] of whole.entries()) {
        const text = JSON.stringify(request)
        assert.ok(text.includes(JSON.stringify(said(2 * turn + 1)).slice(1, -1)), `turn ${turn + 1} is whole`)
        assert.not.ok(text.includes(JSON.stringify(said(2 * turn + 2)).slice(1, -1)))
      }
      assert.is((await home.process().replay('talk', body)).verdict, 'exact')
    }
  })
}

test('conversations side by side, redacted, broken off or begun anew: each request is read back as it was sent (RUN-84)', async () => {
  await using home = await IN_PROCESS.open()
  const cs = home.process()
  const secret = 'CANARY'
  const sent: JsonObject[] = []
  const redact = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll(secret, 'hidden')) as Json
  await cs.run({ id: 'talks' }, async (run) => {
    const ask = async (request: JsonObject) => {
      sent.push(redact(request) as JsonObject)
      await run.model({ provider: 'p', model: 'm', request, call: () => 'yes', redact })
    }
    const conversation = async (who: string): Promise<void> => {
      const messages: Json[] = [`${who} begins: ${secret} ${'x'.repeat(3_000)}`]
      for (let turn = 0; turn < 6; turn += 1) {
        await ask({ who, messages: [...messages], ...(turn === 3 && { temperature: 1 }) })
        messages.push(`${turn} ${secret} ${who} ${'y'.repeat(1_000)}`)
        if (turn === 4) messages.splice(1, 1)
      }
    }
    await Promise.all(['a', 'b', 'c'].map((who) => run.scope(who, () => conversation(who))))
  })
  const { whole, chars } = await recordedIn(home, 'talks')
  const texts = (requests: readonly JsonObject[]) => requests.map((each) => canonicalJson(each)).sort()
  assert.ok(isDeepStrictEqual(texts(whole), texts(sent)), 'each is read back as it was sent')
  assert.not.ok(JSON.stringify(whole).includes(secret))
  assert.ok(chars * 1.5 < JSON.stringify(sent).length)
})

test('a request that the budget refused is nothing that a later one goes on from (RUN-84)', async () => {
  await using home = await IN_PROCESS.open()
  await home.process().run({ id: 'r', budget: { tokens: 5_000 } }, async (run) => {
    const messages = ['x'.repeat(4_000)]
    const ask = (outputTokens: number) =>
      run.model({
        ...{ provider: 'p', model: 'm', request: { messages: [...messages] }, call: () => 'yes' },
        estimate: { inputTokens: 10, outputTokens },
        usage: () => ({ inputTokens: 1, outputTokens: 1 }),
      })
    assert.is(codeOf(await rejection(ask(9_000))), 'budget-exceeded')
    messages.push('y')
    await ask(10)
  })
  const { whole } = await recordedIn(home, 'r')
  assert.equal(whole, [{ messages: ['x'.repeat(4_000), 'y'] }])
})

/** Long enough to be recorded as changes, with a part that a policy leaves out of the record. */
const LONG = `alice@example.com ${'x'.repeat(3_000)}`
const LEFT_OUT = { policy: { redaction: [{ name: 'email', find: ['email'] }] } } as const

/** The body of a run, in each process anew; its provider outlives them. */
type Program = (cs: Countersign) => () => Promise<Json>

type AskText = (request: { readonly messages: readonly string[]; readonly stream?: boolean }) => Promise<string>

/** `answer` gives the answer's text, or throws, in a stream after a first chunk. */
function askWith(answer: (messages: readonly string[]) => string | Promise<string>): AskText {
  const create = async ({ messages, stream }: Parameters<AskText>[0]): Promise<unknown> =>
    stream === true ? piecesOf(() => answer(messages)) : { text: await answer(messages) }
  const { chat } = trackOpenAI({ chat: { completions: { create } } }, { countTokens: () => 1 })
  return async (request) => {
    const got: unknown = await chat.completions.create(request)
    if (request.stream !== true) return (got as { text: string }).text
    return (await collected(got as AsyncIterable<{ text: string }>)).map(({ text }) => text).join('')
  }
}

async function* piecesOf(text: () => string | Promise<string>): AsyncGenerator<{ text: string }> {
  yield { text: 'so: ' }
  yield { text: await text() }
}

/** Each request is refused at first, and then made again, as by any loop that catches what its client throws. */
function asksAgain(stream: boolean): Program {
  const asked = new Set<string>()
  const ask = askWith((messages) => {
    const text = messages.join()
    if (asked.has(text)) return `yes to ${messages.length}`
    asked.add(text)
    throw Object.assign(new Error('refused'), { status: 400 })
  })
  return () => async () => {
    const messages = [LONG]
    while (messages.length < 4) {
      const request = { messages: [...messages], stream }
      messages.push(`${LONG}${await ask(request).catch(() => ask(request))}`)
    }
    return messages.map((each) => each.slice(LONG.length))
  }
}

/** A request goes on from another that is still under way when it is made. */
function asksAside(): Program {
  const looked = Promise.withResolvers<void>()
  const aside = Promise.withResolvers<void>()
  const ask = askWith(async (messages) => {
    if (messages.length === 2) looked.resolve()
    if (messages.length === 3) aside.resolve()
    await aside.promise
    return `yes to ${messages.length}`
  })
  return (cs) => {
    const look = cs.tool(() => looked.promise, { name: 'look', effects: 'none' })
    return async () => {
      const first = ask({ messages: [LONG, 'a'] })
      await look()
      return Promise.all([first, ask({ messages: [LONG, 'a', 'b'] })])
    }
  }
}

const PROGRAMS = {
  'refused at first': () => asksAgain(false),
  'in a stream that breaks at first': () => asksAgain(true),
  'beside the one that it goes on from': asksAside,
}

for (const [what, begin] of Object.entries(PROGRAMS)) {
  const same = async (options: Partial<typeof LEFT_OUT> = {}): Promise<void> => {
    for (let at = 2; at <= 16; at += 1) {
      await using home = await IN_PROCESS.open()
      const program = begin()
      const life = (cs: Countersign): Promise<Json> => cs.run({ id: 'talk', ...options } as never, program(cs))
      await shortLife(home, { at, lastArrives: true }, life)
      const output = await within(life(home.process()), `the life after ${at} commands`)
      const refused: Json[] = []
      for await (const { data } of home.connection.events('talk', 'RequestRefused')) refused.push(data.code ?? null)
      assert.equal(refused, [], `killed after ${at} commands`)
      const cs = home.process()
      if (options.policy === undefined) assert.equal((await cs.replay('talk', program(cs))).output, output)
    }
  }
  test(`a request ${what} is the same call after a kill at any command, and on a replay (RUN-84, RUN-234)`, () =>
    same())
  // Only what was on record whole is served to a replay.
  test(`so is a request ${what} of which a part is left out of the record (RUN-84, RUN-96)`, () => same(LEFT_OUT))
}

const members = fc.dictionary(fc.constantFrom('a', 'b', 'tools'), fc.jsonValue({ maxDepth: 2 }))
const messages = fc.array(fc.constantFrom('one', 'two', 'three'), { maxLength: 5 })

test('any request follows from any other by its change, and by no other (RUN-84)', () => {
  const request = fc
    .record({ rest: members, messages })
    .map(({ rest, messages: list }) => ({ ...rest, messages: list }) as JsonObject)
  fc.assert(
    fc.property(request, request, (before, after) => {
      const change = changeSince(indexedRequest(before), after, indexedRequest(after))
      const passed = JSON.parse(JSON.stringify(change)) as RequestChange
      assert.equal(wholeRequest(before, passed), JSON.parse(JSON.stringify(after)))
      const forged = { ...passed, changed: { ...passed.changed, z: 'more' } }
      assert.throws(() => wholeRequest(before, forged), /does not follow/)
    }),
    { numRuns: rounds(100, 300) },
  )
})

test.run()
