import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, rejection, type TestHome } from './homes.ts'

const MOST = 1_000

async function eventsOf(home: TestHome): Promise<number> {
  let count = 0
  for await (const _ of home.connection.events('r')) count += 1
  return count
}

for (const { name, open } of HOMES) {
  const test = suite(`refused for ever ${name}`)

  const programOf = (cs: Countersign, undone: string[]) => {
    const book = cs.tool(() => 'booked', { name: 'book', compensate: () => undone.push('book') })
    const dear = cs.tool((n: number) => n, { name: 'dear', compensate: 'not-needed', reserve: () => ({ tokens: 99 }) })
    const asks = { refusals: 0 }
    const body = async (_: Run): Promise<unknown> => {
      await book()
      for (let n = 0; ; n += 1) {
        const error = await rejection(Promise.all([dear(n), dear(-n - 1)]))
        if (codeOf(error) !== 'budget-exceeded') throw error
        asks.refusals += 1
      }
    }
    return { asks, life: () => cs.run({ id: 'r', name: 'r', budget: { tokens: 10 } }, body), body }
  }

  test('code that catches a refusal and asks again for ever is halted, and so is each resume of it: its record grows no further, and nothing is undone (RUN-201)', async () => {
    await using home = await open()
    const undone: string[] = []
    const first = programOf(home.process(), undone)
    const error = await within(rejection(first.life()), 'the halt', 180_000)
    assert.is(codeOf(error), 'refusals-exhausted', String(error))
    assert.is(outcomeOf(error)?.status, 'OPEN')
    assert.is(first.asks.refusals, MOST)
    const events = await eventsOf(home)
    for (let resumes = 1; resumes <= 2; resumes += 1) {
      const again = programOf(home.process(), undone)
      assert.is(codeOf(await within(rejection(again.life()), 'the resume', 180_000)), 'refusals-exhausted')
      assert.is(again.asks.refusals, MOST, 'the same as in the first life')
      assert.is(await eventsOf(home), events + resumes, 'RunResumed alone')
    }
    assert.equal(undone, [])
  })

  test('refusals side by side, and those with another outcome between them, halt nothing (RUN-201)', async () => {
    await using home = await open()
    const cs = home.process()
    const dear = cs.tool((n: number) => n, { name: 'dear', compensate: 'not-needed', reserve: () => ({ tokens: 99 }) })
    const free = cs.tool((n: number) => n, { name: 'free', compensate: 'not-needed' })
    const output = await cs.run({ id: 'r', name: 'r', budget: { tokens: 10 } }, async () => {
      const together = await Promise.allSettled(Array.from({ length: MOST + 10 }, (_, n) => dear(n)))
      await free(0)
      return together.filter(({ status }) => status === 'rejected').length
    })
    assert.is(output, MOST + 10)
  })

  test.run()
}
