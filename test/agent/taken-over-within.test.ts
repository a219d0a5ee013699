import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { mapCodec } from '../../src/agent/calls/codecs.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf, type RunOutcome } from '../../src/agent/saga/outcome.ts'
import { Outside } from '../support/twin-part.ts'
import { within } from '../support/within.ts'
import { HOMES, killedAfter, LONG_MS, type TestHome } from './homes.ts'

interface At {
  readonly cs: Countersign
  readonly book: (what: string) => Promise<unknown>
  /** Goes on until it is let go. */
  readonly linger: (what: string) => Promise<unknown>
  readonly letGo: () => void
}

type Trip = (at: At) => Promise<unknown>

const CHILDREN: Trip = async ({ cs, book }) => {
  await cs.run({ name: 'stay' }, async () => {
    await book('hotel')
    await cs.run({ name: 'meals' }, () => book('dinner'))
  })
  throw new RangeError('enough')
}

/** The parent ends with an error once its children are done, or while one goes on. */
const TRIPS: Readonly<Record<string, Trip>> = {
  'children that ended': CHILDREN,
  'a child that goes on': async ({ cs, book, linger, letGo }) => {
    const stay = cs.run({ name: 'stay' }, () => linger('hotel'))
    stay.catch(() => undefined)
    await book('train')
    await book('taxi')
    setImmediate(letGo)
    throw new RangeError('enough')
  },
}

const ended = (life: Promise<unknown>): Promise<RunOutcome['status'] | undefined> =>
  life.then(
    () => undefined,
    (error: unknown) => outcomeOf(error)?.status,
  )

for (const { name, open } of HOMES) {
  const taken = suite(`runs within a run that is taken over ${name}`)

  const life = (
    home: TestHome,
    world: Outside,
    more: { change?: Parameters<TestHome['process']>[0]; wait?: () => void },
  ) => {
    const cs = home.process(more.change, more.wait === undefined ? {} : { onWait: more.wait })
    const book = cs.tool((_: string) => world.act(), {
      name: 'book',
      onUnknown: 'retry',
      compensate: () => world.undo(),
    })
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const linger = cs.tool(
      async (_: string) => {
        world.act()
        await held
      },
      { name: 'linger', onUnknown: 'retry', compensateUnknown: true, compensate: () => world.undo() },
    )
    return { cs, book, linger, letGo }
  }

  for (const [what, trip] of Object.entries(TRIPS))
    taken(
      `${what}: the rollback of a parent that is taken over waits for no lease of theirs (RUN-252, A533)`,
      async () => {
        await using home = await open()
        for (let commands = 1, isOver = false; !isOver; commands += 1) {
          const [id, world] = [`trip-${commands}`, new Outside()]
          const { change, dead } = killedAfter(commands, true)
          const first = life(home, world, { change })
          const end = ended(first.cs.run({ id, name: 'trip' }, () => trip(first))).then(() => true)
          isOver = await within(Promise.race([dead.then(() => false), end]), 'death or end')
          const waits = Promise.withResolvers<never>()
          const second = life(home, world, { wait: () => waits.reject(new Error(`${id} waits for a lease`)) })
          const resumed = second.cs.run({ id, name: 'trip', whenOwned: 'take-over' }, () => trip(second))
          assert.is(await within(Promise.race([ended(resumed), waits.promise]), id), 'COMPENSATED', id)
          const [done, undone] = world.effects.split(' done, ')
          assert.is(`${done} undone`, undone, id)
        }
      },
    )

  taken(
    'where the parent is not taken over, their leases are waited for, and nothing is undone twice (RUN-54)',
    async () => {
      await using home = await open()
      let refusals = 0
      for (let commands = 1, isOver = false; !isOver; commands += 1) {
        const [id, world] = [`trip-${commands}`, new Outside()]
        const { change, dead } = killedAfter(commands, true)
        const first = life(home, world, { change })
        const end = ended(first.cs.run({ id, name: 'trip' }, () => CHILDREN(first))).then(() => true)
        isOver = await within(Promise.race([dead.then(() => false), end]), 'death or end')
        const { effects } = world
        const inTheEnd = (connection: Connection): Connection => ({
          ...connection,
          execute: async (...asked) => {
            const reply = await connection.execute(...asked)
            if (reply.ok || reply.problem.code !== 'call-in-progress') return reply
            assert.is(world.effects, effects, `${id} is left alone`)
            refusals += 1
            home.clock.nowMs += LONG_MS
            return { ...reply, problem: { ...reply.problem, retryAfterMs: 1 } }
          },
        })
        const second = life(home, world, { change: inTheEnd })
        assert.is(
          await within(ended(second.cs.run({ id, name: 'trip' }, () => CHILDREN(second))), id),
          'COMPENSATED',
          id,
        )
        assert.is(world.effects, '2 done, 2 undone', id)
      }
      assert.ok(refusals > 0)
    },
  )

  taken('a child is undone whose output needs a codec (RUN-255, A536)', async () => {
    await using home = await open()
    const world = new Outside()
    const cs = home.process(undefined, { codecs: [mapCodec] as never })
    const book = cs.tool(() => world.act(), { name: 'book', compensate: () => world.undo() })
    const trip = cs.run({ name: 'trip' }, async () => {
      await cs.run({ name: 'stay' }, async () => {
        await book()
        return new Map([['a', 1]]) as never
      })
      throw new RangeError('enough')
    })
    assert.is(await within(ended(trip), 'the trip'), 'COMPENSATED')
    assert.is(world.effects, '1 done, 1 undone')
  })

  taken.run()
}
