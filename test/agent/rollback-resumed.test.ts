/** A rollback that a later process finishes: what was under way as the process ended is undone at its place. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { HOMES, LONG_MS, rejection, type TestHome } from './homes.ts'

const hangs = (): Promise<never> => new Promise(() => {})
const OPTIONS = { id: 'x', name: 'x', input: null } as const

/** A process that dies as soon as `dies` is called: nothing of it reaches the ledger any more. */
function mortal(home: TestHome, onReply: (kind: string) => void = () => undefined) {
  let isDead = false
  const cs = home.process((connection) => ({
    ...connection,
    execute: async (runId, command, options) => {
      if (isDead) return hangs()
      const reply = await connection.execute(runId, command, options)
      onReply(command.kind)
      return isDead ? hangs() : reply
    },
  }))
  const dies = (): void => {
    isDead = true
    home.clock.nowMs += LONG_MS
  }
  return { cs, dies }
}

/** Bookings that can be undone, and a call that `check` knows not to have happened, in which a dying process hangs. */
function toolsOf(cs: Countersign, undone: string[], isDying: boolean) {
  const keep = cs.tool({
    name: 'keep',
    onUnknown: 'retry',
    execute: (what: string) => what,
    compensate: {
      onUnknown: 'retry',
      run: async ({ args }: { args: string }) => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        undone.push(args)
      },
    },
  } as never) as unknown as (what: string) => Promise<string>
  const begun = Promise.withResolvers<void>()
  const slow = cs.tool({
    name: 'slow',
    execute: () => {
      begun.resolve()
      return isDying ? hangs() : 1
    },
    check: () => ({ done: false }),
    compensate: { onUnknown: 'retry', run: () => undefined },
  } as never) as unknown as () => Promise<number>
  return { keep, slow, begun: begun.promise }
}

/** Throws while a run within it is under way. `own`: the run has something of its own to undo, before and after that one. */
function throwing(cs: Countersign, { undone, own, isDying }: { undone: string[]; own: boolean; isDying: boolean }) {
  const { keep, slow, begun } = toolsOf(cs, undone, isDying)
  return async (): Promise<never> => {
    if (own) await keep('first')
    const child = cs.run({ name: 'child' }, async () => {
      await keep('inner')
      return slow()
    })
    child.catch(() => undefined)
    await begun
    if (own) await keep('last')
    throw new TypeError('the end')
  }
}

/** One branch wins; the other, which has lost, is in a run within the run. */
function forking(cs: Countersign, { undone, isDying }: { undone: string[]; isDying: boolean }, joined?: () => void) {
  const { keep, slow, begun } = toolsOf(cs, undone, isDying)
  return async (run: Run<null>): Promise<string> => {
    const offers = {
      loser: () =>
        cs.run({ name: 'offer' }, async () => {
          await keep('loser')
          return slow()
        }),
      winner: async () => {
        await begun
        return keep('winner')
      },
    }
    const branches = Object.entries(offers).map(([agent, offer]) => ({
      agent,
      run: async () => ({ [agent]: String(await offer()) }),
    }))
    await run.fork(branches, { join: 'first_wins' })
    if (isDying) {
      joined?.()
      await hangs()
    }
    // The code ends while the loser is undone.
    await keep('after')
    return 'done'
  }
}

for (const { name, open } of HOMES) {
  const resumed = suite(`a rollback that is resumed ${name}`)

  for (const own of [false, true])
    resumed(
      `A650 a run within the run that was under way is undone at its place, ${own ? 'among others' : 'where nothing else is undone'} (RUN-268)`,
      async () => {
        await using home = await open()
        const undone: string[] = []
        const rollback = Promise.withResolvers<void>()
        const { cs, dies } = mortal(home, (kind) => {
          if (kind === 'compensate') rollback.resolve()
        })
        cs.run(OPTIONS, throwing(cs, { undone, own, isDying: true })).catch(rollback.reject)
        await within(rollback.promise)
        dies()
        const next = home.process()
        const error = await rejection(within(next.run(OPTIONS, throwing(next, { undone, own, isDying: false }))))
        assert.is(outcomeOf(error)?.status, 'COMPENSATED')
        assert.equal(undone, own ? ['last', 'inner', 'first'] : ['inner'])
        for await (const { status } of next.runs()) assert.is(status, 'compensated')
      },
    )

  resumed('A651 a run within a branch that has lost is undone, and nothing else (RUN-263)', async () => {
    await using home = await open()
    const undone: string[] = []
    const joined = Promise.withResolvers<void>()
    const { cs, dies } = mortal(home)
    cs.run(OPTIONS, forking(cs, { undone, isDying: true }, joined.resolve)).catch(joined.reject)
    await within(joined.promise)
    dies()
    const next = home.process()
    assert.is(await within(next.run(OPTIONS, forking(next, { undone, isDying: false }))), 'done')
    assert.equal(undone, ['loser'])
    const again = home.process()
    assert.is((await again.replay('x', forking(again, { undone, isDying: false }))).output, 'done')
  })

  resumed.run()
}
