import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerConnection } from '../../src/agent/runtime/ledger-connection.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import { createRuntime } from '../../src/agent/runtime/runtime.ts'
import { countedStore } from '../support/counted-store.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { openTestStore } from '../support/test-store.ts'

const test = suite('what a call costs')
const CALLS = 20

test('a tool call is two durable writes, one after the other, and reads nothing: plain, budgeted, nested, in a saga, of a model (RUN-85)', async () => {
  const { store, take } = countedStore(await openTestStore())
  await using ledger = await testLedger({ store })
  const connection = ledgerConnection({ ledger: ledger.ledger, caller: alice, place: 'test', close: async () => {} })
  const cs = createRuntime(connection)
  const plain = cs.tool(async (n: number | string) => n, { name: 'plain', compensate: 'not-needed' })
  const spends = { reserve: { tokens: 1 }, usage: () => ({ tokens: 1 }) }
  const dear = cs.tool(async (n: number) => n, { name: 'dear', ...spends })
  const outer = cs.tool(async (n: number) => plain(`in ${n}`), { name: 'outer' })
  const model = { provider: 'p', model: 'm', estimate: { inputTokens: 1, outputTokens: 1 }, call: () => 'yes' }
  const bodies: readonly (readonly [string, number, (run: Run<null>, n: number) => Promise<unknown>])[] = [
    ['plain', 2, (_, n) => plain(n)],
    ['budgeted', 2, (_, n) => dear(n)],
    ['nested', 4, (_, n) => outer(n)],
    ['once', 2, (run, n) => run.once(`v${n}`, () => n)],
    ['saga', 2, (run, n) => run.saga([{ tool: plain, args: [n] }])],
    [
      'model',
      2,
      (run, n) => run.model({ ...model, request: { n }, usage: () => ({ inputTokens: 1, outputTokens: 1 }) }),
    ],
  ]
  for (const [name, writes, body] of bodies) {
    await cs.run({ name, budget: { tokens: 10_000 } }, async (run) => {
      take()
      for (let n = 0; n < CALLS; n += 1) await body(run, n)
      const { appends, reads } = take()
      assert.is(appends.length, CALLS * writes, `${name}: ${appends.slice(0, writes + 2).join(' | ')}`)
      assert.is(reads, 0, name)
    })
  }
})

test('calls side by side need no more of them each (RUN-85)', async () => {
  const { store, take } = countedStore(await openTestStore())
  await using ledger = await testLedger({ store })
  const connection = ledgerConnection({ ledger: ledger.ledger, caller: alice, place: 'test', close: async () => {} })
  const cs = createRuntime(connection)
  const plain = cs.tool(async (n: number) => n, { name: 'plain' })
  await cs.run({ name: 'wide' }, async () => {
    take()
    await Promise.all(Array.from({ length: CALLS }, (_, n) => plain(n)))
    const { appends, reads } = take()
    assert.ok(appends.length <= 2 * CALLS, `${appends.length}`)
    assert.is(reads, 0)
  })
})

test.run()
