/** Code that was changed between two lives and goes on, or throws, before it asks for what the record holds. */
import { setTimeout as delay } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AgentError } from '../../src/agent/errors.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, rejection, shortLife, type TestHome } from './homes.ts'

for (const { name, open } of HOMES) {
  const test = suite(`code that outruns its record ${name}`)

  /** The tools of one life, and what they did. */
  function toolsOf(cs: Countersign, ran: string[]) {
    const tool = (called: string) =>
      cs.tool(
        (what: string) => {
          ran.push(`${called} ${what}`)
          return what
        },
        { name: called, onUnknown: 'retry', compensate: () => ran.push(`undo ${called}`) },
      )
    return { pay: tool('pay'), ship: tool('ship'), mail: tool('mail') }
  }

  type Tools = ReturnType<typeof toolsOf>
  type Body = (run: Run<null>, tools: Tools) => Promise<unknown>

  const life = (cs: Countersign, ran: string[], body: Body) => {
    const tools = toolsOf(cs, ran)
    return cs.run({ id: 'r', name: 'r' }, (run) => body(run, tools))
  }

  /** Start, claim, outcome, and the claim of a second call: pay is on record. */
  const paid = async (home: TestHome, ran: string[]): Promise<void> =>
    shortLife(home, { at: 4, lastArrives: false }, (cs) =>
      life(cs, ran, async (_, { pay, mail }) => [await pay('a'), await mail('a')]),
    )

  const NEW: Record<string, Body> = {
    'a call': async (_, { ship, pay }) => [await ship('a'), await pay('a')],
    'a wait': async (run, { pay }) => [await run.sleep(1), await pay('a')],
    'a value': async (run, { pay, ship }) => [await run.once('n', () => ship('a')), await pay('a')],
    'a handoff': async (run, { pay }) => [await run.handoff({ a: 1 }, { agent: 'x' }), await pay('a')],
    'a step': async (run, { pay, ship }) => [await run.step('x', async () => ({ a: await ship('a') })), await pay('a')],
    'a fork': async (run, { pay, ship }) => [
      await run.fork([{ name: 'b', agent: 'x', run: async () => ({ a: await ship('a') }) }], { join: 'union' }),
      await pay('a'),
    ],
  }

  for (const [what, body] of Object.entries(NEW))
    test(`${what} of another name runs nothing before what is recorded is asked for (RUN-187, A480)`, async () => {
      await using home = await open()
      const ran: string[] = []
      await paid(home, ran)
      assert.equal(ran, ['pay a'])
      const before = await typesOf(home)
      const error = (await rejection(within(life(home.process(), ran, body)))) as AgentError
      assert.is(codeOf(error), 'resume-diverged', String(error))
      assert.match(error.message, /before it asks for what the record holds \(pay /)
      assert.equal(ran, ['pay a'], 'nothing new was run, nothing undone')
      assert.equal(await typesOf(home), [...before, 'RunResumed'])
    })

  test('what is new goes on beside what is recorded once that was asked for (RUN-187)', async () => {
    await using home = await open()
    const ran: string[] = []
    await paid(home, ran)
    const body: Body = async (run, { pay, ship }) =>
      Promise.all([
        ship('early'),
        run.scope('w', (inner) => inner.sleep(1)),
        run.handoff({ a: 1 }, { agent: 'x' }).then(({ ok }) => ok),
        delay(100).then(() => pay('a')),
      ])
    const beside = within(life(home.process(), ran, body))
    // By the clock of the test no time passes by itself.
    const ticking = setInterval(() => (home.clock.nowMs += 100), 20)
    assert.equal(await beside.finally(() => clearInterval(ticking)), ['early', null, true, 'a'])
    assert.equal(ran, ['pay a', 'ship early'])
  })

  test('code that throws before it asks for all that is recorded has diverged, and is not rolled back (RUN-245, A481)', async () => {
    await using home = await open()
    const ran: string[] = []
    await paid(home, ran)
    const before = await typesOf(home)
    const thrown = new Error('no configuration')
    const error = (await rejection(within(life(home.process(), ran, () => Promise.reject(thrown))))) as AgentError
    assert.is(codeOf(error), 'resume-diverged', String(error))
    assert.match(error.message, /the code throws \(Error: no configuration\) before it asks for .*\(pay /)
    assert.is(error.cause, thrown)
    assert.is(outcomeOf(error)?.status, 'OPEN')
    assert.equal(await typesOf(home), [...before, 'RunResumed'])
    assert.equal(await life(home.process(), ran, (_, { pay }) => pay('a')), 'a', 'the code of before goes on')
    assert.equal(ran, ['pay a'])
  })

  test('so has that of a run within the run, and the run around it stays open (RUN-245, A481)', async () => {
    await using home = await open()
    const ran: string[] = []
    const outer = (cs: Countersign, body: Body): Promise<unknown> => {
      const tools = toolsOf(cs, ran)
      return cs.run({ id: 'r', name: 'r' }, (run) => cs.run({ name: 'inner' }, () => body(run, tools)))
    }
    const both: Body = async (_, { pay, mail }) => [await pay('a'), await mail('a')]
    await shortLife(home, { at: 6, lastArrives: false }, (cs) => outer(cs, both))
    assert.equal(ran, ['pay a'])
    const fail: Body = () => Promise.reject(new Error('no configuration'))
    const error = await rejection(within(outer(home.process(), fail)))
    assert.is(codeOf(error), 'resume-diverged', String(error))
    assert.equal(await outer(home.process(), both), ['a', 'a'])
    assert.equal(ran, ['pay a', 'mail a'])
  })

  test('so has a branch of a fork: it is neither reported nor undone, and the branches beside it go on (RUN-253, A534)', async () => {
    await using home = await open()
    const ran: string[] = []
    const branched = (cs: Countersign, first: Body): Promise<unknown> =>
      life(cs, ran, async (run, tools) => {
        const other = { name: 'q', agent: 'q', run: () => ({ q: 1 }) }
        const own = async () => ({ p: await first(run, tools) }) as never
        const { output } = await run.fork([{ name: 'p', agent: 'p', run: own }, other], {
          join: 'vote',
          score: () => 1,
        })
        return output as never
      })
    const both: Body = async (_, { pay, mail }) => [await pay('a'), await mail('a')]
    // The start, the fork, the outcome of the other branch, and the first call.
    for (let at = 1; !ran.includes('pay a'); at += 1) {
      await shortLife(home, { at, lastArrives: true }, (cs) => branched(cs, both))
    }
    const thrown = new Error('no configuration')
    const error = (await rejection(within(branched(home.process(), () => Promise.reject(thrown))))) as AgentError
    assert.is(codeOf(error), 'resume-diverged', String(error))
    assert.is(error.cause, thrown)
    assert.is(outcomeOf(error)?.status, 'OPEN')
    assert.not(ran.includes('undo pay'))
    await within(branched(home.process(), both))
    assert.equal(
      ran.filter((what) => what.startsWith('undo')),
      [],
    )
  })

  test('code that throws once all was asked for has failed, also where concurrent code asks late (RUN-245)', async () => {
    for (const ms of [0, 60]) {
      await using home = await open()
      const ran: string[] = []
      await paid(home, ran)
      const body: Body = (_, { pay }) =>
        Promise.all([delay(ms).then(() => pay('a')), delay(20).then(() => Promise.reject(new Error('enough')))])
      const error = await rejection(within(life(home.process(), ran, body)))
      assert.match(String(error), 'enough')
      assert.is(outcomeOf(error)?.status, 'COMPENSATED')
      assert.equal(ran, ['pay a', 'undo pay'])
    }
  })

  test.run()
}

async function typesOf(home: TestHome): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of home.connection.events('r')) types.push(type)
  return types
}
