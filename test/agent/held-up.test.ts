/** @module A run goes no further in this process while calls, steps and branches of it are under way: what their code makes of that is no outcome (RUN-160). */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RunWaiting } from '../../src/agent/errors.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { HOMES, rejection } from './homes.ts'

type Body = (run: Run<null>) => Promise<unknown>
type Pay = (cents: number) => Promise<number>
type Here = { readonly cs: Countersign; readonly pay: Pay }

const LEAVE = { id: 'r', name: 'order', whenWaiting: 'leave' } as const
const REPEATABLE = { name: 'outer', onUnknown: 'retry', compensate: 'not-needed' } as const

/** The code passes over whatever error it meets. */
const caught = <T>(work: () => Promise<T>): Promise<T | 'not paid'> => work().catch(() => 'not paid' as const)

/** Each gives 1 where the call that waits is carried out, and goes on where it is told that the run waits. */
const CASES: Readonly<Record<string, (here: Here) => Body>> = {
  'a tool': ({ cs, pay }) => {
    const outer = cs.tool(() => caught(() => pay(1)), REPEATABLE)
    return async () => outer()
  },
  'a tool that throws something else': ({ cs, pay }) => {
    const outer = cs.tool(() => pay(1).catch(() => Promise.reject(new Error('not paid'))), REPEATABLE)
    return async () => outer()
  },
  'a tool of a tool': ({ cs, pay }) => {
    const inner = cs.tool(() => caught(() => pay(1)), { ...REPEATABLE, name: 'inner' })
    const outer = cs.tool(() => caught(() => inner()), REPEATABLE)
    return async () => outer()
  },
  'a tool in parts': ({ cs, pay }) => {
    const outer = cs.tool(
      async function* () {
        yield 0
        yield await caught(() => pay(1))
      },
      { ...REPEATABLE, stream: true },
    )
    return async () => {
      let last: unknown
      for await (const part of await outer()) last = part
      return last
    }
  },
  'run.once':
    ({ pay }) =>
    async (run) =>
      run.once('o', () => caught(() => pay(1))),
  'run.waitFor in a tool': ({ cs, pay }) => {
    let at: Run<null> | undefined
    const outer = cs.tool(() => caught(async () => at?.waitFor('go')), REPEATABLE)
    return async (run) => {
      at = run
      return (await outer()) === 'signal' ? pay(1) : 'no signal'
    }
  },
  'run.sleep in a tool': ({ cs, pay }) => {
    let at: Run<null> | undefined
    const outer = cs.tool(() => caught(async () => at?.sleep(1_000).then(() => 'slept')), REPEATABLE)
    return async (run) => {
      at = run
      return (await outer()) === 'slept' ? pay(1) : 'no sleep'
    }
  },
  'a run within the run, in a tool': ({ cs, pay }) => {
    const outer = cs.tool(() => caught(() => cs.run({ name: 'kid' }, () => pay(1))), REPEATABLE)
    return async () => outer()
  },
  'a run within the run':
    ({ cs, pay }) =>
    async () =>
      cs.run({ name: 'kid' }, () => caught(() => pay(1))),
  'the body, around a run within the run':
    ({ cs, pay }) =>
    async () =>
      caught(() => cs.run({ name: 'kid' }, () => pay(1))),
  'the body':
    ({ pay }) =>
    async () =>
      caught(() => pay(1)),
  'a step':
    ({ pay }) =>
    async (run) =>
      (await run.step('a', async () => ({ paid: await caught(() => pay(1)) }))).payload.paid,
  'a step in a tool': ({ cs, pay }) => {
    let at: Run<null> | undefined
    const outer = cs.tool(
      () => caught(async () => (await at?.step('a', async () => ({ paid: await pay(1) })))?.payload.paid ?? null),
      REPEATABLE,
    )
    return async (run) => {
      at = run
      return outer()
    }
  },
  'a branch of a fork':
    ({ pay }) =>
    async (run) =>
      (await run.fork([{ agent: 'a', run: async () => ({ paid: await caught(() => pay(1)) }) }], { join: 'union' }))
        .output.paid,
  'a branch of a fork, around a tool': ({ cs, pay }) => {
    const outer = cs.tool(() => pay(1), REPEATABLE)
    return async (run) =>
      (await run.fork([{ agent: 'a', run: async () => ({ paid: await caught(() => outer()) }) }], { join: 'union' }))
        .output.paid
  },
  'the score of a vote':
    ({ pay }) =>
    async (run) => {
      const score = async (): Promise<number> => ((await caught(() => pay(1))) === 1 ? 1 : 0)
      const joined = await run.fork([{ name: 'b', agent: 'a', run: () => ({ paid: 1 }) }], { join: 'vote', score })
      return joined.receipts[0]?.score
    },
  'a saga in a tool': ({ cs, pay }) => {
    let at: Run<null> | undefined
    const outer = cs.tool(
      () => caught(async () => (await at?.saga([{ tool: pay, args: [1] }] as never))?.steps[0]?.result ?? null),
      REPEATABLE,
    )
    return async (run) => {
      at = run
      return outer()
    }
  },
}

/** What a place asks of the ledger, which is told then that another process has taken the run over. */
const REFUSED: Readonly<Record<string, readonly [kind: string, ask: (run: Run<null>) => Promise<unknown>]>> = {
  'run.handoff': ['envelope', (run) => run.handoff({ paid: 1 }, { agent: 'a' })],
  'run.rollback': [
    'rollback',
    async (run) => {
      await run.handoff({ paid: 1 }, { agent: 'a' })
      return run.rollback({ toStep: 0 })
    },
  ],
  'run.fork': ['fork', (run) => run.fork([{ agent: 'a', run: () => ({ paid: 1 }) }], { join: 'union' })],
  'run.step': ['envelope', (run) => run.step('a', () => ({ paid: 1 }))],
}

function takenOver(connection: Connection, kind: string): Connection {
  return {
    ...connection,
    execute: async (runId, command, options) =>
      command.kind === kind
        ? { ok: false, problem: { code: 'run-taken-over', detail: 'another process has the run', evidence: {} } }
        : connection.execute(runId, command, options),
  }
}

for (const { name, open } of HOMES) {
  const test = suite(`held up ${name}`)

  for (const [what, bodyOf] of Object.entries(CASES)) {
    test(`what the code of ${what} makes of a wait that leaves the run is no outcome, and the next life goes on there (RUN-160, A444)`, async () => {
      await using home = await open()
      const paid: number[] = []
      const life = (cs: Countersign): Promise<unknown> => {
        const pay = cs.tool(async (cents: number) => paid.push(cents) && cents, {
          name: 'pay',
          approve: true,
          compensate: 'not-needed',
        })
        return cs.run(LEAVE, bodyOf({ cs, pay }))
      }
      let output: unknown
      for (let lives = 0; lives < 4 && output === undefined; lives += 1) {
        const cs = home.process()
        const left = await within(
          life(cs).then(
            (value) => {
              output = value
            },
            (error: unknown) => error,
          ),
          'a life',
        )
        if (output !== undefined) break
        assert.is(outcomeOf(left)?.status ?? left, 'OPEN')
        assert.equal(paid, [], 'nothing is carried out that nobody approved')
        home.clock.nowMs += 1_000
        if (what.startsWith('run.waitFor')) await cs.signal('r', 'go', 'signal', { requestId: 'one' })
        const { approvals } = await home.as('bob', ['lead'])
        for await (const approval of approvals.list()) await approvals.grant(approval, { comment: 'checked' })
      }
      assert.is(output, 1)
      assert.equal(paid, [1])
    })
  }

  for (const [what, [kind, ask]] of Object.entries(REFUSED)) {
    test(`a tool in which ${what} finds the run taken over has no outcome, whatever it makes of that (RUN-160)`, async () => {
      await using home = await open()
      const life = (cs: Countersign): Promise<unknown> =>
        cs.run(LEAVE, async (run: Run<null>) => {
          const outer = cs.tool(
            () =>
              ask(run).then(
                () => 'done',
                () => 'passed over',
              ),
            REPEATABLE,
          )
          return outer()
        })
      const left = await rejection(life(home.process((connection) => takenOver(connection, kind))))
      assert.is(outcomeOf(left)?.status, 'OPEN')
      assert.is(await within(life(home.process()), 'the resume'), 'done')
    })
  }

  test('a branch that ends by itself beside one that waits is on record, and is not cut off for it (RUN-190)', async () => {
    await using home = await open()
    const lives = { slow: 0, cut: 0 }
    const life = (cs: Countersign): Promise<unknown> => {
      const slow = cs.tool(
        async () => {
          lives.slow += 1
          const signal = currentCall()?.signal
          await new Promise((resolve) => setTimeout(resolve, 200))
          if (signal?.aborted === true) lives.cut += 1
          signal?.throwIfAborted()
          return 'slow'
        },
        { name: 'slow', compensate: 'not-needed' },
      )
      return cs.run(LEAVE, async (run: Run<null>) => {
        const branches = [
          { name: 'a', agent: 'a', run: async () => ({ a: await caught(() => run.waitFor('go')) }) },
          { name: 'b', agent: 'b', run: async () => ({ b: await slow() }) },
        ]
        return (await run.fork(branches as never, { join: 'union' })).output
      })
    }
    assert.ok((await rejection(life(home.process()))) instanceof RunWaiting)
    await home.process().signal('r', 'go', 'gone')
    assert.equal(await life(home.process()), { a: 'gone', b: 'slow' })
    assert.equal(lives, { slow: 1, cut: 0 })
  })

  for (const whenOwned of ['join', 'wait', 'take-over'] as const) {
    test(`a result in parts is whole in the life that goes on, where another process has taken the run up amid it: ${whenOwned} (RUN-160, A445)`, async () => {
      await using home = await open()
      const amid = Promise.withResolvers<void>()
      const second = Promise.withResolvers<void>()
      const life = (begun?: () => void): Promise<unknown> => {
        const cs = home.process()
        const read = cs.tool(
          async function* () {
            yield 1
            amid.resolve()
            await second.promise
            yield* [2, 3, 4]
          },
          { name: 'read', stream: true, effects: 'none', leaseMs: 1_000 },
        )
        const put = cs.tool((part: number) => part, { name: 'put', compensate: 'not-needed', leaseMs: 1_000 })
        return cs.run({ id: 'r', name: 'parts', whenOwned }, async () => {
          begun?.()
          const sums: number[] = []
          for await (const part of await read()) sums.push(await put(part))
          return sums
        })
      }
      const first = life()
      await amid.promise
      const both = await within(Promise.allSettled([first, life(second.resolve)]), 'both lives')
      const ends: unknown[] = both.map((end) => (end.status === 'fulfilled' ? end.value : 'left'))
      if (both.every(({ status }) => status === 'rejected')) ends.push(await life())
      assert.ok(ends.some((end) => end !== 'left'))
      for (const end of ends) if (end !== 'left') assert.equal(end, [1, 2, 3, 4])
    })
  }

  test('a call that succeeds by itself beside one that waits has that result on record (RUN-160)', async () => {
    await using home = await open()
    let tries = 0
    const life = (cs: Countersign): Promise<unknown> => {
      const slow = cs.tool(
        async () => {
          tries += 1
          await new Promise((resolve) => setTimeout(resolve, 100))
          return 'slow'
        },
        { name: 'slow' },
      )
      return cs.run(LEAVE, (run: Run<null>) => Promise.all([run.waitFor('go'), slow()]))
    }
    assert.ok((await rejection(life(home.process()))) instanceof RunWaiting)
    await home.process().signal('r', 'go', 'gone')
    assert.equal(await life(home.process()), ['gone', 'slow'])
    assert.is(tries, 1)
  })

  test.run()
}
