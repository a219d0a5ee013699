/** Arguments in the wrong place are told so, before anything is recorded. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { open as inProcess } from '../../src/agent/open.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { LedgerError } from '../../src/client/errors.ts'
import { codeOf, HOMES, rejection } from './homes.ts'

const openHome = (HOMES[0] as (typeof HOMES)[number]).open
const codeIs = (code: string) => (error: unknown) => codeOf(error) === code
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

misplaced('A627 what a method does not take has a code and says what it takes (RUN-163)', async () => {
  for (const { open } of HOMES) {
    await using ledger = await open()
    const cs = ledger.process()
    const one = async (): Promise<number> => 1
    const first = async (items: AsyncIterable<unknown>): Promise<unknown> => {
      for await (const item of items) return item
      return undefined
    }
    const { signal } = new AbortController()
    for (const [asked, code] of [
      [() => cs.replay({} as never, one), 'invalid-option'],
      [() => cs.replay({ file: 1 } as never, one), 'invalid-option'],
      [() => cs.replay(null as never, one), 'invalid-option'],
      [() => cs.replay(Symbol('r') as never, one), 'invalid-option'],
      [() => cs.run({ name: 'a', id: Symbol('a') as never }, one), 'invalid-option'],
      [() => cs.run({ name: Symbol('a') as never }, one), 'invalid-option'],
      [() => cs.run({ name: 'a', judge: null as never }, one), 'invalid-judge'],
      [() => cs.run({ name: 'a', policy: new Map() as never }, one), 'invalid-option'],
      [() => cs.run({ name: 'a', budget: new Map() as never }, one), 'invalid-option'],
      [() => cs.run({ name: 'a', policy: [] as never }, one), 'invalid-option'],
      [() => cs.run([] as never, one), 'invalid-option'],
      [() => cs.run({ name: 'a' }, (run) => run.scope('s', undefined as never)), 'invalid-option'],
      [() => first(cs.tail({ types: [1] as never, signal })), 'invalid-option'],
      [() => first(cs.export(7 as never)), 'invalid-option'],
    ] as const)
      assert.is(codeOf(await rejection(asked())), code)
    for (const options of [{ approve: new Map() }, { parameters: [] }])
      assert.throws(() => cs.tool({ name: 'a', execute: one, ...options } as never), codeIs('invalid-option'))
    const nowhere = (await rejection(first(cs.export('nope')))) as LedgerError
    assert.is(nowhere.problem.code, 'run-not-found')
    const misspelt = (await rejection(cs.run({ name: 'a', policy: { suspct: 'hold' } as never }, one))) as Error
    assert.is(codeOf(misspelt), 'policy-invalid')
    assert.match(misspelt.message, /\/policy\/suspct.*did you mean suspect\?/)
  }
  assert.is(codeOf(await rejection(inProcess({ path: ':memory:', serve: 10n as never }))), 'invalid-serve')
})

misplaced.run()
