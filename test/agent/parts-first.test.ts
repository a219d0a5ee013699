import fc from 'fast-check'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { agent } from '../../src/agent/loop/agent.ts'
import { trackOpenAI } from '../../src/agent/models/track-openai.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { rounds } from '../support/rounds.ts'
import { codeOf, HOMES, rejection, shortLife } from './homes.ts'
import { fakeProvider, openAi } from './models/fake-providers.ts'

const WORDS = ['one ', 'two ', 'three ', 'four ', 'five']

for (const { name, open } of HOMES) {
  const test = suite(`what is requested while a result in parts is read ${name}`)

  test('killed anywhere, with a source that gives other parts each time: each part that the record has was acted on once (RUN-186)', async () => {
    await using home = await open()
    let number = 0
    const deaths = fc.array(fc.record({ commands: fc.integer({ min: 1, max: 9 }), lastArrives: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    })
    await fc.assert(
      fc.asyncProperty(deaths, fc.boolean(), async (killed, isSideBySide) => {
        number += 1
        const id = `parts-${number}`
        let life = 0
        const said: string[] = []
        const bodyOf = (cs: Countersign) => {
          const tell = cs.tool(
            async function* (topic: string) {
              for (let i = 0; i < 3; i += 1) yield `${topic} ${i} of life ${life}`
            },
            { name: 'tell', stream: true, effects: 'none' },
          )
          const say = cs.tool(
            async (text: string) => {
              said.push(text)
              return text.length
            },
            {
              name: 'say',
              compensate: 'not-needed',
              check: (args) => (said.includes((args as [string])[0]) ? { done: true, result: 0 } : { done: false }),
            },
          )
          const one = async (topic: string): Promise<string[]> => {
            const all: string[] = []
            for await (const text of await tell(topic)) {
              await say(text)
              all.push(text)
            }
            return all
          }
          return async () => (isSideBySide ? Promise.all([one('left'), one('right')]) : [await one('left')])
        }
        const live = (cs: Countersign) => cs.run({ id, name: 'tells' }, bodyOf(cs))
        for (const { commands, lastArrives } of killed) {
          life += 1
          await shortLife(home, { at: commands, lastArrives }, live)
        }
        life += 1
        const output = await live(home.process())
        assert.equal(
          output.map(({ length }) => length),
          isSideBySide ? [3, 3] : [3],
        )
        assert.equal(
          said.toSorted(),
          output.flat().toSorted(),
          'each part once, and none that the record does not have',
        )
        const cs = home.process()
        assert.equal((await cs.replay(id, bodyOf(cs))).output, output)
      }),
      { numRuns: rounds(8, 60) },
    )
  })

  test('a run that is left amid a stream, for a wait or for what is too large, goes on with all of its parts (RUN-186)', async () => {
    await using home = await open()
    const cs = home.process()
    let isFixed = false
    const read = cs.tool(
      async function* () {
        yield* [1, 2, 3, 4, 5]
      },
      { name: 'read', stream: true, effects: 'none' },
    )
    const put = cs.tool(async ({ page }: { page: number; text: string }) => page, {
      name: 'put',
      compensate: 'not-needed',
    })
    const bodies = {
      wait: async (run: Run<null>) => {
        const done: number[] = []
        for await (const page of await read()) {
          if (page === 3) await run.waitFor('go')
          done.push(await put({ page, text: '' }))
        }
        return done
      },
      large: async () => {
        const done: number[] = []
        for await (const page of await read()) {
          done.push(await put({ page, text: page === 2 && !isFixed ? 'x'.repeat(9_000_000) : 'x' }))
        }
        return done
      },
    }
    const waits = { id: 'wait', name: 'pages', whenWaiting: 'leave' } as const
    assert.is(((await rejection(cs.run(waits, bodies.wait))) as Error).name, 'RunWaiting')
    await cs.signal('wait', 'go', 1)
    assert.equal(await cs.run(waits, bodies.wait), [1, 2, 3, 4, 5])
    const sizes = { id: 'large', name: 'pages' }
    assert.match(String(codeOf(await rejection(cs.run(sizes, bodies.large)))), /^(value|body)-too-large$/)
    isFixed = true
    assert.equal(await cs.run(sizes, bodies.large), [1, 2, 3, 4, 5])
  })

  test('what a model says is read in parts, and a call for each part, with a wait amid them, is resumed to the whole answer (RUN-76, RUN-186)', async () => {
    await using home = await open()
    const cs = home.process()
    let asked = 0
    const model = async function* () {
      asked += 1
      for (const text of WORDS) yield { text }
    }
    const talker = agent({ model, tools: [], name: 'talker' })
    const say = cs.tool(async (text: string) => text, { name: 'say', compensate: 'not-needed' })
    const options = { id: 'talk', name: 'talk', whenWaiting: 'leave' } as const
    const body = async (run: Run<null>) => {
      let all = ''
      for await (const part of talker.stream({ prompt: 'count' })) {
        if (part.type !== 'text') continue
        if (part.text === 'three ') await run.waitFor('go')
        all += await say(part.text)
      }
      return all
    }
    assert.is(((await rejection(cs.run(options, body))) as Error).name, 'RunWaiting')
    await cs.signal('talk', 'go', 1)
    assert.is(await cs.run(options, body), WORDS.join(''))
    assert.is(asked, 1)
    assert.is((await cs.replay('talk', body)).output, WORDS.join(''))
  })

  test('a stream of a tracked client is read in chunks, and a call for each, with a wait amid them: it is resumed whole (RUN-186)', async () => {
    await using home = await open()
    const cs = home.process()
    const provider = fakeProvider(openAi)
    const { fetch } = provider
    const client = trackOpenAI(new OpenAI({ apiKey: 'k', baseURL: 'http://model.test/v1', fetch }), {
      countTokens: () => 1,
    })
    const say = cs.tool(async (text: string) => text, { name: 'say', compensate: 'not-needed', dedupe: 'position' })
    const options = { id: 'chat', name: 'chat', whenWaiting: 'leave' } as const
    const request = { model: 'm', max_tokens: 20, messages: [{ role: 'user' as const, content: 'hi' }] }
    const body = async (run: Run<null>) => {
      let all = ''
      for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
        const text = chunk.choices[0]?.delta.content ?? ''
        if (text === ' says') await run.waitFor('go')
        all += await say(text)
      }
      return all
    }
    assert.is(((await rejection(cs.run(options, body))) as Error).name, 'RunWaiting')
    await cs.signal('chat', 'go', 1)
    assert.is(await cs.run(options, body), 'my CANARY says hello')
    assert.is(provider.requests.length, 1)
    assert.is((await cs.replay('chat', body)).output, 'my CANARY says hello')
  })

  test.run()
}
