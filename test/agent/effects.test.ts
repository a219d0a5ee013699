import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { agent } from '../../src/agent/loop/agent.ts'
import { ScriptedModel } from '../../src/agent/loop/scripted-model.ts'
import { ToolTimedOut } from '../../src/agent/loop/tool-error.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, NO_WAIT, rejection } from './homes.ts'

const never = new Promise<string>(() => {})
const PURE = { effects: 'none', timeout: 30, backoff: NO_WAIT } as const

for (const { name, open } of HOMES) {
  const test = suite(`tools without effects ${name}`)

  test('timed out, it is tried again, and is then an error that its caller reads, the same on replay; no other tool is (RUN-9, RUN-164)', async () => {
    await using home = await open()
    let tries = 0
    const seen: unknown[] = []
    const body = (cs: Countersign) => {
      const late = cs.tool(() => (++tries % 3 === 0 ? 'found' : never), { name: 'late', ...PURE })
      const silent = cs.tool(() => never, { name: 'silent', ...PURE })
      return async () => {
        seen.push(await late())
        const error = await rejection(silent())
        seen.push([codeOf(error), (error as Error).name, (error as Error).message])
        return 'went on'
      }
    }
    const cs = home.process()
    assert.is(await cs.run({ id: 'r', name: 'r' }, body(cs)), 'went on')
    assert.is(tries, 3)
    const replaying = home.process()
    assert.is((await replaying.replay('r', body(replaying))).verdict, 'exact')
    assert.equal(seen.slice(0, 2), seen.slice(2))
    assert.is((seen[1] as unknown[])[0], 'tool-timed-out')
    const attempts = (await home.connection.calls('r')).map(({ tool, attempt, status }) => [tool, attempt, status])
    assert.equal(attempts, [
      ['late', 3, 'succeeded'],
      ['silent', 3, 'failed'],
    ])
    const doubtful = cs.tool(() => never, { name: 'doubtful', timeout: 30 })
    assert.is(codeOf(await rejection(cs.run({ name: 'other' }, () => doubtful()))), 'call-in-doubt')
  })

  test('a model reads that a tool without effects gave nothing in time, and the run goes on (RUN-164)', async () => {
    await using home = await open()
    const cs = home.process()
    const look = cs.tool({ name: 'look', ...PURE, retries: 0, execute: () => never })
    const model = new ScriptedModel([{ tool: 'look', args: {} }, 'It does not answer.'])
    const talk = agent({ model, tools: [{ tool: look, parameters: { type: 'object' } }] })
    const { messages } = await cs.run({ name: 'r' }, () => talk.generate({ prompt: 'Look.' }))
    const answer = messages.find(({ role }) => role === 'tool')
    assert.match(JSON.stringify(answer), 'look gave no outcome after 30 ms')
  })

  test('of a process that died in it, the next one makes the call again (RUN-164)', async () => {
    await using home = await open()
    const life = (cs: Countersign) => {
      const look = cs.tool(() => 'seen', { name: 'look', effects: 'none' })
      return cs.run({ id: 'r', name: 'r' }, () => look())
    }
    const killed = killedAfter(2, true)
    life(home.process(killed.change)).catch(() => undefined)
    await within(killed.dead, 'the death')
    home.clock.nowMs += LONG_MS
    assert.is(await life(home.process()), 'seen')
  })

  test('a tool without effects has nothing to undo: both at once are refused where it is made (RUN-164)', async () => {
    await using home = await open()
    const make = async () => home.process().tool(() => 1, { name: 'look', effects: 'none', compensate: () => 2 })
    assert.is(codeOf(await rejection(make())), 'invalid-option')
    assert.is(ToolTimedOut.of('t', new Error('x')).name, 'ToolError')
  })

  test.run()
}
