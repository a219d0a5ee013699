import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { BatchItem, Command, Outcome } from '../../src/ledger/ledger.ts'
import type { Append, EventStore } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { drive, idempotent, ok, refusedWith, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { hasManyWriters } from '../support/test-store.ts'
import { wrapStore } from '../support/wrap-store.ts'

const batches = suite('batches')

const item = (command: Command, runId = 'r'): BatchItem => ({ runId, command })
const hand = (payload: JsonObject, runId = 'r') => item({ kind: 'envelope', body: { agent: 'a', payload } }, runId)
const claim = (n: number, runId = 'r') => item({ kind: 'claim', body: { tool: 't', args: { n } } }, runId)
const codes = (outcomes: readonly Outcome[]) => outcomes.map((each) => (each.ok ? 'ok' : each.refusal.code))

batches('items of one run are decided in order, each with its own outcome; other runs are not touched', async () => {
  await using test = await testLedger()
  const items = [
    item({ kind: 'start', body: { name: 'r' } }),
    item({ kind: 'start', body: { name: 's' } }, 's'),
    hand({ facts: ['1'] }),
    hand({ facts: ['1'] }, 's'),
    item({ kind: 'envelope', body: { agent: 'a', payload: { facts: ['2'] }, mode: 'extend' } }),
    claim(1, 'nowhere'),
    item({ kind: 'complete', body: {} }),
    hand({ facts: ['1', '2', '3'] }),
  ]
  const outcomes = await test.ledger.executeBatch(alice, items, {})
  assert.equal(codes(outcomes), ['ok', 'ok', 'ok', 'ok', 'ok', 'run-not-found', 'ok', 'run-ended'])
  assert.equal(await drive(test, 'r').types(), ['RunStarted', 'EnvelopeAccepted', 'EnvelopeAccepted', 'RunCompleted'])
})

batches(
  'after a refused envelope the later ones of its run are not attempted; calls go on, other runs too',
  async () => {
    await using test = await testLedger()
    await drive(test, 'r').start()
    await drive(test, 's').start()
    const items = [hand({ facts: ['1'] }), hand({}), claim(1), hand({ facts: ['1'] }), hand({ x: 1 }, 's')]
    const outcomes = await test.ledger.executeBatch(alice, items, {})
    assert.equal(codes(outcomes), ['ok', 'contradiction', 'ok', 'not-attempted', 'ok'])
  },
)

batches('a repeated batch gets the same outcomes, what was not attempted included', async () => {
  await using test = await testLedger()
  await drive(test, 'r').start()
  const items = [hand({ facts: ['1'] }), hand({}), claim(1), hand({ facts: ['1'] })]
  const first = await test.ledger.executeBatch(alice, items, idempotent('k'))
  const other = await test.sibling()
  for (const ledger of [test.ledger, other]) {
    const again = await ledger.executeBatch(alice, items, idempotent('k'))
    assert.equal(
      again.map((each) => (each.ok ? each.body : each.refusal)),
      first.map((each) => (each.ok ? each.body : each.refusal)),
    )
    assert.equal(
      again.map((each) => each.replayed),
      [true, true, true, false],
    )
  }
  await verifiedFold(test, 'r')
  assert.is((await drive(test, 'r').types()).length, 5)
})

batches('a command that has to read first is not overtaken by the ones behind it', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start({ policy: { protect: [] } })
  for (const n of [1, 2, 3]) ok(await run.hand('a', { n }))
  const items = [
    item({ kind: 'rollback', body: { reason: 'x', toStep: 1 } }),
    item({ kind: 'envelope', body: { agent: 'a', payload: { m: 1 }, mode: 'merge' } }),
  ]
  const outcomes = await test.ledger.executeBatch(alice, items, {})
  assert.equal(codes(outcomes), ['ok', 'ok'])
  const context = await test.ledger.context(alice, 'r', {})
  assert.equal(context.ok && context.value.context, { n: 1, m: 1 })
})

batches("commands of one run do not wait for each other's disk where the store is ours alone", async () => {
  const store = openMemoryStore()
  const waiting: (() => void)[] = []
  let most = 0
  let held = false
  const slow = async (append: Append) => {
    const result = await store.append(append)
    if (held) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        most = Math.max(most, waiting.length)
        if (waiting.length === 8) for (const go of waiting.splice(0)) go()
      })
    }
    return result
  }
  const gated: EventStore = wrapStore(store, {
    exclusive: true,
    append: slow,
  })
  await using test = await testLedger({ store: gated })
  await drive(test, 'r').start()
  held = true
  const outcomes = await test.ledger.executeBatch(
    alice,
    Array.from({ length: 8 }, (_, n) => claim(n)),
    {},
  )
  held = false
  assert.is(most, 8)
  for (const each of outcomes) ok(each)
  await verifiedFold(test, 'r')
})

const withTwoWriters = hasManyWriters() ? batches : batches.skip

withTwoWriters('a batch meets another writer, is decided again, and keeps its order', async () => {
  await using test = await testLedger()
  const other = await test.sibling()
  await drive(test, 'r').start()
  ok(await other.execute(alice, 'r', { kind: 'envelope', body: { agent: 'b', payload: { facts: ['theirs'] } } }, {}))
  // On the state in hand the first would be accepted; on the real one it is refused, and the second must not be attempted.
  const outcomes = await test.ledger.executeBatch(alice, [hand({ x: 1 }), hand({ x: 2 }), claim(1)], {})
  assert.equal(codes(outcomes), ['contradiction', 'not-attempted', 'ok'])
  refusedWith(outcomes[0] as Outcome, 'contradiction')
  await verifiedFold(test, 'r')
})

batches.run()
