import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type InDoubt, type LedgerRefused, OutcomeUnknown } from '../../src/agent/errors.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { rounds } from '../support/rounds.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, NO_WAIT, rejection, shortLife, type TestHome } from './homes.ts'

/** What was done and undone in the world, by key: done twice under one key is seen. */
class World {
  readonly deeds: string[] = []

  tool(cs: Countersign, name: string) {
    return cs.tool((what: string) => this.deeds.push(`${name} ${what}`) && what, {
      name,
      backoff: NO_WAIT,
      check: ([what]) => (this.deeds.includes(`${name} ${what}`) ? { done: true, result: what } : { done: false }),
      compensate: {
        run: ({ args: [what] }) => this.deeds.push(`undo ${name} ${what}`),
        check: ({ args: [what] }) =>
          this.deeds.includes(`undo ${name} ${what}`) ? { done: true, result: 0 } : { done: false },
      },
    })
  }
}

const enough = () => Promise.reject(new Error('enough'))

async function typesOf(home: TestHome, runId: string): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of home.connection.events(runId)) types.push(type)
  return types
}

async function runIds(home: TestHome): Promise<string[]> {
  const ids: string[] = []
  for (const status of ['open', 'completed', 'compensated', 'failed'] as never[])
    for await (const runId of home.connection.runs({ status })) ids.push(runId)
  return ids
}

for (const { name, open } of HOMES) {
  const nested = suite(`runs within runs ${name}`)

  nested(
    'a call in doubt within is found out: the run around it goes on, and what was not executed is, once (RUN-17, RUN-57)',
    async () => {
      for (const executed of [true, false]) {
        await using home = await open()
        const deeds: string[] = []
        const life = (cs: Countersign) => {
          const charge = cs.tool((n: number) => `charge ${n} ${deeds.push('charge')}`, { name: 'charge' })
          const ship = cs.tool((what: string) => `${what} ${deeds.push('ship')}`, { name: 'ship' })
          return cs.run({ id: 'r', name: 'r' }, async () => ship(await cs.run({ name: 'inner' }, () => charge(5))))
        }
        // The claim of the call within arrives, its answer does not.
        await shortLife(home, { at: 4, lastArrives: true }, life)
        const error = await rejection(life(home.process()))
        assert.equal([codeOf(error), outcomeOf(error)?.status, deeds], ['call-in-doubt', 'OPEN', []])
        const { callId } = (error as InDoubt).evidence
        const found = executed ? { executed, result: 'found' } : { executed }
        await home.process().resolve(String(callId), { ...found, reason: 'the bank says so' })
        assert.is(await life(home.process()), executed ? 'found 1' : 'charge 5 1 2')
        assert.equal(deeds, executed ? ['ship'] : ['charge', 'ship'])
      }
    },
  )

  nested('a run within a run is a call of it: linked in both streams, and served on resume (RUN-56)', async () => {
    await using home = await open()
    let bodies = 0
    const trip = (cs: Countersign) => async () => {
      const stay = (run: { input: string }) => `${run.input} ${++bodies}`
      const one = (input: string) => cs.run({ name: 'stay', input }, stay)
      return [...(await Promise.all([one('a'), one('b')])), await one('a')]
    }
    const life = (cs: Countersign) => cs.run({ id: 'trip', name: 'trip' }, trip(cs))
    const output = await life(home.process())
    assert.equal([output, bodies], [['a 1', 'b 2', 'a 3'], 3], 'the same name and input again is another run')
    const links: unknown[] = []
    for await (const { data } of home.connection.events('trip', 'ChildRunStarted')) links.push(data)
    const calls = await home.connection.calls('trip')
    assert.equal(
      links,
      calls.map(({ callId }) => ({ v: 1, callId, run: callId })),
    )
    assert.equal(
      calls.map(({ tool, child, callId }) => [tool, child === callId]),
      Array(3).fill(['cs.run:stay', true]),
    )
    for (const { callId } of calls)
      for await (const { data } of home.connection.events(String(callId), 'RunStarted'))
        assert.equal(data.childOf, { run: 'trip', callId, depth: 1 })
    assert.equal(await life(home.process()), output)
    const again = home.process()
    assert.is((await again.replay('trip', trip(again))).verdict, 'exact')
    assert.is(bodies, 3, 'nothing of a child is run again')
  })

  nested(
    'a parent that throws has its children undone with it, in reverse, and each rollback is its own (RUN-58)',
    async () => {
      await using home = await open()
      const world = new World()
      const cs = home.process()
      const book = world.tool(cs, 'book')
      const failing = cs.run({ id: 'trip' }, async () => {
        await book('taxi')
        await cs.run({ name: 'stay' }, async () => {
          await book('hotel')
          await cs.run({ name: 'meals' }, () => book('dinner'))
          await book('spa')
        })
        await book('train')
        return enough()
      })
      const error = await rejection(failing)
      assert.is(outcomeOf(error)?.status, 'COMPENSATED')
      const undone = world.deeds.filter((deed) => deed.startsWith('undo'))
      assert.equal(
        undone,
        ['train', 'spa', 'dinner', 'hotel', 'taxi'].map((what) => `undo book ${what}`),
      )
      for (const runId of await runIds(home)) assert.is((await typesOf(home, runId)).at(-1), 'RunCompensated')
      assert.is((await runIds(home)).length, 3)
    },
  )

  nested(
    'killed behind the end of a child that failed, the resume catches what its code ended with (RUN-195)',
    async () => {
      await using home = await open()
      const life = (cs: Countersign, id: string, seen: unknown[]) => {
        const book = cs.tool(() => 1, { name: 'book', onUnknown: 'retry', compensate: () => 0 })
        return cs.run({ id, name: 'trip', whenOwned: 'take-over' }, async () => {
          const stay = cs.run({ name: 'stay' }, async () => {
            await book()
            throw Object.assign(new RangeError('no room'), { code: 'E_ROOM', status: 409 })
          })
          const error = (await rejection(stay)) as Error
          const { name, message, code, status } = error as Error & { code?: string; status?: number }
          seen.push([error.constructor.name, name, message, code, status])
          await book()
        })
      }
      const expected = [['RecordedFailure', 'RangeError', 'no room', 'E_ROOM', 409]]
      let behindItsEnd = 0
      const step = rounds(2, 1)
      for (let commands = 1; ; commands += step) {
        const id = `trip-${commands}`
        const seen: unknown[] = []
        const { change, dead } = killedAfter(commands, true)
        const ended = life(home.process(change), id, []).then(() => true)
        const isOver = await within(Promise.race([dead.then(() => false), ended]), 'death or end')
        const types = (await home.connection.calls(id)).flatMap(({ status, child }) => (child ? [status] : []))
        if (types[0] === 'claimed') behindItsEnd += 1
        await life(home.process(), id, seen)
        if (seen.length > 0) assert.equal(seen, expected, `killed after ${commands}`)
        if (isOver) break
      }
      assert.ok(behindItsEnd > 3 / step, 'some of them died while the call of the child was open')
    },
  )

  nested('what could not be undone of a child shows in the verdict of its parent (RUN-58)', async () => {
    const undoings = {
      COMPENSATED: () => 0,
      PARTLY_COMPENSATED: undefined,
      COMPENSATION_FAILED: enough,
      IN_DOUBT: () => Promise.reject(new OutcomeUnknown()),
    }
    await using home = await open()
    for (const [status, compensate] of Object.entries(undoings)) {
      for (const failsIn of ['child', 'parent']) {
        const id = `${failsIn}-${status}`
        const cs = home.process()
        const options = { name: 'book', compensationRetries: 0, ...(compensate && { compensate }) }
        const book = cs.tool(() => 1, options)
        const failing = cs.run({ id }, async () => {
          const stay = cs.run({ name: 'stay' }, async () => {
            await book()
            if (failsIn === 'child') await enough()
          })
          // The parent goes on, and fails by itself.
          await stay.catch(() => undefined)
          await enough()
        })
        const outcome = outcomeOf(await rejection(failing))
        assert.is(outcome?.status, status, `${failsIn}: ${JSON.stringify(outcome)}`)
        const verdicts: unknown[] = []
        for await (const { data } of home.connection.events(id, 'RunCompensated')) verdicts.push(data.status)
        assert.equal(verdicts, [status], 'the ledger says the same')
        const lists = {
          PARTLY_COMPENSATED: 'standing',
          COMPENSATION_FAILED: 'failed',
          IN_DOUBT: 'unknown',
          COMPENSATED: 'compensated',
        }
        const list = outcome?.[lists[status as 'COMPENSATED'] as 'compensated']
        assert.equal(
          list?.map(({ tool }) => tool),
          ['cs.run:stay'],
        )
        const replayed = home.process()
        replayed.tool(() => 1, options)
        const { outcome: then } = await replayed.replay(id, async () => {
          await replayed.run({ name: 'stay' }, async () => undefined).catch(() => undefined)
          await enough()
        })
        assert.is(then?.status, status)
      }
    }
  })

  nested(
    'a doubt within a child ends with a resolution, for the child and for its parent (RUN-55, RUN-58)',
    async () => {
      for (const failsIn of ['child', 'parent']) {
        await using home = await open()
        const undone: unknown[] = []
        const process = () => {
          const cs = home.process()
          const pay = cs.tool(() => Promise.reject(new OutcomeUnknown()), {
            name: 'pay',
            compensate: ({ result }) => undone.push(result),
          })
          const life = () =>
            cs.run({ id: 'trip' }, async () => {
              const stay = cs.run({ name: 'stay' }, () => (failsIn === 'child' ? pay() : pay().catch(enough)))
              await stay
            })
          return { cs, life }
        }
        assert.is(outcomeOf(await rejection(process().life()))?.status, 'IN_DOUBT')
        const { cs } = process()
        const { inDoubt } = await cs.recover()
        assert.equal(
          inDoubt.map(({ tool }) => tool),
          ['pay'],
          'the child is no question of its own',
        )
        await cs.resolve(inDoubt[0]?.callId ?? '', { executed: true, result: 'p-1', reason: 'on the statement' })
        const { rolledBack } = await cs.recover()
        assert.equal(
          rolledBack.map(({ status }) => status),
          ['COMPENSATED', 'COMPENSATED'],
        )
        assert.equal(undone, ['p-1'])
        const last = await process().cs.recover()
        assert.equal([last.rolledBack, last.inDoubt, last.open], [[], [], []])
      }
    },
  )

  nested(
    'a call of a run within the run is resolved by nobody while that run is open: it ends with the run (RUN-292)',
    async () => {
      await using home = await open()
      const life = (cs: Countersign) =>
        cs.run({ id: 'r', name: 'r', whenWaiting: 'leave' }, () =>
          cs.run({ id: 'within', name: 'inner' }, (run) => run.waitFor<string>('go')),
        )
      assert.is(codeOf(await rejection(life(home.process()))), 'run-waiting')
      const [call] = await home.connection.calls('r')
      assert.equal([call?.status, call?.tool], ['in-doubt', 'cs.run:inner'])
      const { length } = await typesOf(home, 'r')
      for (const found of [{ executed: true, result: 'made up' }, { executed: false }]) {
        const resolving = home.process().resolve(String(call?.callId), { ...found, run: 'r', reason: 'I looked' })
        const error = (await rejection(resolving)) as LedgerRefused
        assert.equal([error.code, error.evidence.run], ['call-not-in-doubt', 'within'])
        assert.match(error.message, /the run within .* is open/)
      }
      assert.is((await typesOf(home, 'r')).length, length, 'nothing is recorded')
      await home.process().signal('within', 'go', 'gone')
      assert.is(await life(home.process()), 'gone')
    },
  )

  nested(
    'killed after any command, a program with runs within runs does and undoes each thing once (RUN-57, F110)',
    async () => {
      // Each of them in the long suite; those of the short one are odd and even in turn.
      const step = name === 'over HTTP' ? rounds(7, 1) : rounds(3, 1)
      for (let commands = 1, over = false; !over; commands += step) {
        await using home = await open()
        const world = new World()
        const life = (cs: Countersign) => {
          const book = world.tool(cs, 'book')
          return cs.run({ id: 'trip' }, async () => {
            await cs.run({ name: 'stay' }, async () => `${await book('hotel')}, ${await book('spa')}`)
            await book('train')
            await enough()
          })
        }
        const { change, dead } = killedAfter(commands, commands % 2 === 0)
        const first = life(home.process(change)).catch(() => true)
        over = (await within(Promise.race([first, dead.then(() => false)]), 'the first life')) === true
        home.clock.nowMs += LONG_MS
        const outcome = outcomeOf(await rejection(life(home.process())))
        assert.is(outcome?.status, 'COMPENSATED', `${commands}`)
        const done = ['book hotel', 'book spa', 'book train', 'undo book train', 'undo book spa', 'undo book hotel']
        assert.equal(world.deeds, done, `after ${commands} commands`)
        const ids = await runIds(home)
        assert.is(ids.length, 2, 'no second child')
        for (const runId of ids) assert.is((await typesOf(home, runId)).at(-1), 'RunCompensated')
      }
    },
  )

  nested(
    'a child is taken up with its parent at once, wherever it stopped: nobody waits for a lease (RUN-57)',
    async () => {
      await using home = await open()
      let known = false
      const waits: unknown[] = []
      const life = (cs: Countersign) => {
        const pay = cs.tool((): string => 'p-1', { name: known ? 'pay' : 'paid' })
        return cs.run({ id: 'trip' }, () =>
          cs.run({ name: 'stay' }, async () => {
            const paid = await pay()
            // What is inside cannot go on, since that id is taken.
            await cs.run({ name: 'x', id: 'trip' }, () => 0)
            return paid
          }),
        )
      }
      const process = () => home.process(undefined, { onWait: (notice) => waits.push(notice) })
      const stopped = await rejection(life(process()))
      assert.is(codeOf(stopped), 'run-exists')
      assert.is(outcomeOf(stopped)?.status, 'OPEN', 'both stay as they are')
      known = true
      const error = await rejection(life(process()))
      assert.is(codeOf(error), 'resume-diverged')
      assert.equal(waits, [])
    },
  )

  nested('an id names the child of one call, and a detached one is nobody’s (RUN-56, F110)', async () => {
    await using home = await open()
    const cs = home.process()
    await cs.run({ id: 'mine' }, () => 0)
    const taken = await rejection(cs.run({ id: 'a' }, () => cs.run({ id: 'mine' }, () => 0)))
    assert.is(codeOf(taken), 'run-exists')
    assert.not.ok((await typesOf(home, 'a')).includes('ChildRunStarted'), 'its parent does not name it')
    const named = await cs.run({ id: 'b' }, () => cs.run({ id: 'of-b' }, (run) => run.id))
    assert.is(named, 'of-b')
    const free = await rejection(
      cs.run({ id: 'c' }, async () => {
        await cs.run({ id: 'free', detached: true }, () => 0)
        await enough()
      }),
    )
    assert.is(outcomeOf(free)?.status, 'COMPENSATED')
    assert.is((await typesOf(home, 'free')).at(-1), 'RunCompleted')
  })

  nested.run()
}

const deep = suite('runs within runs, deep')

for (const { name, open } of rounds(1, 2) === 1 ? HOMES.slice(0, 1) : HOMES) {
  deep(`${name}: a run that starts itself comes to an end, 32 below the first (RUN-56)`, async () => {
    await using home = await open()
    const cs = home.process()
    let depth = 0
    const deeper = (): Promise<unknown> => cs.run({ name: 'deeper', input: ++depth }, deeper)
    assert.is(codeOf(await rejection(cs.run({ name: 'deep' }, deeper))), 'recursive-call')
    assert.is(depth, 33, 'the first, and 32 below it')
  })
}

deep.run()
