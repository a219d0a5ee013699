import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Command, Ledger, Outcome } from '../../src/ledger/ledger.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { pick, seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { drive, idempotent, ok, recordsOf, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { shakyStore } from '../support/shaky-store.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { testStoreKind } from '../support/test-store.ts'

const writers = suite('two ledgers on one store')
/** Fewer where each is a call to a server. */
const COMMANDS = testStoreKind('memory') === 'eventstoredb' ? 400 : rounds(150, 500, 4_000)

const execute = (ledger: Ledger, command: Command, key?: string): Promise<Outcome> =>
  ledger.execute(alice, 'r', command, key === undefined ? {} : idempotent(key))

/** A command that may be asked of a run at any time. */
function anyCommand(random: () => number, known: { callIds: string[]; reservations: string[] }): Command {
  const key = `k${Math.floor(random() * 40)}`
  const callId = known.callIds.length === 0 ? '00000000-0000-7000-8000-000000000000' : pick(random, known.callIds)
  const agent = pick(random, ['ann', 'bob'])
  return pick<() => Command>(random, [
    () => ({ kind: 'envelope', body: { agent, payload: { facts: [key] }, mode: 'extend', tokens: 5 } }),
    () => ({ kind: 'envelope', body: { agent, payload: { summary: key } } }),
    () => ({
      kind: 'claim',
      body: { tool: 'book', args: { key }, key, ...(random() < 0.3 && { reserve: { tokens: 3 } }) },
    }),
    () => ({ kind: 'claim', body: { tool: 'book', args: { other: key }, key } }),
    () => ({ kind: 'settle', callId, body: { fence: 1, result: { callId } } }),
    () => ({ kind: 'settle', callId, body: { fence: 1, error: { message: 'no' } } }),
    () => ({ kind: 'renew', callId, body: { fence: 1 } }),
    () => ({ kind: 'reserve', body: { agent, tokens: 10, cost: '0.25', currency: 'EUR' } }),
    () => ({ kind: 'usage', body: { agent, usage: { tokens: 7, cost: '0.1', currency: 'EUR' } } }),
    () => ({ kind: 'rollback', body: { reason: 'test' } }),
  ])()
}

writers(
  'a batch decided on a state that another writer has moved past is decided again, and every link holds (STR-8)',
  async () => {
    await using test = await testLedger()
    const other = await test.sibling()
    const run = drive(test, 'r')
    await run.start()
    ok(await execute(other, { kind: 'usage', body: { agent: 'x', usage: { tokens: 1 } } }))

    const items = [1, 2, 3].map((n) => ({
      runId: 'r',
      command: { kind: 'claim', body: { tool: 'book', args: { n } } } as const,
    }))
    for (const outcome of await test.ledger.executeBatch(alice, items, {})) ok(outcome)
    await verifiedFold(test, 'r')
    assert.equal(await run.types(), ['RunStarted', 'UsageRecorded', ...items.map(() => 'ToolCallClaimed')])
  },
)

writers('of many that claim one key at once, exactly one may run it', async () => {
  await using test = await testLedger()
  const other = await test.sibling()
  await drive(test, 'r').start()
  for (let round = 0; round < 20; round += 1) {
    const claim: Command = { kind: 'claim', body: { tool: 'pay', args: {}, key: `pay-${round}` } }
    const asked = Array.from({ length: 16 }, (_, i) => execute(i % 2 === 0 ? test.ledger : other, claim))
    const outcomes = await Promise.all(asked)
    assert.is(outcomes.filter((each) => each.ok).length, 1)
    for (const each of outcomes) if (!each.ok) assert.is(each.refusal.code, 'call-in-progress')
  }
  await verifiedFold(test, 'r')
})

writers('of many that start one run at once, one starts it and the others take it up', async () => {
  await using test = await testLedger()
  const other = await test.sibling()
  const start: Command = { kind: 'start', body: { id: 'r', name: 'same' } }
  const outcomes = await Promise.all(Array.from({ length: 8 }, (_, i) => execute(i % 2 ? other : test.ledger, start)))
  assert.equal(outcomes.map((each) => ok(each).fence).sort(), [1, 2, 3, 4, 5, 6, 7, 8])
  assert.is((await recordsOf(test.store, 'r')).length, 8)
})

writers('the same key asked of two ledgers at once has one effect; the loser gets the recorded outcome', async () => {
  await using test = await testLedger()
  const other = await test.sibling()
  await drive(test, 'r').start()
  const reserve: Command = { kind: 'reserve', body: { agent: 'a', tokens: 1 } }
  const [one, two] = await Promise.all([execute(test.ledger, reserve, 'k'), execute(other, reserve, 'k')])
  assert.equal(ok(one), ok(two))
  assert.is([one, two].filter((each) => each.replayed).length, 1)
  assert.is((await recordsOf(test.store, 'r')).length, 2)
})

writers(
  'the same key and the same If-Match again, after another ledger wrote it: the recorded outcome, not 412',
  async () => {
    await using test = await testLedger()
    const other = await test.sibling()
    await drive(test, 'r').start()
    const reserve: Command = { kind: 'reserve', body: { agent: 'a', tokens: 1 } }
    const info = { ...idempotent('k'), ifMatch: 0 }
    const first = ok(await other.execute(alice, 'r', reserve, info))
    assert.equal(ok(await test.ledger.execute(alice, 'r', reserve, info)), first)
    refusedWith(await test.ledger.execute(alice, 'r', reserve, { ifMatch: 0 }), 'revision-conflict')
  },
)

writers(
  'hundreds of commands at random from both: every link holds, no state differs from the fold of the stream',
  async () => {
    const random = seededRandom(testSeed(7))
    await using test = await testLedger({ cachedRunsMax: 50 })
    const ledgers = [test.ledger, await test.sibling()]
    await drive(test, 'r').start({
      budget: { tokens: 100_000 },
      policy: { ungrounded: 'off', protect: [] },
    })
    const known = { callIds: [] as string[], reservations: [] as string[] }
    let contended = 0
    for (let sent = 0; sent < COMMANDS; sent += 10) {
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, () => execute(pick(random, ledgers), anyCommand(random, known))),
      )
      for (const each of outcomes) {
        if (each.ok && typeof each.body.callId === 'string') known.callIds.push(each.body.callId)
        if (!each.ok && each.refusal.code === 'contended') contended += 1
      }
    }
    assert.ok(contended < 100, `${contended} contended`)
    const state = await verifiedFold(test, 'r')
    for (const ledger of ledgers) {
      const found = await ledger.context(alice, 'r', {})
      assert.equal(found.ok && found.value.context, state.context)
      const budget = await ledger.budget(alice, 'r')
      assert.is(budget.ok && budget.value.tokens, state.spend.tokens)
      assert.is((await replayed(ledger, 'r')).verdict, 'VERIFIED')
    }
  },
)

writers(
  'what another ledger wrote is in the next answer of this one, which holds an older state of the run (STR-7)',
  async () => {
    await using test = await testLedger()
    const other = await test.sibling()
    await drive(test, 'r').start({ budget: { tokens: 100 } })
    const shown = async () => {
      const [run, context, budget] = [
        await test.ledger.run(alice, 'r'),
        await test.ledger.context(alice, 'r', {}),
        await test.ledger.budget(alice, 'r'),
      ]
      if (!(run.ok && context.ok && budget.ok)) throw new Error('not found')
      return [run.value.revision, context.value.context, budget.value.tokens]
    }
    assert.equal(await shown(), [0, {}, 0])
    ok(await execute(other, { kind: 'envelope', body: { agent: 'a', payload: { n: 1 }, tokens: 5 } }))
    assert.equal(await shown(), [1, { n: 1 }, 5])
    const { callId } = ok(await execute(other, { kind: 'claim', body: { tool: 'book', args: {} } }))
    ok(await execute(other, { kind: 'settle', callId: String(callId), body: { fence: 1, result: 'booked' } }))
    const call = await test.ledger.call(alice, 'r', String(callId))
    assert.is(call.ok && call.value.result, 'booked')
    const replay = await replayed(test.ledger, 'r')
    assert.is(replay.verdict, 'VERIFIED')
    ok(await execute(other, { kind: 'complete', body: {} }))
    const ended = await test.ledger.run(alice, 'r')
    assert.is(ended.ok && ended.value.status, 'completed')
  },
)

for (const exclusive of [false, true]) {
  writers(
    `a store that loses answers (${exclusive ? 'one writer' : 'two writers'}): an ok answer is in the stream once, no link breaks`,
    async () => {
      for (let seed = 1; seed <= 4; seed += 1) {
        const random = seededRandom(testSeed(seed))
        const memory = openMemoryStore()
        const shaky = shakyStore(exclusive ? Object.assign(memory, { exclusive }) : memory, { random, rate: 0 })
        await using test = await testLedger({ store: shaky })
        const ledgers = exclusive ? [test.ledger] : [test.ledger, await test.sibling()]
        await drive(test, 'r').start({ policy: { ungrounded: 'off', protect: [] } })
        const rough = shakyStore(memory, { random, rate: 0.25 })
        Object.assign(shaky, { append: rough.append })
        const known = { callIds: [] as string[], reservations: [] as string[] }
        const appended: number[] = []
        const usageKeys = new Map<string, number>()
        for (let sent = 0; sent < 20; sent += 1) {
          const asks = Array.from({ length: 8 }, (_, i) => {
            const ledger = pick(random, ledgers)
            if (i > 1) return execute(ledger, anyCommand(random, known))
            // Retried under its key until it is answered: one effect.
            const key = `usage-${sent}-${i}`
            usageKeys.set(key, 1)
            const usage: Command = { kind: 'usage', body: { agent: key, usage: { tokens: 1 } } }
            return untilAnswered(() => execute(ledger, usage, key))
          })
          const batch = test.ledger.executeBatch(
            alice,
            Array.from({ length: 4 }, () => ({ runId: 'r', command: anyCommand(random, known) })),
            {},
          )
          for (const each of [...(await Promise.all(asks)), ...(await batch)]) {
            if (!each.ok) continue
            if (each.created) appended.push(each.revision)
            if (typeof each.body.callId === 'string') known.callIds.push(each.body.callId)
          }
        }
        rough.calm()
        const state = await verifiedFold(test, 'r')
        for (const key of usageKeys.keys()) assert.is(state.spendByAgent[`$${key}`]?.tokens, 1, key)
        const last = (await recordsOf(memory, 'r')).length - 1
        for (const revision of appended) assert.ok(revision <= last, `revision ${revision} was answered and is lost`)
        assert.is(new Set(appended).size, appended.length, 'no two answers stand for one event')
        assert.is((await replayed(test.ledger, 'r')).verdict, 'VERIFIED')
      }
    },
  )
}

async function untilAnswered(ask: () => Promise<Outcome>): Promise<Outcome> {
  for (let tries = 0; tries < 50; tries += 1) {
    const outcome = await ask()
    if (
      outcome.ok ||
      !['store-unavailable', 'store-full', 'contended', 'idempotency-in-flight'].includes(outcome.refusal.code)
    )
      return outcome
  }
  throw new Error('never answered')
}

writers.run()
