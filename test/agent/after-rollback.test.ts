/** What follows a saga, and the saga's document, are the same live, on a resume and on a replay. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { HOMES, shortLife } from './homes.ts'

/** A saga whose first step is undone, and then steps that run before they are claimed. */
function rolledBack(cs: Countersign) {
  const inner = cs.tool({
    name: 'inner',
    execute: () => 1,
    onUnknown: 'retry',
    dedupe: 'position',
    compensate: () => 1,
  })
  const first = cs.tool({
    name: 'first',
    execute: (isChild: boolean) =>
      isChild ? cs.run({ name: 'child' }, async () => [await inner(null), await inner(null)]) : 1,
    onUnknown: 'retry',
    ...{ compensate: () => 1 },
  })
  const fail = cs.tool({ name: 'fail', effects: 'none', execute: () => Promise.reject(new Error('no')) })
  return async (run: Run<boolean>) => {
    const { status } = await run.saga([{ tool: first, args: run.input }, { tool: fail }])
    const ids = [await run.uuid(), await run.uuid()]
    await run.once('end', () => 1)
    return [status, ids]
  }
}

for (const { name, open } of HOMES) {
  const after = suite(`after a rollback ${name}`)

  for (const input of [false, true])
    after(
      `A562 a step after a saga that was rolled back is after its rollback (${input ? 'a run in it' : 'a tool'})`,
      async () => {
        await using home = await open()
        const whole = home.process()
        const output = await whole.run({ id: 'whole', name: 'x', input }, rolledBack(whole))
        const replay = home.process()
        assert.equal((await replay.replay('whole', rolledBack(replay))).output, output)
        for (let at = 6; at <= 14; at += 1) {
          const id = `killed-${at}`
          const carry = (cs: Countersign) => cs.run({ id, name: 'x', input }, rolledBack(cs))
          await shortLife(home, { at, lastArrives: true }, carry)
          await carry(home.process())
          const again = home.process()
          await again.replay(id, rolledBack(again))
        }
      },
    )

  after.run()
}
