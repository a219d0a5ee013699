import { AsyncResource } from 'node:async_hooks'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AgentError, LedgerRefused } from '../../src/agent/errors.ts'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { UnreachableError } from '../../src/client/errors.ts'
import { codeOf, HOMES, NO_WAIT, rejection } from './homes.ts'

for (const { name, open } of HOMES) {
  const run = suite(`runs and tools ${name}`)

  run('a wrapped function gives its own result, and a repeat gets the recorded one', async () => {
    await using home = await open()
    const cs = home.process()
    let effects = 0
    const charge = cs.tool(async function charge(cents: number, card: string) {
      effects += 1
      return { id: `p-${effects}`, cents, card }
    })
    const output = await cs.run({ name: 'order' }, async () => [await charge(25, 'a'), await charge(25, 'a')])
    assert.equal(output, [
      { id: 'p-1', cents: 25, card: 'a' },
      { id: 'p-1', cents: 25, card: 'a' },
    ])
    assert.is(effects, 1)
  })

  run('by position a repeat is another call; by key the caller says which (RUN-3)', async () => {
    await using home = await open()
    const cs = home.process()
    let effects = 0
    const effect = (): number => ++effects
    const roll = cs.tool(effect, { name: 'roll', dedupe: 'position' })
    const keyed = cs.tool((_: string, key: string) => `${key}:${++effects}`, { name: 'keyed', key: ([, key]) => key })
    const rolled = await cs.run(async () => [await roll(), await roll(), await keyed('x', 'k'), await keyed('x', 'k')])
    assert.equal(rolled, [1, 2, 'k:3', 'k:3'])
  })

  run('equal calls requested at once are one call', async () => {
    await using home = await open()
    const cs = home.process()
    let effects = 0
    const tool = cs.tool(async (n: number) => n + ++effects, { name: 'add' })
    assert.equal(await cs.run(() => Promise.all([tool(1), tool(1), tool(2)])), [2, 2, 4])
  })

  run('an exception rolls back in reverse and is thrown again, the same object', async () => {
    await using home = await open()
    const cs = home.process()
    const log: string[] = []
    const step = cs.tool((n: number) => `did ${n}`, {
      name: 'step',
      compensate: ({ args, result }) => void log.push(`undo ${args[0]}: ${result}`),
    })
    const failure = new Error('no truck')
    const error = await rejection(
      cs.run({ id: 'r' }, async () => {
        for (const n of [1, 2, 3]) await step(n)
        throw failure
      }),
    )
    assert.is(error, failure)
    assert.equal(log, ['undo 3: did 3', 'undo 2: did 2', 'undo 1: did 1'])
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    assert.is(outcomeOf(error)?.runId, 'r')
  })

  run('what cannot be undone is reported: left standing, failed, not needed', async () => {
    await using home = await open()
    const cs = home.process()
    const mail = cs.tool(() => 'sent', { name: 'mail' })
    const look = cs.tool(() => 'seen', { name: 'look', compensate: 'not-needed' })
    const book = cs.tool(() => 'booked', {
      name: 'book',
      compensationRetries: 1,
      backoff: NO_WAIT,
      compensate: () => {
        throw new Error('too late')
      },
    })
    const outcome = async (...tools: (() => Promise<string>)[]) => {
      const error = await rejection(
        cs.run(async () => {
          for (const tool of tools) await tool()
          throw new Error('stop')
        }),
      )
      const { status, standing, failed } = outcomeOf(error) ?? {}
      return [status, standing?.map(({ tool }) => tool), failed?.map(({ tool }) => tool)]
    }
    assert.equal(await outcome(look), ['COMPENSATED', [], []])
    assert.equal(await outcome(mail, look), ['PARTLY_COMPENSATED', ['mail'], []])
    assert.equal(await outcome(mail, book), ['COMPENSATION_FAILED', ['mail'], ['book']])
  })

  run('a compensation is tried again, under one idempotency key', async () => {
    await using home = await open()
    const cs = home.process()
    const keys: string[] = []
    const book = cs.tool(() => 'b', {
      name: 'book',
      backoff: NO_WAIT,
      compensate: (_, { idempotencyKey, attempt }) => {
        keys.push(idempotencyKey)
        if (attempt < 3) throw new Error('busy')
      },
    })
    const error = await rejection(
      cs.run(async () => {
        await book()
        throw new Error('stop')
      }),
    )
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    assert.is(keys.length, 3)
    assert.is(new Set(keys).size, 1)
  })

  run('another tool may be the compensation: it gets arguments and result', async () => {
    await using home = await open()
    const cs = home.process()
    const got: unknown[] = []
    const charge = cs.tool((cents: number) => `p-${cents}`, { name: 'charge', compensate: 'refund' })
    cs.tool({ name: 'refund', execute: (undo: { args: unknown; result: unknown }) => void got.push(undo) })
    await rejection(
      cs.run(async () => {
        await charge(5)
        throw new Error('stop')
      }),
    )
    assert.equal(got, [{ args: [5], result: 'p-5' }])
  })

  run(
    'a failed tool is tried again, with its key unchanged, and its error is the cause of what is caught',
    async () => {
      await using home = await open()
      const cs = home.process()
      const keys: (string | undefined)[] = []
      const failures: Error[] = []
      const flaky = cs.tool(
        (lasts: number) => {
          keys.push(currentCall()?.idempotencyKey)
          if (keys.length <= lasts) {
            failures.push(new Error(`try ${keys.length}`))
            throw failures.at(-1)
          }
          return keys.length
        },
        { name: 'flaky', retries: 2, backoff: NO_WAIT, dedupe: 'position' },
      )
      assert.is(await cs.run(() => flaky(2)), 3)
      assert.is(new Set(keys).size, 1)
      keys.length = 0
      const error = await rejection(cs.run(() => flaky(9)))
      assert.is(keys.length, 3)
      assert.is((error as Error).cause, failures.at(-1))
    },
  )

  run('a tool outside of a run refuses; its bare function works', async () => {
    await using home = await open()
    const cs = home.process()
    const double = cs.tool((n: number) => n * 2, { name: 'double' })
    assert.is(codeOf(await rejection(double(2))), 'no-active-run')
    assert.is(double.execute(2), 4)
    let late = (): Promise<number> => Promise.resolve(0)
    await cs.run(async () => {
      late = AsyncResource.bind(() => double(3))
    })
    assert.is(codeOf(await rejection(late())), 'no-active-run')
  })

  run('run.call needs no asynchronous context', async () => {
    await using home = await open()
    const cs = home.process()
    const double = cs.tool((n: number) => n * 2, { name: 'double' })
    const outside: (() => void)[] = []
    const timer = setInterval(() => outside.shift()?.(), 1)
    try {
      const output = await cs.run((r) => {
        return new Promise<number>((resolve, reject) => {
          outside.push(() => void r.call(double, [4]).then(resolve, reject))
        })
      })
      assert.is(output, 8)
    } finally {
      clearInterval(timer)
    }
  })

  run(
    'arguments that fail the schema are refused before the claim, and parsed for the tool alone (RUN-12)',
    async () => {
      await using home = await open()
      const cs = home.process()
      const seen: unknown[] = []
      const input = {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value: unknown) =>
            typeof value === 'string' ? { value: Number(value) } : { issues: [{ message: 'a text', path: ['n'] }] },
        },
      } as const
      const tool = cs.tool({ name: 'parse', input, execute: (n) => void seen.push(n) })
      const error = await rejection(cs.run({ id: 'bad' }, () => tool(5 as unknown as string)))
      assert.is(codeOf(error), 'invalid-arguments')
      assert.equal((error as AgentError).evidence.issues, [{ pointer: '/n', message: 'a text' }])
      assert.equal(await home.connection.calls('bad'), [])
      await cs.run({ id: 'good' }, () => tool('7'))
      assert.equal(seen, [7])
      assert.is((await home.connection.calls('good'))[0]?.args, '7')
    },
  )

  run(
    'a result is the same live as recorded; what cannot be recorded rolls back with the live value (RUN-10, RUN-11)',
    async () => {
      await using home = await open()
      const cs = home.process()
      const dated = cs.tool(() => ({ at: new Date(0), none: undefined }) as unknown, { name: 'dated' })
      assert.equal(await cs.run(() => dated()), { at: '1970-01-01T00:00:00.000Z' })
      const nothing = cs.tool(() => undefined, { name: 'nothing' })
      assert.is(await cs.run(() => nothing()), null)

      const undone: unknown[] = []
      const huge = cs.tool(() => 10n ** 20n, { name: 'huge', compensate: ({ result }) => void undone.push(result) })
      const error = await rejection(cs.run(() => huge()))
      assert.is(codeOf(error), 'result-not-recorded')
      assert.equal(undone, [10n ** 20n])
      const swallowed = await rejection(cs.run(() => huge().catch(() => 'all is well')))
      assert.is(codeOf(swallowed), 'result-not-recorded', 'the body cannot swallow it')
      assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    },
  )

  run('a tool that calls itself with the same arguments is refused', async () => {
    await using home = await open()
    const cs = home.process()
    const again: (n: number) => Promise<number> = cs.tool(async (n: number): Promise<number> => again(n), {
      name: 'again',
    })
    assert.is(codeOf(await rejection(cs.run(() => again(1)))), 'recursive-call')
  })

  run('a call that names its compensation answers for the calls it made', async () => {
    await using home = await open()
    const cs = home.process()
    const log: string[] = []
    const inner = cs.tool((n: number) => n, {
      name: 'inner',
      compensate: ({ args }) => void log.push(`inner ${args[0]}`),
    })
    const outer = cs.tool(async (n: number) => inner(n), { name: 'outer', compensate: () => void log.push('outer') })
    const plain = cs.tool(async (n: number) => inner(n), { name: 'plain', compensate: 'not-needed' })
    await rejection(
      cs.run({ id: 'nested' }, async () => {
        await outer(1)
        await plain(2)
        throw new Error('stop')
      }),
    )
    assert.equal(log, ['inner 2', 'outer'])
    const calls = await home.connection.calls('nested')
    const [first] = calls.filter(({ tool }) => tool === 'outer')
    assert.is(calls.find(({ tool }) => tool === 'inner')?.parentCall, first?.callId)
  })

  run('a timeout is in doubt, not failed; a check settles it (RUN-9, RUN-18)', async () => {
    await using home = await open()
    const cs = home.process()
    const hang = () => new Promise<string>(() => {})
    const slow = cs.tool(hang, { name: 'slow', timeout: 5 })
    const error = await rejection(cs.run(() => slow()))
    assert.is(codeOf(error), 'call-in-doubt')
    assert.is(outcomeOf(error)?.status, 'IN_DOUBT')
    assert.equal(
      outcomeOf(error)?.unknown.map(({ tool }) => tool),
      ['slow'],
    )
    const checked = cs.tool(hang, { name: 'checked', timeout: 5, check: () => ({ done: true, result: 'found' }) })
    assert.is(await cs.run(() => checked()), 'found')
    let tries = 0
    const retried = cs.tool(() => (++tries === 1 ? hang() : Promise.resolve('second')), {
      name: 'retried',
      timeout: 5,
      retries: 1,
      backoff: NO_WAIT,
      onUnknown: 'retry',
    })
    assert.is(await cs.run(() => retried()), 'second')
  })

  run('a ledger out of reach stops side effects, unless the author chose otherwise', async () => {
    await using home = await open()
    const cs = home.process((connection) => ({
      ...connection,
      execute: (runId, command, ...more) =>
        command.kind === 'claim'
          ? Promise.reject(new UnreachableError('gone'))
          : connection.execute(runId, command, ...more),
    }))
    const effects: string[] = []
    const strict = cs.tool(() => void effects.push('strict'), { name: 'strict' })
    const lax = cs.tool(() => effects.push('lax'), { name: 'lax', unreachable: 'run' })
    const error = await rejection(cs.run({ id: 'cut' }, () => strict()))
    assert.instance(error, UnreachableError)
    assert.is(outcomeOf(error)?.status, 'OPEN')
    assert.equal(effects, [])
    await cs.run(() => lax())
    assert.equal(effects, ['lax'])
  })

  run('a tool twice, a compensation by no tool, another input under an id: refused before anything runs', async () => {
    await using home = await open()
    const cs = home.process()
    let effects = 0
    const tool = cs.tool(() => ++effects, { name: 'tool' })
    assert.throws(
      () => cs.tool(() => 1, { name: 'tool' }),
      (error: unknown) => codeOf(error) === 'tool-registered-twice',
    )
    assert.throws(
      () => cs.tool(() => 1),
      (error: unknown) => codeOf(error) === 'tool-unnamed',
    )
    await cs.run({ id: 'same', input: { a: 1 } }, () => tool())
    assert.is(codeOf(await rejection(cs.run({ id: 'same', input: { a: 2 } }, () => tool()))), 'run-exists')
    cs.tool(() => 1, { name: 'orphan', compensate: 'nobody' })
    assert.is(codeOf(await rejection(cs.run(() => tool()))), 'unknown-compensation')
    assert.is(effects, 1)
  })

  run('a run over its budget is rolled back, or left as it is where the author said so', async () => {
    await using home = await open()
    const cs = home.process()
    const over = () => {
      throw new LedgerRefused({ code: 'budget-exceeded', detail: 'spent', evidence: {} })
    }
    const rolled = await rejection(cs.run({ budget: { cost: '2.00 USD', tokens: 5 } }, over))
    assert.is(outcomeOf(rolled)?.status, 'COMPENSATED')
    const kept = await rejection(cs.run({ id: 'kept', compensateOnBudgetExceeded: false }, over))
    assert.is(outcomeOf(kept)?.status, 'FAILED')
    const cost = '2 dollars' as `${number} ${string}`
    assert.is(codeOf(await rejection(cs.run({ budget: { cost } }, over))), 'invalid-budget')
  })

  run('a forgotten await is waited for, and named', async () => {
    await using home = await open()
    const cs = home.process()
    let done = false
    const slow = cs.tool(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        done = true
      },
      { name: 'slow' },
    )
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    await cs.run(async () => void slow())
    assert.is(done, true)
    assert.match((await warned).message, 'slow')
  })

  run('an abort ends the run; what was done is still undone', async () => {
    await using home = await open()
    const cs = home.process()
    const aborting = new AbortController()
    const log: string[] = []
    const book = cs.tool(() => 'b', { name: 'book', compensate: () => void log.push('undone') })
    const stop = cs.tool(
      () => {
        aborting.abort(new Error('enough'))
        return new Promise<never>(() => {})
      },
      { name: 'stop' },
    )
    const error = await rejection(
      cs.run({ signal: aborting.signal }, async () => {
        await book()
        await stop()
      }),
    )
    assert.is(codeOf(error), 'call-in-doubt')
    assert.equal(log, ['undone'])
    assert.is(outcomeOf(error)?.status, 'IN_DOUBT')
  })

  run('claims of one tick go as one batch, in order (RUN-5)', async () => {
    await using home = await open()
    const batches: number[] = []
    const cs = home.process((connection) => ({
      ...connection,
      batch: (runId, commands) => {
        batches.push(commands.length)
        return connection.batch(runId, commands)
      },
    }))
    const tool = cs.tool((n: number) => n, { name: 'tool' })
    await cs.run({ id: 'batch' }, () => Promise.all([1, 2, 3, 4].map((n) => tool(n))))
    assert.equal(batches, [4])
    assert.equal(
      (await home.connection.calls('batch')).map(({ args }) => args),
      [[1], [2], [3], [4]],
    )
  })

  run.run()
}
