import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { codeOf, HOMES, killedAfter, rejection } from './homes.ts'

interface Plan {
  readonly first?: string
  readonly second?: string
  readonly extra?: string
}

for (const { name, open } of HOMES) {
  const branches = suite(`branch runs ${name}`)

  /** Researches, hands over (step 1), books, hands over (step 2), books again. */
  const program = (cs: Countersign, log: string[]) => {
    const look = cs.tool((what: string) => `${what} ${log.push(`look ${what}`)}`, { name: 'look' })
    const book = cs.tool((what: string) => `${what} ${log.push(`book ${what}`)}`, {
      name: 'book',
      compensate: ({ args: [what] }) => void log.push(`cancel ${what}`),
    })
    const hand = async (run: Run<string>, agent: string, payload: object) => {
      const handed = await run.handoff(payload, { agent, mode: 'extend' })
      if (!handed.ok) throw new Error('refused')
      return handed.envelope.step
    }
    return ({ first = 'flights', second = 'hotel', extra }: Plan = {}) =>
      async (run: Run<string>) => {
        const id = await run.uuid()
        const found = await look(`${run.input} ${first}`)
        await hand(run, 'researcher', { facts: [found] })
        if (extra !== undefined) await look(extra)
        const seat = await book('seat')
        await hand(run, 'booker', { seat })
        const room = await book(second)
        const step = await hand(run, 'booker', { room })
        return { id, found, seat, room, step, context: (await run.context()).context }
      }
  }
  const parent = async (home: Awaited<ReturnType<typeof open>>) => {
    const log: string[] = []
    const cs = home.process()
    const body = program(cs, log)
    const policy = { ungrounded: 'off' as const, protect: [] }
    const output = await cs.run({ id: 'p', name: 'trip', input: 'Oslo', policy }, body())
    return { output, log }
  }

  branches(
    'what came before the step is served, what follows is live, and both streams name the other run',
    async () => {
      await using home = await open()
      const { output } = await parent(home)
      const log: string[] = []
      const cs = home.process()
      const branched = await cs.branch('p', { atStep: 2, id: 'b' }, program(cs, log)({ second: 'cabin' }))
      assert.equal(log, ['book cabin'])
      assert.equal(
        [branched.id, branched.found, branched.seat, branched.step],
        [output.id, output.found, output.seat, 3],
      )
      assert.equal(branched.context, { ...output.context, room: branched.room })
      const started: unknown[] = []
      for await (const { data } of home.connection.events('b', 'RunStarted')) started.push(data.branchOf)
      assert.is((started[0] as { run: string }).run, 'p')
      const links: unknown[] = []
      for await (const { data } of home.connection.events('p', 'RunBranched')) links.push([data.run, data.atStep])
      assert.equal(links, [['b', 2]])
      assert.is((await home.connection.calls('b')).length, 1, 'what is served is not claimed')
    },
  )

  branches('step 0 is a new start, with nothing served', async () => {
    await using home = await open()
    const { output } = await parent(home)
    const log: string[] = []
    const cs = home.process()
    const again = await cs.branch('p', { atStep: 0 }, program(cs, log)())
    assert.equal(log, ['look Oslo flights', 'book seat', 'book hotel'])
    assert.is.not(again.id, output.id)
  })

  branches('a prefix that diverges ends it before any live call', async () => {
    await using home = await open()
    await parent(home)
    for (const plan of [{ first: 'trains' }, { extra: 'weather' }] satisfies Plan[]) {
      const log: string[] = []
      const cs = home.process()
      const error = await rejection(cs.branch('p', { atStep: 2 }, program(cs, log)(plan)))
      assert.is(codeOf(error), 'branch-diverged')
      assert.is(outcomeOf(error)?.status, 'OPEN')
      assert.equal(log, [])
    }
    const log: string[] = []
    const cs = home.process()
    const other = cs.tool(() => log.push('other'), { name: 'other' })
    const skips = await rejection(cs.branch('p', { atStep: 2 }, () => other()))
    assert.is(codeOf(skips), 'branch-diverged', 'what the code skips is noticed before it goes on by itself')
    assert.equal(log, [])
  })

  branches("a failed branch undoes what it did itself, and nothing of the other run's", async () => {
    await using home = await open()
    await parent(home)
    const log: string[] = []
    const cs = home.process()
    const body = program(cs, log)()
    const error = await rejection(
      cs.branch('p', { atStep: 1, id: 'b' }, async (run: Run<string>) => {
        await body(run)
        throw new Error('changed my mind')
      }),
    )
    assert.equal(log, ['book seat', 'book hotel', 'cancel hotel', 'cancel seat'])
    const { compensated = [], standing = [] } = outcomeOf(error) ?? {}
    assert.equal([compensated.length, standing.length], [2, 0])
  })

  branches('a branch is resumed by its id, replayed with what it inherits, and branched itself (RUN-26)', async () => {
    await using home = await open()
    const { output } = await parent(home)
    const log: string[] = []
    // Dead when the cabin is booked: its settle has arrived.
    const { change, dead } = killedAfter(3, true)
    const first = home.process(change)
    void first.branch('p', { atStep: 2, id: 'b' }, program(first, log)({ second: 'cabin' }))
    await dead
    assert.equal(log, ['book cabin'])
    const second = home.process()
    const branched = await second.branch('p', { atStep: 2, id: 'b' }, program(second, log)({ second: 'cabin' }))
    assert.equal(log, ['book cabin'])
    assert.is(branched.room, 'cabin 1')
    const third = home.process()
    const replayed = await third.replay('b', program(third, log)({ second: 'cabin' }))
    assert.equal(replayed.output, branched)
    const diverged = await rejection(third.replay('b', program(home.process(), log)()))
    assert.ok(codeOf(diverged))
    const fourth = home.process()
    const again = await fourth.branch('b', { atStep: 3 }, program(fourth, log)({ second: 'cabin' }))
    assert.equal([again.id, again.room, again.step], [output.id, branched.room, 3])
    assert.equal(log, ['book cabin'])
  })

  branches('a fork in what it inherits is served with its verdict', async () => {
    await using home = await open()
    const body = (cs: Countersign, log: string[]) => {
      const look = cs.tool((what: string) => `${what} ${log.push(what)}`, { name: 'look' })
      const after = cs.tool((what: string) => log.push(what), { name: 'after' })
      return async (run: Run<null>) => {
        const branch = (agent: string) => ({ agent, run: async () => ({ [agent]: await look(agent) }) })
        const { winners, output } = await run.fork([branch('a'), branch('b')], { join: 'vote' })
        await after('after')
        return { winners, output }
      }
    }
    const log: string[] = []
    const live = home.process()
    const output = await live.run({ id: 'p' }, body(live, log))
    const cs = home.process()
    const branched = await cs.branch('p', { atStep: 1 }, body(cs, log))
    assert.equal(branched, output)
    assert.equal(log, ['a', 'b', 'after', 'after'])
  })

  branches('its budget is its own, and unknown runs and steps are refused (RUN-26)', async () => {
    await using home = await open()
    await parent(home)
    const cs = home.process()
    const body = program(cs, [])()
    await cs.branch('p', { atStep: 2, id: 'b', budget: { tokens: 5 } }, body)
    assert.is(codeOf(await rejection(cs.branch('p', { atStep: 9 }, body))), 'unknown-step')
    assert.ok(codeOf(await rejection(cs.branch('nowhere', { atStep: 0 }, body))))
  })

  branches.run()
}
