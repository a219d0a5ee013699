/** A replay comes to what the run came to: denials that roll it back, aborts by the caller's signal, runs within it whose end nobody heard. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { agent } from '../../src/agent/loop/agent.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { within } from '../support/within.ts'
import { HOMES, rejection, type TestHome } from './homes.ts'

const SAFE = { onUnknown: 'retry', compensate: 'not-needed' } as const
const OPTIONS = { id: 'x', name: 'x', input: null } as const
const LONG = 60 * 60_000
const hangs = (): Promise<never> => new Promise(() => {})
const told = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error))

/** Calls one after another, until one is refused. `seen`: how far it came. */
function working(cs: Countersign, at?: (i: number) => unknown) {
  const count = async (i: number): Promise<number> => {
    await at?.(i)
    return i
  }
  const work = cs.tool(count, { name: 'work', onUnknown: 'retry', compensate: () => 1 })
  return async (seen: { n: number }): Promise<void> => {
    for (let i = 0; i < 30; i += 1) seen.n = await work(i)
  }
}

/** A process dies once it has begun to undo the run, and the next one comes to its end. */
async function diedAsUndone(
  home: TestHome,
  bodyOf: (cs: Countersign, isFirst: boolean) => (run: Run<null>) => Promise<never>,
): Promise<void> {
  const died = Promise.withResolvers<void>()
  let isDead = false
  const mortal = home.process((connection) => ({
    ...connection,
    execute: async (...asked) => {
      if (isDead) return hangs()
      const reply = await connection.execute(...asked)
      isDead ||= asked[1].kind === 'compensate'
      if (isDead) died.resolve()
      return isDead ? hangs() : reply
    },
  }))
  mortal.run(OPTIONS, bodyOf(mortal, true)).catch(died.reject)
  await within(died.promise)
  home.clock.nowMs += LONG
  const next = home.process()
  await within(rejection(next.run(OPTIONS, bodyOf(next, false))))
}

for (const { name, open } of HOMES) {
  const ends = suite(`as then ${name}`)

  ends('A621 a denial that rolls the run back is handed over at its place on a replay (RUN-65, RUN-170)', async () => {
    for (const isCaught of [false, true]) {
      await using home = await open()
      const bob = await home.as('bob')
      const said: unknown[] = []
      const bodyOf = (cs: Countersign, deny?: () => Promise<unknown>) => {
        const all = working(cs, async (i) => (i === 4 ? deny?.() : undefined))
        const pay = cs.tool(async () => 1, { name: 'pay', approve: { onDenied: 'rollback' }, ...SAFE })
        return async (_: Run<null>): Promise<unknown> => {
          const seen = { n: -1 }
          try {
            return await Promise.all([pay(), all(seen)])
          } catch (error) {
            said.push(`${seen.n} ${told(error)}`)
            if (isCaught) return seen.n
            throw error
          }
        }
      }
      const cs = home.process()
      const deny = async (): Promise<void> => {
        for await (const each of bob.approvals.list()) await bob.approvals.deny(each)
      }
      await within(rejection(cs.run(OPTIONS, bodyOf(cs, deny))))
      const again = home.process()
      const { end, error } = await within(again.replay('x', bodyOf(again)))
      assert.is(end, 'compensated')
      assert.match(told(error), /not approved/)
      assert.ok(Number.parseInt(String(said[0]), 10) >= 3)
      assert.equal(said[1], said[0])
    }
  })

  ends('A622 a result that could not be recorded fails the run on a replay as well (RUN-11)', async () => {
    await using home = await open()
    const said: unknown[] = []
    const bodyOf = (cs: Countersign) => {
      const lost = cs.tool(async () => 10n as never, { name: 'lost', onUnknown: 'retry', compensate: () => 1 })
      const more = cs.tool(async (_: number) => 1, { name: 'more', ...SAFE })
      return async (_: Run<null>): Promise<void> => {
        await more(1)
        await lost().catch((error: unknown) => said.push(told(error)))
        await more(2).catch((error: unknown) => said.push(told(error)))
      }
    }
    const cs = home.process()
    await rejection(cs.run(OPTIONS, bodyOf(cs)))
    const again = home.process()
    assert.is((await within(again.replay('x', bodyOf(again)))).end, 'compensated')
    assert.is(said.length, 4)
    assert.equal(said.slice(2), said.slice(0, 2))
  })

  for (const how of ['sleep', 'calls', 'both', 'signal', 'caught', 'before'] as const)
    ends(
      `A623 a run that its caller's signal aborted (${how}) is aborted at the same place on a replay (RUN-294)`,
      async () => {
        await using home = await open()
        const said: unknown[] = []
        const bodyOf = (cs: Countersign, abort?: () => void) => {
          const all = working(cs, (i) => {
            if (i !== 5) return undefined
            abort?.()
            return hangs()
          })
          const quick = cs.tool(async () => 1, { name: 'quick', ...SAFE })
          return async (run: Run<null>): Promise<unknown> => {
            const seen = { n: -1 }
            const isAborted = new Promise((_, reject) =>
              run.signal?.addEventListener('abort', () => reject(run.signal?.reason)),
            )
            isAborted.catch(() => undefined)
            if (how !== 'both' && how !== 'calls') setTimeout(() => abort?.(), 50)
            const ways = {
              ...{ sleep: () => run.sleep(LONG), calls: () => all(seen), signal: () => isAborted },
              ...{ caught: () => run.sleep(LONG), before: () => quick() },
              both: () => Promise.all([run.sleep(LONG), all(seen)]),
            }
            try {
              if (how !== 'before') await quick()
              return await ways[how]()
            } catch (error) {
              said.push(`${seen.n} ${how === 'calls' ? (error as Error).name : told(error)}`)
              await quick().catch((refused) => said.push(told(refused)))
              if (how === 'caught') return 'caught'
              throw error
            }
          }
        }
        const cs = home.process()
        const controller = new AbortController()
        const reason = Object.assign(new RangeError('the user gave up'), { code: 'E_USER' })
        if (how === 'before') controller.abort(reason)
        const went = cs.run(
          { ...OPTIONS, signal: controller.signal },
          bodyOf(cs, () => controller.abort(reason)),
        )
        await within(went.catch(() => undefined))
        const first = said.splice(0)
        const again = home.process()
        const { end } = await within(again.replay('x', bodyOf(again)))
        assert.is(end, how === 'caught' ? 'completed' : 'compensated')
        assert.equal(said, first)
        assert.match(String(first[0]), how === 'calls' ? /^4 InDoubt/ : /RangeError: the user gave up$/)
      },
    )

  ends(
    'A624 a runtime is closed after the replay of a run within which another run was under way (RUN-230)',
    async () => {
      await using home = await open()
      const bodyOf = (cs: Countersign, begun?: () => void) => {
        const wait = (): Promise<never> => {
          begun?.()
          return hangs()
        }
        const slow = cs.tool(wait, { name: 'slow', ...SAFE })
        return async (run: Run<null>): Promise<never> => {
          cs.run({ name: 'c', input: null }, () => slow()).catch(() => undefined)
          cs.saga([{ tool: slow, args: [] }] as never).catch(() => undefined)
          await isBegun
          await run.uuid()
          throw new TypeError('the end')
        }
      }
      const { promise: isBegun, resolve } = Promise.withResolvers<void>()
      let begun = 0
      const countBegun = (): void => {
        begun += 1
        if (begun === 2) resolve()
      }
      await diedAsUndone(home, (cs, isFirst) => bodyOf(cs, isFirst ? countBegun : undefined))
      const again = home.process((connection) => ({ ...connection, [Symbol.asyncDispose]: async () => {} }))
      assert.is(told((await again.replay('x', bodyOf(again))).error), 'TypeError: the end')
      await within(again.close(), 'the close')
    },
  )

  for (const way of ['tool', 'run', 'once', 'step', 'saga', 'loop'] as const)
    ends(
      `A625 a run that threw beside code that had made calls (${way}), and died as it was undone, replays (RUN-266)`,
      async () => {
        await using home = await open()
        const bodyOf = (cs: Countersign, begun?: () => void) => {
          const quick = cs.tool(async (n: number) => n, { name: 'quick', onUnknown: 'retry', compensate: () => 1 })
          const wait = (): Promise<number> => {
            begun?.()
            return hangs()
          }
          const check = () => ({ done: true, result: 1 })
          const slow = cs.tool({
            name: 'slow',
            execute: wait,
            check,
            onUnknown: 'retry',
            compensate: 'not-needed',
          } as never)
          const inner = async (): Promise<{ a: number }> => {
            await quick(2)
            await (slow as unknown as () => Promise<number>)()
            return { a: 1 }
          }
          const outer = cs.tool({ name: 'outer', execute: inner, ...SAFE } as never)
          const outerRun = cs.tool(() => cs.run({ name: 'inner', input: null }, inner), { name: 'outer run', ...SAFE })
          const toolCalls = [{ id: 'a', name: 'outer', arguments: {} }]
          const model = async () => ({ role: 'assistant', toolCalls }) as const
          const tools = [{ tool: outer, parameters: { type: 'object' } }]
          const ways = {
            tool: () => (outer as unknown as () => Promise<unknown>)(),
            run: () => outerRun(),
            once: (run: Run<null>) => run.once('o', inner),
            step: (run: Run<null>) => run.step('s', inner),
            saga: (run: Run<null>) => run.saga([{ tool: quick, args: [3] }, { tool: outer }] as never),
            loop: () => agent({ name: 'bot', tools, model }).generate({ prompt: 'p' }),
          }
          return async (run: Run<null>): Promise<never> => {
            await quick(1)
            ways[way](run).catch(() => undefined)
            await isBegun
            await run.uuid()
            throw new TypeError('the end')
          }
        }
        const { promise: isBegun, resolve } = Promise.withResolvers<void>()
        await diedAsUndone(home, (cs, isFirst) => bodyOf(cs, isFirst ? resolve : undefined))
        const again = home.process()
        const { error } = await within(again.replay('x', bodyOf(again)))
        assert.is(told(error), 'TypeError: the end')
      },
    )

  ends.run()
}
