import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { LedgerRefused } from '../../src/agent/errors.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, rejection } from './homes.ts'

interface Door {
  readonly opens: Promise<void>
  open(): void
}

function door(): Door {
  const { promise: opens, resolve: open } = Promise.withResolvers<void>()
  return { opens, open }
}

for (const { name, open } of HOMES) {
  const test = suite(`a second start ${name}`)

  test('while a run goes on, who starts it again gets what it gives: one body, one effect (RUN-161)', async () => {
    await using home = await open()
    const cs = home.process()
    const [begun, free] = [door(), door()]
    const effects: string[] = []
    const pay = cs.tool((of: string) => effects.push(of), { name: 'pay', compensate: 'not-needed' })
    const body = (of: string) => async () => {
      begun.open()
      await free.opens
      await pay('1')
      return { of }
    }
    const options = { id: 'r', name: 'order', input: { order: 7 } }
    const first = cs.run(options, body('first'))
    const second = cs.run(options, body('second'))
    await within(begun.opens, 'the body')
    const third = cs.run({ ...options, whenOwned: 'join' }, body('third'))
    free.open()
    assert.equal(await within(Promise.all([first, second, third]), 'three of one'), Array(3).fill({ of: 'first' }))
    assert.equal(await cs.run(options, body('fourth')), { of: 'first' }, 'the recorded end')
    assert.equal(effects, ['1'])
    const types: string[] = []
    for await (const { type } of home.connection.events('r')) types.push(type)
    assert.not(types.includes('RunResumed'))
  })

  test('who joined a run that fails hears of the same failure, and it is rolled back once (RUN-161)', async () => {
    await using home = await open()
    const cs = home.process()
    const effects: string[] = []
    const pay = cs.tool(() => effects.push('pay'), { name: 'pay', compensate: () => effects.push('undo') })
    const body = async () => {
      await pay()
      throw new Error('sold out')
    }
    const [one, other] = await Promise.all([1, 2].map(() => rejection(cs.run({ id: 'r', name: 'order' }, body))))
    assert.is(one, other)
    assert.is(outcomeOf(other)?.status, 'COMPENSATED')
    assert.equal(effects, ['pay', 'undo'])
  })

  test('another run under the id of one that goes on is refused, and that one goes on (RUN-20, RUN-161)', async () => {
    await using home = await open()
    const cs = home.process()
    const [begun, free] = [door(), door()]
    const first = cs.run({ id: 'r', name: 'order', input: 1 }, async () => {
      begun.open()
      await free.opens
      return cs.run({ name: 'inner' }, () => 'done')
    })
    await begun.opens
    const refused = await rejection(cs.run({ id: 'r', name: 'order', input: 2 }, () => 'other'))
    assert.ok(refused instanceof LedgerRefused)
    assert.is(refused.code, 'run-exists')
    assert.is(
      codeOf(await rejection(cs.run({ id: 'r', name: 'order', input: 1, whenOwned: 'refuse' }, () => 1))),
      'run-owned',
    )
    free.open()
    assert.is(await first, 'done')
  })

  test('a signal of who joined ends its waiting, and not the run (RUN-161)', async () => {
    await using home = await open()
    const cs = home.process()
    const free = door()
    const first = cs.run({ id: 'r', name: 'order' }, () => free.opens.then(() => 'done'))
    const leaving = new AbortController()
    const second = cs.run({ id: 'r', name: 'order', signal: leaving.signal }, () => 'never')
    leaving.abort(new Error('enough'))
    assert.is(((await rejection(second)) as Error).message, 'enough')
    free.open()
    assert.is(await first, 'done')
  })

  test('a run whose code would wait for its own end is told so, also by way of another run (RUN-161)', async () => {
    await using home = await open()
    const cs = home.process()
    const itself = async (): Promise<unknown> =>
      codeOf(await rejection(cs.run({ id: 'a', name: 'a', detached: true }, () => 0)))
    assert.is(await within(cs.run({ id: 'a', name: 'a' }, itself), 'itself'), 'recursive-call')
    const byAnother = (run: Run<null>): Promise<unknown> =>
      cs.run({ id: `${run.id}2`, name: 'b', detached: true }, async () => [
        await cs.run({ name: 'child' }, async () =>
          codeOf(await rejection(cs.run({ id: 'c', name: 'c', detached: true }, () => 0))),
        ),
      ])
    assert.equal(await within(cs.run({ id: 'c', name: 'c' }, byAnother), 'by another'), ['recursive-call'])
  })

  test.run()
}
