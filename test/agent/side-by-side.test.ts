import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RunWaiting } from '../../src/agent/errors.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { HOMES, rejection, type TestHome } from './homes.ts'

const LEAVE = { id: 'r', name: 'order', whenWaiting: 'leave' } as const

/** Signals that two children wait for are sent, and the run goes on in another process to its end. */
async function goesOn(home: TestHome, life: (cs: Countersign) => Promise<unknown>): Promise<unknown> {
  for (const id of ['a', 'b']) await home.process().signal(id, 'go', `signal of ${id}`)
  return within(life(home.process()), 'the resume: no lease of the first life is waited for')
}

for (const { name, open } of HOMES) {
  const test = suite(`side by side ${name}`)

  test('runs within a run that wait side by side leave it open, and nothing is undone (RUN-160)', async () => {
    await using home = await open()
    const effects: string[] = []
    const life = (cs: Countersign) => {
      const book = cs.tool((id: string) => effects.push(`book ${id}`) && id, {
        name: 'book',
        compensate: ({ args: [id] }) => effects.push(`undo ${id}`),
      })
      const child = (id: string) =>
        cs.run({ id, name: 'child' }, async (run) => {
          await book(id)
          return run.waitFor('go')
        })
      return cs.run(LEAVE, async () => {
        await book('parent')
        return Promise.all([child('a'), child('b')])
      })
    }
    const left = await rejection(life(home.process()))
    assert.ok(left instanceof RunWaiting)
    assert.is(outcomeOf(left)?.status, 'OPEN')
    assert.equal(await goesOn(home, life), ['signal of a', 'signal of b'])
    assert.equal(effects.toSorted(), ['book a', 'book b', 'book parent'])
  })

  test('what a program makes of the error that says that a run within it waits is no failure of the call (RUN-160)', async () => {
    await using home = await open()
    const life = (cs: Countersign) => {
      const child = (id: string) =>
        cs
          .run({ id, name: 'child' }, (run) => run.waitFor('go'))
          .catch((error: unknown) => Promise.reject(new Error(`no answer for ${id}: ${error}`)))
      const ask = cs.tool({ name: 'ask', onUnknown: 'retry', execute: ({ id }: { id: string }) => child(id) })
      const middle = (id: string) => cs.run({ name: 'middle' }, () => ask({ id }))
      return cs.run(LEAVE, () => Promise.all([middle('a'), middle('b')]))
    }
    assert.is(outcomeOf(await rejection(life(home.process())))?.status, 'OPEN')
    assert.equal(await goesOn(home, life), ['signal of a', 'signal of b'])
  })

  test('a call that fails by itself beside one that waits has that failure on record (RUN-160)', async () => {
    await using home = await open()
    let tries = 0
    const life = (cs: Countersign) => {
      const fail = cs.tool(
        async () => {
          tries += 1
          await new Promise((resolve) => setTimeout(resolve, 100))
          throw new Error('sold out')
        },
        { name: 'fail' },
      )
      return cs.run(LEAVE, async (run: Run<null>) => {
        const both = await Promise.allSettled([run.waitFor('go'), fail()])
        return both.map(({ status }) => status)
      })
    }
    assert.ok((await rejection(life(home.process()))) instanceof RunWaiting)
    await home.process().signal('r', 'go')
    assert.equal(await life(home.process()), ['fulfilled', 'rejected'])
    assert.is(tries, 1)
  })

  test.run()
}
