/** Work that goes on beside what ends: the losers of a fork that are undone, a saga that was let go of, code beside a throw. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { childrenOf } from '../../src/agent/saga/roll-back.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, LONG_MS, rejection, type TestHome } from './homes.ts'

const SAFE = { onUnknown: 'retry', compensate: 'not-needed' } as const
const OPTIONS = { id: 'x', name: 'x', input: null } as const
const hangs = (): Promise<never> => new Promise(() => {})

/** A process, and what kills it: nothing of it reaches the ledger any more. */
function mortal(home: TestHome) {
  let isDead = false
  const cs = home.process((connection) => ({
    ...connection,
    execute: (...asked) => (isDead ? hangs() : connection.execute(...asked)),
  }))
  const kill = (): void => {
    isDead = true
    home.clock.nowMs += LONG_MS
  }
  return { cs, kill }
}

/** Calls beside a fork whose loser is undone; they are told whether that is over. */
function beside(cs: Countersign, log: string[], hung?: () => void) {
  const keep = cs.tool({
    name: 'keep',
    execute: (n: number) => n,
    compensate: {
      onUnknown: 'retry',
      run: () => {
        hung?.()
        return hung === undefined ? undefined : hangs()
      },
    },
  } as never) as unknown as (n: number) => Promise<number>
  const call = cs.tool(async (_: string) => 1, { name: 'call', ...SAFE })
  return async (run: Run<null>): Promise<string> => {
    let state = 'undoing'
    const branches = [0, 1].map((n) => ({
      name: `b${n}`,
      agent: `b${n}`,
      run: async () => {
        await keep(n)
        if (n === 0) await call('the other is first')
        return { n }
      },
    }))
    const { unwound } = await run.fork(branches, { join: 'first_wins' })
    const isOver = unwound.then((all) => {
      state = `undone ${all.length}`
      log.push(state)
    })
    for (let i = 0; i < 4; i += 1) {
      await call(`${i} ${state}`)
      log.push(`call ${i}`)
    }
    if (hung !== undefined) await hangs()
    await isOver
    await call('end')
    return log.join()
  }
}

for (const { name, open } of HOMES) {
  const ends = suite(`beside the end ${name}`)

  ends('A551 a fork tells that its losers are undone where the record has it (RUN-256)', async () => {
    await using home = await open()
    const first: string[] = []
    const hung = Promise.withResolvers<void>()
    const { cs, kill } = mortal(home)
    cs.run(OPTIONS, beside(cs, first, hung.resolve)).catch(hung.reject)
    await within(hung.promise)
    while (first.length < 4) await new Promise((resolve) => setTimeout(resolve, 5))
    kill()
    const second: string[] = []
    const next = home.process()
    const output = await within(next.run(OPTIONS, beside(next, second)))
    assert.equal(second, [...first, 'undone 1'])
    const third: string[] = []
    const again = home.process()
    assert.is((await again.replay('x', beside(again, third))).output, output)
    assert.equal(third, second)
  })

  ends('A553 the end of a run waits for a saga that was let go of, also while that is undone (RUN-258)', async () => {
    await using home = await open()
    const cs = home.process()
    const slow = (): Promise<number> => new Promise((resolve) => setTimeout(resolve, 30, 1))
    const step = cs.tool({ name: 'step', execute: () => 1, onUnknown: 'retry', compensate: slow } as never)
    const fail = cs.tool({ name: 'fail', effects: 'none', execute: () => Promise.reject(new Error('no')) })
    const tell = cs.tool(async () => 1, { name: 'tell', ...SAFE })
    const seen: string[] = []
    const body = async (run: Run<null>): Promise<number> => {
      const steps = [{ tool: step, args: null }, { tool: step, args: 1 }, { tool: fail }]
      run.saga(steps as never).then(
        ({ status }) => seen.push(status),
        () => undefined,
      )
      return tell()
    }
    assert.is(await within(cs.run(OPTIONS, body)), 1)
    await cs.replay('x', body)
    assert.equal(seen, ['COMPENSATED', 'COMPENSATED'])
  })

  ends('A554 a run that threw beside a fork under way replays (RUN-266)', async () => {
    await using home = await open()
    const bodyOf = (cs: Countersign, forked?: () => void) => {
      const slow = cs.tool(
        () => {
          forked?.()
          return forked === undefined ? 1 : new Promise((resolve) => setTimeout(resolve, 50))
        },
        { name: 'slow', ...SAFE },
      )
      return async (run: Run<null>): Promise<never> => {
        const fork = run.fork([{ agent: 'a', run: async () => ({ k: await slow() }) }], { join: 'union' })
        fork.catch(() => undefined)
        await run.uuid()
        await isForked
        throw new TypeError('the end')
      }
    }
    const { promise: isForked, resolve } = Promise.withResolvers<void>()
    const cs = home.process()
    await rejection(cs.run(OPTIONS, bodyOf(cs, resolve)))
    const again = home.process()
    const { error } = await again.replay('x', bodyOf(again))
    assert.is((error as Error).message, 'the end')
  })

  ends('A555 code beside one that threw asks in vain, live as on a replay (RUN-259)', async () => {
    await using home = await open()
    const codes: unknown[] = []
    const bodyOf = (cs: Countersign) => {
      const quick = cs.tool(async (n: number) => n, { name: 'quick', onUnknown: 'retry', compensate: () => 1 })
      return async (_: Run<null>): Promise<never> => {
        const late = async (): Promise<void> => {
          await new Promise((resolve) => setTimeout(resolve, 0))
          codes.push(codeOf(await rejection(quick(2))))
        }
        await quick(1)
        void late()
        throw new TypeError('the end')
      }
    }
    const cs = home.process()
    await rejection(cs.run(OPTIONS, bodyOf(cs)))
    const again = home.process()
    await again.replay('x', bodyOf(again))
    while (codes.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    assert.equal(codes, ['no-active-run', 'no-active-run'])
  })

  ends('A556 a value that was renamed is named by its replay, with what it was (RUN-144)', async () => {
    await using home = await open()
    const cs = home.process()
    await cs.run(OPTIONS, async (run) => run.once('a', () => 1))
    const diverged = (await rejection(cs.replay('x', async (run) => run.once('b', () => 1)))) as Error
    assert.is(codeOf(diverged), 'replay-diverged')
    assert.match(diverged.message, /asks for run\.once:b where the record holds run\.once:a/)
  })

  ends('A557 a take-over ends the leases of others in a run within, and none of its own (RUN-252)', async () => {
    await using home = await open()
    const cs = home.process()
    const begun = Promise.withResolvers<void>()
    const linger = cs.tool(
      () => {
        begun.resolve()
        return hangs()
      },
      { name: 'linger', ...SAFE },
    )
    const statuses = []
    for (const [id, ownRuns] of [
      ['mine', new Set(['mine'])],
      ['theirs', new Set<string>()],
    ] as const) {
      cs.run({ ...OPTIONS, id }, () => linger()).catch(() => undefined)
      await begun.promise
      const list = () => home.connection.calls(id)
      while ((await list().catch(() => [])).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      const { connection } = home
      const registry = { get: () => undefined, onWait: undefined } as never
      await childrenOf({ connection, registry, ownRuns })(id, 'undone')
      statuses.push((await list())[0]?.status)
    }
    assert.equal(statuses, ['claimed', 'in-doubt'])
  })

  ends.run()
}
