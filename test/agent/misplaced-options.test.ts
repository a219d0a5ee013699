/** Arguments in the wrong place are told so, before anything is recorded. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import { codeOf, HOMES, rejection } from './homes.ts'

const openHome = (HOMES[0] as (typeof HOMES)[number]).open
const misplaced = suite('misplaced options')

misplaced('A566 the function of a run is a function, and its options come before it (RUN-163, RUN-267)', async () => {
  await using ledger = await openHome()
  const cs = ledger.process()
  const run = cs.run as (...given: unknown[]) => Promise<unknown>
  const replay = cs.replay as (...given: unknown[]) => Promise<unknown>
  const branch = cs.branch as (...given: unknown[]) => Promise<unknown>
  for (const refused of [
    run({ id: 'q' }),
    run({ id: 'q' }, 'text'),
    run(async () => 1, { id: 'q' }),
    run(),
    replay('q'),
    branch('q', { atStep: 0 }),
    cs.recover({ since: 'x' as never }),
    cs.run({ name: 'x' }, (inner: Run<null>) => inner.once('x', undefined as never)),
    cs.run({ name: 'y' }, (inner: Run<null>) => inner.step('a', undefined as never)),
  ])
    assert.is(codeOf(await rejection(refused)), 'invalid-option')
  assert.is(
    codeOf(await rejection(cs.run({ name: 'z' }, (inner: Run<null>) => inner.waitFor(undefined as never)))),
    'invalid-wait',
  )
  assert.is(await cs.run({ id: 'q' }, async () => 1), 1)
})

misplaced('a filter that a list does not have is refused, and lists nothing else (RUN-163)', async () => {
  await using ledger = await openHome()
  const cs = ledger.process()
  await cs.run({ id: 'q', name: 'q' }, async () => 1)
  const first = async (items: AsyncIterable<unknown>): Promise<unknown> => {
    for await (const item of items) return item
    return undefined
  }
  for (const filter of [{ stauts: 'open' }, { status: 'waiting' }, { since: 'yesterday' }, { name: 1 }])
    assert.is(codeOf(await rejection(first(cs.runs(filter as never)))), 'invalid-option')
  assert.is(codeOf(await rejection(first(cs.tail({ run: 'q' } as never)))), 'invalid-option')
  // A time in any zone.
  const inAnHour = new Date(Date.now() + 3_600_000 - 5 * 3_600_000).toISOString().replace('Z', '-05:00')
  assert.is(await first(cs.runs({ since: inAnHour })), undefined)
  assert.ok(await first(cs.runs({ since: '2026-01-01T00:00:00+14:00' })))
})

misplaced.run()
