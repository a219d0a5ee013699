import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { eventually, within } from '../support/within.ts'
import { codeOf, HOMES, rejection } from './homes.ts'

for (const { name, open } of HOMES) {
  const test = suite(`what a program can read ${name}`)

  test('runs, by name, tag and status, newest first', async () => {
    await using home = await open()
    const cs = home.process()
    await cs.run({ id: 'one', name: 'order', tags: ['shop'] }, async () => 1)
    home.clock.nowMs += 1_000
    await cs.run({ id: 'two', name: 'order' }, async () => 2)
    await rejection(cs.run({ id: 'three', name: 'other' }, () => Promise.reject(new Error('no'))))
    const ids = async (filter?: Parameters<typeof cs.runs>[0]): Promise<string[]> => {
      const found: string[] = []
      for await (const { runId } of cs.runs(filter)) found.push(runId)
      return found
    }
    assert.equal((await ids()).sort(), ['one', 'three', 'two'])
    assert.equal(await ids({ name: 'order' }), ['two', 'one'])
    assert.equal(await ids({ tag: 'shop' }), ['one'])
    assert.equal(await ids({ status: 'compensated' }), ['three'])
    for await (const { name: called, status, tags, actor } of cs.runs({ tag: 'shop' })) {
      assert.equal([called, status, tags, actor], ['order', 'completed', ['shop'], 'alice'])
    }
  })

  test('the calls of a run, with whole model requests and large values, and its budget', async () => {
    await using home = await open()
    const cs = home.process()
    const big = cs.tool(async (text: string) => text.length, { name: 'big', compensate: 'not-needed' })
    const body = (n: number) => async (run: Parameters<Parameters<typeof cs.run<unknown, null>>[1]>[0]) => {
      const messages: string[] = []
      for (let turn = 0; turn < 3; turn += 1) {
        messages.push(`${turn} ${'x'.repeat(3_000)}`)
        await run.model({
          ...{ provider: 'p', model: 'm', request: { messages: [...messages] }, call: () => 'yes' },
          estimate: { inputTokens: 5, outputTokens: 5 },
          usage: () => ({ inputTokens: 5, outputTokens: 2 }),
        })
      }
      await big('y'.repeat(n))
      return { calls: await run.calls(), budget: await run.budget() }
    }
    await cs.run({ id: 'r', budget: { tokens: 1_000 } }, async (run) => {
      const { calls, budget } = await body(100_000)(run)
      assert.equal(
        calls.map(({ tool, phase, status }) => [tool, phase, status]),
        [...Array.from({ length: 3 }, () => ['model:p', 'model', 'succeeded']), ['big', 'forward', 'succeeded']],
      )
      for (const [turn, { args }] of calls.slice(0, 3).entries()) {
        const { request } = args as { request: { messages: string[] } }
        assert.is(request.messages.length, turn + 1)
      }
      assert.is(((calls[3]?.args ?? []) as string[])[0]?.length, 100_000)
      assert.equal([budget.tokens, budget.reservedTokens, budget.limits.tokens], [21, 0, 1_000])
      return null
    })
  })

  test('events as they come, of all runs or of one, until the reader leaves or says so', async () => {
    await using home = await open()
    const cs = home.process()
    await cs.run({ id: 'before' }, async () => 1)
    const stop = new AbortController()
    const seen: string[] = []
    const following = (async () => {
      for await (const { runId, type, seal, data } of cs.tail({ types: ['RunCompleted'], signal: stop.signal }))
        seen.push(`${runId} ${type} ${seal} ${data.output}`)
    })()
    await cs.run({ id: 'after' }, async () => 2)
    await eventually(() => (seen.length < 2 ? undefined : seen), 'both ends')
    assert.equal(seen, ['before RunCompleted valid 1', 'after RunCompleted valid 2'])
    stop.abort()
    await within(following, 'the end of the tail')
    const types: string[] = []
    for await (const { type, revision } of cs.tail({ runId: 'before' })) {
      types.push(`${revision} ${type}`)
      if (type === 'RunCompleted') break
    }
    assert.equal(types, ['0 RunStarted', '1 RunCompleted'])
    const nowhere = async (): Promise<void> => {
      for await (const _ of cs.tail({ runId: 'nowhere' })) return
    }
    assert.is(codeOf(await rejection(nowhere())) ?? 'run-not-found', 'run-not-found')
  })

  test.run()
}
