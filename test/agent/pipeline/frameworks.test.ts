import { AIMessage } from '@langchain/core/messages'
import { RunnableLambda, RunnableSequence } from '@langchain/core/runnables'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { Output, ToolLoopAgent } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { agent } from '../../../src/agent/loop/agent.ts'
import { ScriptedModel } from '../../../src/agent/loop/scripted-model.ts'
import { HOMES, type TestHome } from '../homes.ts'

const apple = { entities: ['Apple'] }

/** What an AI SDK model answers, with what it used. */
function says(text: string): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doGenerate: async () => ({
      content: [{ type: 'text', text }],
      finishReason: { unified: 'stop', raw: undefined },
      usage: {
        inputTokens: { total: 30, noCache: 30, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 12, text: 12, reasoning: undefined },
      },
      warnings: [],
    }),
  })
}

for (const { name, open } of HOMES) {
  const frameworks = suite(`agents of frameworks ${name}`)

  const usages = async (home: TestHome): Promise<unknown[]> => {
    const all: unknown[] = []
    for await (const { data } of home.connection.events('r', 'UsageRecorded')) all.push(data.usage)
    return all
  }

  frameworks('a LangChain Runnable gets the slice, and another try with the findings', async () => {
    await using home = await open()
    const inputs: unknown[] = []
    const chain = RunnableSequence.from([
      RunnableLambda.from((input: Record<string, unknown>, config) => {
        inputs.push(Object.keys(input), (config?.metadata as { attempt?: number } | undefined)?.attempt)
        return input.findings === undefined ? { entities: [] } : { summary: 'grew' }
      }),
      RunnableLambda.from((output: object) => output),
    ])
    const result = await home.process().run({ id: 'r' }, async (run) => {
      await run.handoff(apple, { agent: 'seed' })
      return run.step('writer', chain, { mode: 'merge', repairs: 1 })
    })
    assert.equal(result.payload, { summary: 'grew' })
    assert.equal(inputs, [['entities'], 1, ['entities', 'findings'], 2])
  })

  frameworks('a LangChain chat model hands over its text, and its own usage is charged', async () => {
    await using home = await open()
    const input = (slice: object) => `About ${JSON.stringify(slice)}`
    const counted = RunnableLambda.from(() =>
      Object.assign(new AIMessage('hm'), { usage_metadata: { input_tokens: 5, output_tokens: 2, total_tokens: 7 } }),
    )
    const [first, second] = await home
      .process()
      .run({ id: 'r' }, async (run) => [
        await run.step('poet', new FakeListChatModel({ responses: ['roses'] }), { input }),
        await run.step('poet', counted),
      ])
    assert.equal([first?.payload, second?.payload], [{ text: 'roses' }, { text: 'hm' }])
    assert.equal((await usages(home))[1], { tokens: 7, inputTokens: 5, outputTokens: 2 })
  })

  frameworks(
    'an AI SDK agent gets a prompt; its text is handed over, or the object that its output schema describes',
    async () => {
      await using home = await open()
      const model = says('All quiet.')
      const json = says('{"score": 7}')
      const [text, object] = await home.process().run({ id: 'r' }, async (run) => {
        await run.handoff(apple, { agent: 'seed' })
        const rater = new ToolLoopAgent({
          model: json,
          output: Output.object({ schema: z.object({ score: z.number() }) }),
        })
        return [
          await run.step('guard', new ToolLoopAgent({ model }), { task: 'Watch the gate.' }),
          await run.step('rater', rater),
        ]
      })
      assert.equal([text?.payload, object?.payload], [{ text: 'All quiet.' }, { score: 7 }])
      const prompt = JSON.stringify(model.doGenerateCalls[0]?.prompt)
      assert.ok(prompt.includes('Watch the gate.') && prompt.includes('Apple'), prompt)
      assert.equal(await usages(home), [
        { tokens: 42, inputTokens: 30, outputTokens: 12 },
        { tokens: 42, inputTokens: 30, outputTokens: 12 },
      ])
    },
  )

  frameworks('the tool-calling loop is an agent of a step, and its calls stand in the scope of the step', async () => {
    await using home = await open()
    const cs = home.process()
    const look = cs.tool({ name: 'look', execute: ({ at }: { at: string }) => `saw ${at}` })
    const scout = agent({
      model: new ScriptedModel([[{ tool: 'look', args: { at: 'hill' } }], 'all clear']),
      tools: [look],
      name: 'scout',
    })
    const result = await cs.run({ id: 'r' }, (run) => run.step('scout', scout, { task: 'Look around.' }))
    assert.equal(result.payload, { text: 'all clear' })
    const calls = await home.connection.calls('r')
    assert.ok(calls.every(({ scope, agent }) => String(scope).startsWith('step:scout') && agent === 'scout'))
    assert.is(calls.filter(({ tool }) => tool === 'look').length, 1)
  })

  frameworks.run()
}
