/** Calls that code let go of and that were under way as the process was killed do not keep the run from its end. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { codeOf, HOMES, LONG_MS, rejection, type TestHome } from './homes.ts'

const hangs = (): Promise<never> => new Promise(() => {})
const WAYS = {
  check: { onUnknown: 'in-doubt', check: () => ({ done: false as const }) },
  retry: { onUnknown: 'retry' },
} as const

/** A race that the first of two calls loses, made where a resume does not run the code again: in a branch that is merged, a call, a step. */
function racing(cs: Countersign, how: keyof typeof WAYS, place: 'branch' | 'call' | 'step') {
  const options = { compensate: 'not-needed', ...WAYS[how] } as const
  const slow = cs.tool(hangs, { name: 'slow', ...options })
  const fast = cs.tool(async () => 'fast', { name: 'fast', ...options })
  const race = () => Promise.race([slow(), fast()])
  const outer = cs.tool(race, { name: 'outer', ...options })
  const tell = cs.tool(async () => 1, { name: 'tell', ...options })
  return async (run: Run<null>) => {
    if (place === 'branch') await run.fork([{ agent: 'a', run: async () => ({ k: await race() }) }], { join: 'union' })
    else if (place === 'call') await outer()
    else await run.step('a', async () => ({ k: await race() }))
    await tell()
    return 'end'
  }
}

async function hasRollback({ connection }: TestHome): Promise<boolean> {
  try {
    for await (const { type } of connection.events('x', 'CompensationStarted')) return type !== ''
  } catch {
    // The run has not begun.
  }
  return false
}

for (const { name, open } of HOMES) {
  const letGo = suite(`let go ${name}`)

  for (const place of ['branch', 'call', 'step'] as const)
    for (const how of ['check', 'retry'] as const)
      letGo(`A564 what a ${place} let go of ends with the run that is resumed (RUN-263, ${how})`, async () => {
        await using home = await open()
        const carry = (cs: Countersign) => cs.run({ id: 'x', name: 'x', input: null }, racing(cs, how, place))
        // Its end never comes: the process is killed as it waits for that of the slow call.
        const life = home.process()
        let told = (): void => undefined
        const isTold = new Promise<void>((resolve) => {
          told = resolve
        })
        const body = racing(life, how, place)
        life
          .run({ id: 'x', name: 'x', input: null }, async (run) => {
            await body(run)
            told()
            return hangs()
          })
          .catch(() => undefined)
        await isTold
        home.clock.nowMs += LONG_MS
        assert.is(await carry(home.process()), 'end')
        const again = home.process()
        assert.is((await again.replay('x', racing(again, how, place))).output, 'end')
      })

  for (const what of ['tool', 'checked', 'child'] as const)
    letGo(
      `A565 a run that threw beside a ${what} under way replays once a resume has rolled it back (RUN-266)`,
      async () => {
        await using home = await open()
        const seen: string[] = []
        const bodyOf = (cs: Countersign) => {
          const slow = cs.tool(hangs, {
            name: 'slow',
            compensate: () => 1,
            onUnknown: 'retry',
            ...(what === 'checked' && { check: () => ({ done: false as const }) }),
          })
          const quick = cs.tool(async () => 1, { name: 'quick', compensate: 'not-needed' })
          return async (_: Run<null>): Promise<null> => {
            const going = what === 'child' ? cs.run({ name: 'child' }, () => slow()) : slow()
            going.catch(() => undefined)
            await quick()
            seen.push('throws')
            throw new TypeError('the end')
          }
        }
        const killed = home.process()
        killed.run({ id: 'x', name: 'x', input: null }, bodyOf(killed)).catch(() => undefined)
        while (!(await hasRollback(home))) await new Promise((resolve) => setTimeout(resolve, 5))
        home.clock.nowMs += LONG_MS
        const next = home.process()
        await rejection(next.run({ id: 'x', name: 'x', input: null }, bodyOf(next)))
        const again = home.process()
        const { error } = await again.replay('x', bodyOf(again))
        assert.is((error as Error).message, 'the end')
        assert.equal(seen, ['throws', 'throws'])
      },
    )

  letGo('A565 code that waits for what had no outcome when it threw has diverged (RUN-266)', async () => {
    await using home = await open()
    const bodyOf = (cs: Countersign, waits: boolean) => {
      const slow = cs.tool(hangs, { name: 'slow', compensate: () => 1, onUnknown: 'retry' })
      return async (_: Run<null>): Promise<null> => {
        const going = slow()
        going.catch(() => undefined)
        await (waits ? going : new Promise((resolve) => setTimeout(resolve, 20)))
        throw new TypeError('the end')
      }
    }
    const killed = home.process()
    killed.run({ id: 'x', name: 'x', input: null }, bodyOf(killed, false)).catch(() => undefined)
    while (!(await hasRollback(home))) await new Promise((resolve) => setTimeout(resolve, 5))
    const again = home.process()
    assert.is(codeOf(await rejection(again.replay('x', bodyOf(again, true)))), 'call-in-doubt')
  })

  letGo.run()
}
