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

/** The documents of a saga of one step that is done, and of which only its check can tell, and one that may fail; `undone` is what the step's check is for. */
function checked(
  cs: Countersign,
  { fails, onUnknown }: { fails: boolean; onUnknown: 'retry' | 'in-doubt' },
  done: Set<string>,
) {
  const pay = cs.tool({
    name: 'pay',
    onUnknown,
    execute: (_: null, { idempotencyKey }: { idempotencyKey: string }) => done.add(idempotencyKey).size,
    check: (_, { idempotencyKey }) => (done.has(idempotencyKey) ? { done: true, result: done.size } : { done: false }),
    compensate: () => 1,
  })
  const end = cs.tool({
    name: 'end',
    effects: 'none',
    execute: () => {
      if (fails) throw new Error('no')
    },
  })
  return (run: Run<null>) => run.saga([{ tool: pay, args: null }, { tool: end }])
}

for (const { name, open } of HOMES) {
  const after = suite(`after a rollback ${name}`)

  for (const input of [false, true])
    after(
      `A562 a step after a saga that was rolled back is after its rollback (RUN-264, ${input ? 'a run in it' : 'a tool'})`,
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

  for (const fails of [false, true])
    for (const onUnknown of ['retry', 'in-doubt'] as const)
      after(
        `A563 the document of a step that a check settled is that of its record (RUN-265, ${onUnknown}${fails ? ', undone' : ''})`,
        async () => {
          await using home = await open()
          const done = new Set<string>()
          const carry = (cs: Countersign) =>
            cs.run({ id: 'x', name: 'x', input: null }, checked(cs, { fails, onUnknown }, done))
          // Start, claim, and the outcome, which does not arrive.
          await shortLife(home, { at: 3, lastArrives: false }, carry)
          assert.is(done.size, 1)
          const document = await carry(home.process())
          const [step] = document.steps
          assert.is(step?.status, fails ? 'compensated' : 'succeeded')
          assert.is(step?.attempts, 1)
          assert.ok(step?.startedAt !== undefined && step.endedAt !== undefined && step.callId !== undefined)
          const again = home.process()
          const body = checked(again, { fails, onUnknown }, done)
          assert.equal((await again.replay('x', body)).output, document)
        },
      )

  after('A563 the document of a step in doubt is that of its record (RUN-265)', async () => {
    await using home = await open()
    const body = (cs: Countersign) => {
      const hangs = cs.tool({
        name: 'hangs',
        execute: () => new Promise(() => {}),
        timeout: 5,
        onUnknown: 'in-doubt',
        compensate: 'not-needed',
      })
      return (run: Run<null>) => run.saga([{ tool: hangs }])
    }
    const seen: unknown[] = []
    for (const way of ['run', 'replay'] as const) {
      const cs = home.process()
      const carry = async (run: Run<null>) => {
        seen.push(await body(cs)(run))
        return null
      }
      // The call in doubt keeps the run open.
      await (way === 'run' ? cs.run({ id: 'x', name: 'x', input: null }, carry) : cs.replay('x', carry)).catch(
        () => undefined,
      )
    }
    assert.is(seen.length, 2)
    assert.equal(seen[1], seen[0])
  })

  after.run()
}
