/** A worker that is killed in an undo, or in the check about it, leaves the run open: the next one finishes the rollback, which has one end. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { CheckResult } from '../../../src/agent/calls/tool-options.ts'
import type { Connection } from '../../../src/agent/runtime/connection.ts'
import { eventually, within } from '../../support/within.ts'
import { HOMES, LONG_MS, type TestHome } from '../homes.ts'
import { QUICK } from './place.ts'

const hangs = (): Promise<never> => new Promise(() => {})

interface Life {
  /** Where this worker is killed; it lives if absent. */
  readonly dies?: 'in the undo' | 'in the check'
  readonly check?: CheckResult<null>
}

interface World {
  readonly home: TestHome
  readonly deeds: string[]
}

/** A worker that is dead as soon as its last deed has begun: nothing of it reaches the ledger any more. */
async function life({ home, deeds }: World, { dies, check }: Life): Promise<AsyncDisposable> {
  let isDead = false
  const died = Promise.withResolvers<undefined>()
  const dead = (): Promise<never> => {
    isDead = true
    died.resolve(undefined)
    return hangs()
  }
  const unlessDead =
    <A extends unknown[], T>(ask: (...asked: A) => Promise<T>) =>
    (...asked: A): Promise<T> =>
      isDead ? hangs() : ask(...asked)
  const cs = home.process((connection: Connection) => ({
    ...connection,
    execute: unlessDead(connection.execute),
    batch: unlessDead(connection.batch),
    due: unlessDead(connection.due),
  }))
  const charge = cs.tool({
    name: 'charge',
    execute: async (_: string) => {
      deeds.push('charge')
      return 'p-1'
    },
    compensate: {
      run: async () => {
        deeds.push('undo')
        if (dies === 'in the undo') await dead()
      },
      check: async () => {
        deeds.push('check')
        return dies === 'in the check' ? dead() : check
      },
    },
  })
  const order = async (): Promise<never> => {
    await charge('a')
    throw new Error('enough')
  }
  const worker = cs.worker({ ...QUICK, runs: { order } })
  if (dies === undefined) return { [Symbol.asyncDispose]: () => worker.stop() }
  await within(died.promise, 'the death')
  const { status } = await home.connection.run('r')
  assert.is(status, 'open', `killed ${dies}`)
  home.clock.nowMs += LONG_MS
  return { [Symbol.asyncDispose]: async () => {} }
}

async function endsOf({ home }: World): Promise<unknown[]> {
  const ends: unknown[] = []
  for await (const { data } of home.connection.events('r', 'RunCompensated')) ends.push(data.status)
  return ends
}

const FOUND: readonly { readonly check: CheckResult<null>; readonly end: string; readonly deeds: readonly string[] }[] =
  [
    { check: { done: false }, end: 'COMPENSATED', deeds: ['check', 'undo'] },
    { check: { done: true, result: null }, end: 'COMPENSATED', deeds: ['check'] },
    { check: undefined, end: 'IN_DOUBT', deeds: ['check'] },
  ]

for (const { name, open } of HOMES) {
  const left = suite(`an undo that a worker left ${name}`)

  for (const { check, end, deeds: expected } of FOUND)
    left(`A592 the check is asked before the rollback has an end: ${JSON.stringify(check)} (RUN-287)`, async () => {
      await using home = await open()
      const world = { home, deeds: [] as string[] }
      const cs = home.process()
      await cs.start('order', null, { id: 'r' })
      await life(world, { dies: 'in the undo' })
      await life(world, { dies: 'in the check' })
      assert.equal(world.deeds.splice(0), ['charge', 'undo', 'check'])
      await using _ = await life(world, { check })
      const ended = await eventually(async () => {
        const { status } = await home.connection.run('r')
        return status === 'open' ? undefined : status
      }, 'the end')
      assert.is(ended, 'compensated')
      assert.equal([await endsOf(world), world.deeds], [[end], expected])
    })

  left('A593 a worker killed in the undo that it repeats leaves the run open, too (RUN-287)', async () => {
    await using home = await open()
    const world = { home, deeds: [] as string[] }
    const cs = home.process()
    await cs.start('order', null, { id: 'r' })
    await life(world, { dies: 'in the undo' })
    await life(world, { dies: 'in the undo', check: { done: false } })
    await using _ = await life(world, { check: { done: false } })
    const error = await within(
      cs.result('r').catch((thrown: unknown) => thrown as { readonly code?: string }),
      'the result',
    )
    assert.is((error as { readonly code?: string }).code, 'run-rolled-back')
    assert.equal(
      [await endsOf(world), world.deeds],
      [['COMPENSATED'], ['charge', 'undo', 'check', 'undo', 'check', 'undo']],
    )
  })

  left.run()
}
