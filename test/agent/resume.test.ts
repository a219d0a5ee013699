import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RecordedFailure, type ResumeDiverged } from '../../src/agent/errors.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, NO_WAIT, rejection, type TestHome } from './homes.ts'

for (const { name, open } of HOMES) {
  const resume = suite(`resume ${name}`)

  /** A process that dies at its n-th command; the ledger's clock goes on beyond every lease. */
  const dies = async (
    home: TestHome,
    at: { commands: number; lastArrives?: boolean },
    life: (cs: Countersign) => Promise<unknown>,
  ): Promise<void> => {
    const { change, dead } = killedAfter(at.commands, at.lastArrives ?? true)
    life(home.process(change)).catch(() => undefined)
    await within(dead, 'the death')
    home.clock.nowMs += LONG_MS
  }

  resume('the recorded results are served, the rest runs; nothing runs twice', async () => {
    await using home = await open()
    const effects: number[] = []
    const life = (cs: Countersign) => {
      const step = cs.tool((n: number) => effects.push(n), { name: 'step' })
      return cs.run({ id: 'r' }, async () => [await step(1), await step(2), await step(3)])
    }
    await dies(home, { commands: 5 }, life)
    assert.equal(effects, [1, 2])
    assert.equal(await life(home.process()), [1, 2, 3])
    assert.equal(effects, [1, 2, 3])
  })

  resume('a run that has ended gives its recorded end', async () => {
    await using home = await open()
    let effects = 0
    const life = (cs: Countersign) => {
      const step = cs.tool(() => ++effects, { name: 'step', compensate: () => undefined })
      return {
        good: () => cs.run({ id: 'good' }, () => step()),
        bad: () => cs.run({ id: 'bad' }, async () => Promise.reject(new Error(`after ${await step()}`))),
      }
    }
    const [first, second] = [life(home.process()), life(home.process())]
    assert.is(await first.good(), 1)
    assert.is(await second.good(), 1)
    assert.is(((await rejection(first.bad())) as Error).message, 'after 2')
    const error = await rejection(second.bad())
    assert.is(codeOf(error), 'run-rolled-back')
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    assert.equal(
      outcomeOf(error)?.compensated.map(({ tool }) => tool),
      ['step'],
    )
    assert.is(effects, 2)
  })

  resume('a recorded failure is served as a failure, and the code goes the same way', async () => {
    await using home = await open()
    const effects: string[] = []
    const life = (cs: Countersign) => {
      const bad = cs.tool(
        () => {
          effects.push('bad')
          throw new TypeError('no')
        },
        { name: 'bad', retries: 1, backoff: NO_WAIT },
      )
      const good = cs.tool((why: string) => effects.push(why), { name: 'good' })
      const last = cs.tool(() => effects.push('last'), { name: 'last' })
      return cs.run({ id: 'r' }, async () => {
        await bad().catch((error: Error) =>
          good(`${error.name}: ${error.message} ${error instanceof RecordedFailure}`.slice(0, 13)),
        )
        return last()
      })
    }
    await dies(home, { commands: 7 }, life)
    assert.equal(effects, ['bad', 'bad', 'TypeError: no'])
    assert.is(await life(home.process()), 4)
    assert.equal(effects, ['bad', 'bad', 'TypeError: no', 'last'])
  })

  resume(
    'a call that died between effect and settle is in doubt: it is not run again, and the run stays open',
    async () => {
      await using home = await open()
      const effects: string[] = []
      const life = (cs: Countersign, check?: () => { done: true; result: string } | { done: false }) => {
        const charge = cs.tool(() => `p-${effects.push('charge')}`, { name: 'charge', ...(check && { check }) })
        return cs.run({ id: 'r' }, () => charge())
      }
      // The claim arrives; what would settle it does not.
      await dies(home, { commands: 3, lastArrives: false }, life)
      assert.equal(effects, ['charge'])

      const error = await rejection(life(home.process()))
      assert.is(codeOf(error), 'call-in-doubt')
      assert.is(outcomeOf(error)?.status, 'OPEN')
      assert.equal(effects, ['charge'])
      assert.is(await life(home.process(), () => ({ done: true, result: 'found' })), 'found')
      assert.equal(effects, ['charge'])
    },
  )

  resume('a check that says no lets it run; so does a tool that may be retried', async () => {
    await using home = await open()
    for (const options of [{ check: () => ({ done: false }) as const }, { onUnknown: 'retry' } as const]) {
      const keys: string[] = []
      const id = Object.keys(options)[0] ?? ''
      const life = (cs: Countersign) => {
        const charge = cs.tool({
          name: 'charge',
          ...options,
          execute: (_: object, context) => keys.push(context.idempotencyKey),
        })
        return cs.run({ id }, () => charge({}))
      }
      await dies(home, { commands: 3, lastArrives: false }, life)
      assert.is(await life(home.process()), 2)
      assert.is(new Set(keys).size, 1, 'the provider sees one key')
    }
  })

  resume(
    'other arguments than the record holds are refused, both named; nothing runs and nothing is rolled back (RUN-22)',
    async () => {
      await using home = await open()
      const effects: string[] = []
      const life = (cs: Countersign, amount: number) => {
        const charge = cs.tool((cents: number) => effects.push(`charge ${cents}`), {
          name: 'charge',
          compensate: () => void effects.push('refund'),
        })
        const ship = cs.tool(() => effects.push('ship'), { name: 'ship' })
        return cs.run({ id: 'r' }, async () => {
          await charge(amount)
          return ship()
        })
      }
      await dies(home, { commands: 3 }, (cs) => life(cs, 5))
      const error = (await rejection(life(home.process(), 6))) as ResumeDiverged
      assert.is(error.code, 'resume-diverged')
      assert.equal((error.evidence.actual as { args: unknown }).args, [6])
      assert.equal((error.evidence.expected as { args: unknown }[])[0]?.args, [5])
      assert.is(outcomeOf(error)?.status, 'OPEN')
      assert.equal(effects, ['charge 5'])
      assert.is(await life(home.process(), 5), 2)
    },
  )

  resume('a run cannot complete while recorded calls are unasked (RUN-22)', async () => {
    await using home = await open()
    const life = (cs: Countersign, ...amounts: number[]) => {
      const charge = cs.tool((cents: number) => cents, { name: 'charge' })
      return cs.run({ id: 'r' }, async () => {
        for (const amount of amounts) await charge(amount)
        return 'done'
      })
    }
    await dies(home, { commands: 5 }, (cs) => life(cs, 1, 2, 3))
    assert.is(codeOf(await rejection(life(home.process(), 1))), 'resume-diverged')
    assert.is(await life(home.process(), 1, 2), 'done')
  })

  resume('once, now and uuid come from the record (RUN-23)', async () => {
    await using home = await open()
    const seen: string[] = []
    const life = (cs: Countersign) => {
      const keep = cs.tool((text: string) => void seen.push(text), { name: 'keep' })
      return cs.run({ id: 'r' }, async (r: Run<null>) => {
        const parts = [
          await r.uuid(),
          (await r.now()).toISOString(),
          await r.once('dice', () => Math.random()),
          await r.uuid(),
        ]
        await keep(parts.join(' '))
        const more = cs.tool(() => seen.length, { name: 'more' })
        await more()
        return parts.join(' ')
      })
    }
    await dies(home, { commands: 11 }, life)
    assert.is(seen.length, 1)
    assert.is(await life(home.process()), seen[0])
    const [uuid, , , other] = seen[0]?.split(' ') ?? []
    assert.is.not(uuid, other)
  })

  resume(
    'a second owner takes the run over: the first one starts nothing more, and rolls nothing back (RUN-21)',
    async () => {
      await using home = await open()
      const log: string[] = []
      const life = (cs: Countersign, who: string, between: () => Promise<unknown>) => {
        const step = cs.tool((n: number) => log.push(`${who} ${n}`), {
          name: 'step',
          compensate: () => void log.push('undo'),
        })
        return cs.run({ id: 'r' }, async () => {
          await step(1)
          await between()
          return step(2)
        })
      }
      let firstFails: Promise<unknown> = Promise.resolve()
      const second = () =>
        life(home.process(), 'second', () => {
          goOn()
          return firstFails
        })
      let goOn = (): void => undefined
      const waits = new Promise<void>((resolve) => {
        goOn = resolve
      })
      let reached = (): void => undefined
      const first = new Promise<void>((resolve) => {
        reached = resolve
      })
      firstFails = rejection(
        life(home.process(), 'first', () => {
          reached()
          return waits
        }),
      )
      await first
      await second()
      const error = await firstFails
      assert.is(codeOf(error), 'run-taken-over')
      assert.is(outcomeOf(error)?.status, 'OPEN')
      assert.equal(log, ['first 1', 'second 2'])
    },
  )

  resume('an interrupted rollback goes on, and undoes nothing twice (RUN-30)', async () => {
    await using home = await open()
    const log: string[] = []
    const life = (cs: Countersign) => {
      const step = cs.tool((n: number) => n, {
        name: 'step',
        onUnknown: 'retry',
        compensate: ({ args }) => void log.push(`undo ${args[0]}`),
      })
      return cs.run({ id: 'r' }, async () => {
        for (const n of [1, 2, 3]) await step(n)
        throw new Error('stop')
      })
    }
    // Start, three claims and settles, compensate, claim and settle of the first undo.
    await dies(home, { commands: 10 }, life)
    assert.equal(log, ['undo 3'])
    const again = home.process()
    const error = await rejection(life(again))
    assert.is(codeOf(error), 'run-rolled-back')
    assert.equal(log, ['undo 3', 'undo 2', 'undo 1'])
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
  })

  resume('a rollback by a process that lacks the tool asks for the calls a few times, then leaves them', async () => {
    await using home = await open()
    await dies(home, { commands: 4 }, (cs) => {
      const step = cs.tool((n: number) => n, { name: 'step', compensate: () => undefined })
      return cs.run({ id: 'r' }, async () => (await step(1)) + (await step(2)))
    })
    let reads = 0
    const counted = (connection: Connection): Connection => ({
      ...connection,
      calls: (...args) => {
        reads += 1
        return connection.calls(...args)
      },
    })
    await home.connection.execute('r', { kind: 'compensate', body: { reason: 'stop' } })
    const stopped = home.process(counted).run({ id: 'r' }, () => assert.unreachable('it is rolled back'))
    assert.is(outcomeOf(await rejection(stopped))?.status, 'IN_DOUBT')
    assert.ok(reads < 10, `read ${reads} times`)
  })

  resume('recover finishes rollbacks, asks the checks, and lists what is left', async () => {
    await using home = await open()
    const log: string[] = []
    const tools = (cs: Countersign) => ({
      step: cs.tool((n: number) => n, { name: 'step', compensate: ({ args }) => void log.push(`undo ${args[0]}`) }),
      blind: cs.tool(() => 1, { name: 'blind' }),
      told: cs.tool(() => 1, { name: 'told', check: () => ({ done: true, result: 1 }) }),
    })
    // Long ago by the clock of whoever recovers, which is not the ledger's.
    home.clock.nowMs -= 4 * LONG_MS
    await dies(home, { commands: 4 }, (cs) => {
      const { step } = tools(cs)
      return cs.run({ id: 'back' }, async () => Promise.reject(new Error(`stop ${await step(1)}`)))
    })
    for (const which of ['blind', 'told'] as const) {
      await dies(home, { commands: 3, lastArrives: false }, (cs) => {
        const all = tools(cs)
        return cs.run({ id: which }, () => all[which]())
      })
    }
    const cs = home.process()
    tools(cs)
    const recovery = await cs.recover()
    assert.equal(log, ['undo 1'])
    assert.equal(
      recovery.rolledBack.map(({ runId, status }) => [runId, status]),
      [['back', 'COMPENSATED']],
    )
    assert.equal(
      recovery.inDoubt.map(({ runId, tool }) => [runId, tool]),
      [['blind', 'blind']],
    )
    assert.equal([...recovery.open].sort(), ['blind', 'told'])
  })

  resume.run()
}
