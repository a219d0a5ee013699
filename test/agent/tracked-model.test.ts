/** A model of an agent over a tracked client: the turn is a call, and so is the request inside of it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { agent } from '../../src/agent/loop/agent.ts'
import { openAiModel } from '../../src/agent/loop/openai-model.ts'
import { trackOpenAI } from '../../src/agent/models/track-openai.ts'
import { HOMES, LONG_MS } from './homes.ts'

for (const { name, open } of HOMES) {
  const tracked = suite(`a model over a tracked client ${name}`)

  tracked('A552 a process that dies within its request resumes with the turn made again (RUN-257)', async () => {
    await using home = await open()
    const died = Promise.withResolvers<void>()
    let requests = 0
    const bodyOf = (isDying: boolean) => {
      const create = (_: object): Promise<unknown> => {
        requests += 1
        const message = { role: 'assistant', content: `answer ${requests}` }
        if (!isDying || requests === 1)
          return Promise.resolve({
            choices: [{ message }],
            usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
          })
        died.resolve()
        return new Promise(() => {})
      }
      const client = trackOpenAI({ chat: { completions: { create } } } as never)
      const guide = agent({
        name: 'guide',
        model: openAiModel(client as never, { model: 'm', request: { max_tokens: 5 } }),
        tools: [],
      })
      return async (): Promise<string[]> => {
        const texts: string[] = []
        for (const prompt of ['a', 'b']) texts.push((await guide.generate({ prompt })).text)
        return texts
      }
    }
    const options = { id: 'x', name: 'x', input: null } as const
    home
      .process()
      .run(options, bodyOf(true))
      .catch(() => undefined)
    await died.promise
    home.clock.nowMs += LONG_MS
    assert.equal(await home.process().run(options, bodyOf(false)), ['answer 1', 'answer 3'])
    assert.equal((await home.process().replay('x', bodyOf(false))).output, ['answer 1', 'answer 3'])
    assert.is(requests, 3)
  })

  tracked.run()
}
