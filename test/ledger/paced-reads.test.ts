import { AsyncLocalStorage } from 'node:async_hooks'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Caller, Ledger } from '../../src/ledger/ledger.ts'
import { type Pace, ReaderLeftError } from '../../src/resources/work-queue.ts'
import type { ReadRecord } from '../../src/store/event-store.ts'
import { drive, ok } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'
import { openTestStore } from '../support/test-store.ts'
import { wrapStore } from '../support/wrap-store.ts'

const HANDOFFS = 500
/** What stands between two looks at the clock, at most. */
const PORTION = 16

const paced = suite('reads at a pace')

interface Counted extends Caller {
  readonly pace: Pace & { turns: number }
}

function counted(leaveAfter = Number.POSITIVE_INFINITY): Counted {
  const pace = {
    turns: 0,
    turn(): undefined {
      this.turns += 1
      if (this.turns > leaveAfter) throw new ReaderLeftError()
    },
    get isOver() {
      return this.turns > leaveAfter
    },
    leave: () => undefined,
  }
  return { ...alice, pace }
}

async function seeded(more: Parameters<typeof testLedger>[0] = {}): Promise<TestLedger> {
  const test = await testLedger({ merkleLogs: true, audit: 'unrecorded', ...more })
  const run = drive(test, 'r')
  await run.start({ policy: { ungrounded: 'warn' } })
  for (let i = 0; i < HANDOFFS; i += 1) ok(await run.hand('a', { facts: { name: `Person ${i}` } }, supersede))
  return test
}

const supersede = { supersedes: [{ path: '/facts', reason: 'the next one' }] }

async function all(pages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of pages);
}

/** Every way to read a run or a tenant from end to end. */
const READS: Readonly<Record<string, (ledger: Ledger, caller: Caller) => Promise<unknown>>> = {
  findings: (ledger, caller) => ledger.findings(caller, 'r', { after: -1, limit: 500 }),
  envelopes: (ledger, caller) => ledger.envelopes(caller, 'r', { after: -1, limit: 500 }),
  'context at a revision': (ledger, caller) => ledger.context(caller, 'r', { revision: HANDOFFS }),
  'context at a step': (ledger, caller) => ledger.context(caller, 'r', { step: HANDOFFS }),
  replay: async (ledger, caller) => {
    const found = await ledger.replay(caller, 'r')
    if (found.ok) await all(found.value.lines)
  },
  'events of a run': async (ledger, caller) => {
    const found = await ledger.runEvents(caller, 'r', { from: 0 })
    if (found.ok) await all(found.value)
  },
  'events of the tenant': (ledger, caller) => all(ledger.tenantEvents(caller, {})),
  'leaves of a bundle': async (ledger, caller) => {
    const pin = await ledger.exports.sealedPin(caller)
    await all(ledger.exports.leaves(caller, pin?.tree.size ?? 0))
  },
}

paced('whoever reads a whole run looks whether it may go on at least every sixteen events (A70)', async () => {
  await using test = await seeded()
  for (const [name, read] of Object.entries(READS)) {
    const caller = counted()
    await read(test.ledger, caller)
    const least = Math.floor(HANDOFFS / PORTION)
    assert.ok(caller.pace.turns >= least, `${name}: ${caller.pace.turns} looks in ${HANDOFFS} events`)
  }
})

paced('an audit query looks whether it may go on before each stretch that it reads', async () => {
  await using test = await seeded()
  const caller = counted()
  const { audit } = test.ledger
  await audit?.ask(caller, { name: 'events', filter: {} }, { limit: 500 })
  assert.ok(caller.pace.turns >= 500 / PORTION, `${caller.pace.turns}`)
  const sampling = counted()
  await audit?.ask(sampling, { name: 'sample', filter: {}, seed: 's' }, { limit: 10 })
  assert.ok(sampling.pace.turns >= 1)
})

paced('a reader that has left costs one page more at most, whatever it requested (A70)', async () => {
  const inner = await openTestStore()
  // What follows the store reads it as well, whenever it comes to it.
  const reader = new AsyncLocalStorage<{ records: number }>()
  async function* count(pages: AsyncIterable<readonly ReadRecord[]>): AsyncGenerator<readonly ReadRecord[]> {
    for await (const page of pages) {
      const counted = reader.getStore()
      if (counted !== undefined) counted.records += page.filter(({ stream }) => stream.includes(alice.tenant)).length
      yield page
    }
  }
  const store = wrapStore(inner, {
    readStream: (...asked) => count(inner.readStream(...asked)),
    readAll: (...asked) => count(inner.readAll(...asked)),
  })
  await using test = await seeded({ store })
  for (const [name, read] of Object.entries(READS)) {
    // What follows the store has read it before the reader comes, the checkpoint of the first pin too.
    for (let turn = 0; turn < 2; turn += 1) await test.ledger.exports.sealedPin(alice)
    const asked = { records: 0 }
    const ended = await reader
      .run(asked, () => read(test.ledger, counted(1)))
      .then(
        () => undefined,
        (error: unknown) => error,
      )
    assert.instance(ended, ReaderLeftError, name)
    assert.ok(asked.records <= 256, `${name}: ${asked.records} records read for nobody`)
  }
})

paced(
  'lists and sums of a whole log, and the plan of a rollback, are cut as well: nobody who has left is waited for (F79)',
  async () => {
    await using test = await testLedger({ audit: 'unrecorded' })
    const run = drive(test, 'r')
    await run.start()
    for (let n = 0; n < 5; n += 1) await run.called('charge', { args: { n }, compensate: { tool: 'refund' } })
    ok(await run.do({ kind: 'compensate', body: { reason: 'no longer wanted' } }))
    const { audit } = test.ledger
    const asked = { filter: {}, by: 'agent' } as const
    const questions = ['runs', 'open-runs', 'spend', 'keys'] as const
    const ask = (caller: Caller, name: (typeof questions)[number]) =>
      audit?.ask(caller, name === 'spend' ? { name, ...asked } : { name, filter: {} }, { limit: 10 })
    for (const name of questions) {
      const caller = counted()
      const answer = await ask(caller, name)
      assert.ok(answer?.ok === true && caller.pace.turns >= 1, `${name}: ${caller.pace.turns}`)
      const left = await ask(counted(0), name)?.then(
        () => undefined,
        (error: unknown) => error,
      )
      assert.instance(left, ReaderLeftError, name)
    }
    const caller = counted()
    const plan = await test.ledger.compensations(caller, 'r')
    assert.ok(plan.ok && caller.pace.turns >= 5, `${caller.pace.turns}`)
  },
)

paced.run()
