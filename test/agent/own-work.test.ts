import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign, RuntimeOptions } from '../../src/agent/runtime/runtime.ts'
import { rounds } from '../support/rounds.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, rejection, shortLife, type TestHome } from './homes.ts'

type Life = (cs: Countersign, slow: string) => Promise<unknown>

/** Killed after so many commands. */
async function dies(home: TestHome, commands: number, life: (cs: Countersign) => Promise<unknown>): Promise<void> {
  await shortLife(home, { at: commands, lastArrives: true }, life)
}

/** The process dies, and lives again with the work of its own code taking other times; the third is a replay of what the second left. */
async function holds(home: TestHome, commands: number, life: Life): Promise<unknown> {
  await dies(home, commands, (cs) => life(cs, 'right'))
  return within(life(home.process(), 'left'), 'the resume')
}

const SIDES = ['left', 'right'] as const
const SLOW_MS = 60

for (const { name, open } of HOMES) {
  const test = suite(`work of the code's own ${name}`)

  test('branches may be faster and slower in another life: what is new waits for what the record holds (RUN-187)', async () => {
    await using home = await open()
    const saved: string[] = []
    const life: Life = (cs, slow) => {
      const save = cs.tool(
        (page: string) => {
          saved.push(page)
          return page
        },
        { name: 'save', compensate: 'not-needed', onUnknown: 'retry' },
      )
      const branch = async (side: string) => {
        const pages: string[] = []
        for (const n of [1, 2, 3]) {
          await delay(side === slow ? SLOW_MS : 1)
          pages.push(await save(`${side}-${n}`))
        }
        return pages.join()
      }
      return cs.run({ id: 'r', name: 'r' }, () => Promise.all(SIDES.map(branch)))
    }
    assert.equal(await holds(home, 6, life), ['left-1,left-2,left-3', 'right-1,right-2,right-3'])
    assert.is(new Set(saved).size, 6)
  })

  test('values, steps and models of other names may come first in another life (RUN-187)', async () => {
    await using home = await open()
    const life: Life = (cs, slow) =>
      cs.run({ id: 'r', name: 'r' }, (run: Run<null>) =>
        Promise.all(
          SIDES.map(async (side) => {
            await delay(side === slow ? SLOW_MS : 1)
            const value = await run.once(side, () => side)
            await delay(side === slow ? SLOW_MS : 1)
            return `${value} ${await run.once(`${side} again`, () => side)}`
          }),
        ),
      )
    assert.equal(await holds(home, 4, life), ['left left', 'right right'])
  })

  test('code that was changed runs nothing new while what the record holds at its place is not requested (RUN-22, RUN-187)', async () => {
    await using home = await open()
    const ran: string[] = []
    const life = (cs: Countersign, changed: boolean) => {
      const pay = cs.tool((to: string) => ran.push(to), { name: 'pay', compensate: 'not-needed', onUnknown: 'retry' })
      return cs.run({ id: 'r', name: 'r' }, () => Promise.all([pay(changed ? 'b' : 'a'), pay('c')]))
    }
    await dies(home, 2, (cs) => life(cs, false))
    const before = [...ran]
    const error = await rejection(within(life(home.process(), true)))
    assert.is(codeOf(error), 'resume-diverged')
    assert.match(String(error), /pay with other arguments than the record holds .*\n(.*\n)*.*own-work\.test/)
    assert.not.ok(ran.slice(before.length).includes('b'))
  })

  test('how long a resume waits is said to `open` and `connect` as divergesAfterMs (RUN-172)', async () => {
    await using home = await open()
    const life = (cs: Countersign, ms: number) => {
      const work = cs.tool((n: string) => n, { name: 'work', compensate: 'not-needed', onUnknown: 'retry' })
      return cs.run({ id: 'r', name: 'r' }, () =>
        Promise.all([delay(ms).then(() => work('late')), delay(ms === 0 ? 200 : 0).then(() => work('soon'))]),
      )
    }
    await dies(home, 3, (cs) => life(cs, 0))
    const resumed = (options: RuntimeOptions) => within(life(home.process(undefined, options), 300))
    assert.is(codeOf(await rejection(resumed({ divergesAfterMs: 50 }))), 'resume-diverged')
    assert.equal(await resumed({ divergesAfterMs: 5_000 }), ['late', 'soon'])
  })

  test('any program of branches with work of its own holds, wherever it dies (RUN-187)', async () => {
    await using home = await open()
    let number = 0
    const branches = fc.array(
      fc.array(fc.record({ what: fc.constantFrom('a', 'b', 'once'), ms: fc.constantFrom(0, 0, 3, 9) }), {
        maxLength: 4,
      }),
      { minLength: 2, maxLength: 4 },
    )
    await fc.assert(
      fc.asyncProperty(
        branches,
        fc.integer({ min: 1, max: 16 }),
        fc.array(fc.nat(12)),
        async (program, commands, times) => {
          number += 1
          const id = `p-${number}`
          const ran: string[] = []
          const life = (cs: Countersign, isFirst: boolean) => {
            const tools = ['a', 'b'].map((tool) =>
              cs.tool(
                (n: string) => {
                  ran.push(`${tool} ${n}`)
                  return n
                },
                { name: tool, compensate: 'not-needed' },
              ),
            )
            const body = (run: Run<null>) =>
              Promise.all(
                program.map(async (steps, side) => {
                  for (const [n, { what, ms }] of steps.entries()) {
                    await delay(isFirst ? ms : (times[(side + n) % times.length] ?? 0))
                    const is = `${side}.${n}`
                    await (what === 'once' ? run.once(is, () => ran.push(is)) : tools[what === 'a' ? 0 : 1]?.(is))
                  }
                  return side
                }),
              )
            return { body, run: () => cs.run({ id, name: 'p' }, body) }
          }
          const { change, dead } = killedAfter(commands, true)
          const first = life(home.process(change), true).run()
          await within(Promise.race([dead, first.catch(() => undefined)]), 'the death')
          home.clock.nowMs += LONG_MS
          const second = home.process(undefined, { divergesAfterMs: 5_000 })
          for (const call of await home.connection.calls(id))
            if (call.status === 'claimed' && !String(call.tool).startsWith('run.'))
              await second
                .resolve(String(call.callId), { executed: true, result: 'done', reason: 'seen', run: id })
                .catch(() => undefined)
          await within(life(second, false).run(), 'the resume')
          const again = home.process(undefined, { divergesAfterMs: 5_000 })
          assert.is((await again.replay(id, life(again, false).body)).verdict, 'exact')
          assert.equal(ran.length, new Set(ran).size, 'each effect once')
        },
      ),
      { numRuns: rounds(8, 60), includeErrorInReport: true },
    )
  })

  test.run()
}
