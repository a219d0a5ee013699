import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Command } from '../../src/ledger/ledger.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { drive, idempotent, ok, recordsOf, refusedWith } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { wrapStore } from '../support/wrap-store.ts'

const idempotency = suite('idempotency')

const reserve: Command = { kind: 'reserve', body: { agent: 'a', tokens: 5 } }

idempotency('the same key gets the same answer, marked as replayed, and appends nothing', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const first = await run.do(reserve, idempotent('k'))
  await run.do(reserve)
  const again = await run.do(reserve, idempotent('k'))
  assert.equal(ok(again), ok(first))
  assert.equal([first.replayed, again.replayed], [false, true])
  assert.is(again.revision, first.revision)
  assert.is((await recordsOf(test.store, 'r')).length, 3)
})

idempotency('also after a restart, and after very many other events (F16)', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const first = await run.do(reserve, idempotent('k'))
  const others = Array.from({ length: 1_500 }, () => ({ runId: 'r', command: reserve }))
  await test.ledger.executeBatch(alice, others, {})
  const restarted = await test.sibling()
  assert.equal(ok(await restarted.execute(alice, 'r', reserve, idempotent('k'))), ok(first))
})

/** A store, and how many events of streams were read from it. */
function countedStore() {
  const inner = openMemoryStore()
  const reads = { events: 0 }
  const store = wrapStore(inner, {
    readStream: async function* (...args: Parameters<typeof inner.readStream>) {
      for await (const page of inner.readStream(...args)) {
        reads.events += page.length
        yield page
      }
    },
  })
  return { store, reads }
}

idempotency('a repeat while nothing else has happened reads the request and not the run', async () => {
  const { store, reads } = countedStore()
  await using test = await testLedger({ store })
  const run = drive(test, 'r')
  await run.start()
  const others = Array.from({ length: 300 }, () => ({ runId: 'r', command: reserve }))
  await test.ledger.executeBatch(alice, others, {})
  const first = await run.do(reserve, idempotent('k'))
  reads.events = 0
  assert.equal(ok(await run.do(reserve, idempotent('k'))), ok(first))
  assert.ok(reads.events <= 2, `${reads.events} events`)
})

const after = async (first: Promise<unknown>, command: Command): Promise<Command> => {
  await first
  return command
}

const everyKind: readonly [name: string, prepare: (run: ReturnType<typeof drive>) => Promise<Command>][] = [
  ['start', async () => ({ kind: 'start', body: { id: 'r', name: 'test' } })],
  ['envelope', async () => ({ kind: 'envelope', body: { agent: 'a', payload: { x: 1 } } })],
  ['rollback', (run) => after(run.hand('a', { x: 1 }), { kind: 'rollback', body: { reason: 'no' } })],
  ['manifest', async () => ({ kind: 'manifest', body: { agent: 'a', writes: ['x'] } })],
  ['claim', async () => ({ kind: 'claim', body: { tool: 't', args: {}, reserve: { tokens: 1 } } })],
  ['settle', async (run) => ({ kind: 'settle', callId: await run.claimed('t'), body: { fence: 1, result: 1 } })],
  ['renew', async (run) => ({ kind: 'renew', callId: await run.claimed('t'), body: { fence: 1 } })],
  ['compensate', (run) => after(run.called('t'), { kind: 'compensate', body: { reason: 'no' } })],
  ['usage', async () => ({ kind: 'usage', body: { agent: 'a', usage: { tokens: 3 } } })],
  ['complete', async () => ({ kind: 'complete', body: { output: { done: true } } })],
  ['fail', async () => ({ kind: 'fail', body: { error: { message: 'no' } } })],
]
const use: Command = { kind: 'usage', body: { agent: 'z', usage: { tokens: 1 } } }

/** Refused, where `facts` stand already. */
const MORE: Command = { kind: 'envelope', body: { agent: 'bob', payload: { summary: 'two' } } }

for (const [name, prepare] of [
  ...everyKind.filter(([kind]) => kind !== 'start'),
  ['a handoff that is refused', (run) => after(run.hand('ann', { facts: ['one'] }), MORE)],
] as typeof everyKind) {
  idempotency(`a repeat of ${name} reads no run, however many events stand before and behind it (F146)`, async () => {
    const { store, reads } = countedStore()
    await using test = await testLedger({ store })
    const run = drive(test, 'r')
    await run.start()
    const many = Array.from({ length: 100 }, () => ({ runId: 'r', command: use }))
    await test.ledger.executeBatch(alice, many, {})
    const command = await prepare(run)
    const first = await run.do(command, idempotent('k'))
    // What may still follow the end of a run, too.
    for (let each = 0; each < 20; each += 1) {
      ok(await run.do(use))
    }
    reads.events = 0
    const again = await run.do(command, idempotent('k'))
    assert.is(again.replayed, true)
    const said = (outcome: typeof first): string => JSON.stringify(outcome.ok ? outcome.body : outcome.refusal)
    assert.is(said(again), said(first), 'to the byte')
    assert.ok(reads.events <= 12, `${reads.events} events`)
  })
}

idempotency('after a restart a repeated claim and a repeated handoff still read no run (F146)', async () => {
  const { store, reads } = countedStore()
  await using test = await testLedger({ store })
  const run = drive(test, 'r')
  await run.start()
  const commands: readonly Command[] = [
    { kind: 'claim', body: { tool: 't', args: {} } },
    { kind: 'envelope', body: { agent: 'a', payload: { x: 1 } } },
  ]
  const many = Array.from({ length: 100 }, () => ({ runId: 'r', command: use }))
  await test.ledger.executeBatch(alice, many, {})
  const first = await Promise.all(commands.map((command, at) => run.do(command, idempotent(`k${at}`))))
  await test.ledger.executeBatch(alice, many, {})
  const restarted = await test.sibling()
  ok(await restarted.execute(alice, 'r', use, {}))
  reads.events = 0
  for (const [at, command] of commands.entries()) {
    const again = await restarted.execute(alice, 'r', command, idempotent(`k${at}`))
    assert.equal(ok(again), ok(first[at] as (typeof first)[number]))
  }
  assert.ok(reads.events <= 12, `${reads.events} events`)
})

idempotency('a refusal is given again as it was, findings and restored context too', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  await run.hand('ann', { facts: ['one'] })
  const bad: Command = { kind: 'envelope', body: { agent: 'bob', payload: { summary: 'two' } } }
  const first = await run.do(bad, idempotent('k'))
  await run.hand('ann', { facts: ['one', 'three'] })
  const again = await run.do(bad, idempotent('k'))
  assert.equal(refusedWith(again, 'contradiction'), refusedWith(first, 'contradiction'))
  assert.is(again.replayed, true)
  const text = (outcome: typeof first) => JSON.stringify(refusedWith(outcome, 'contradiction'))
  assert.is(text(again), text(first), 'to the byte')
})

for (const [name, prepare] of everyKind) {
  idempotency(`the answer to ${name} is made again from the stream alone (STR-15)`, async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const command = await prepare(run)
    const first = await run.do(command, idempotent('k'))
    await run.do({ kind: 'usage', body: { agent: 'z', usage: { tokens: 1 } } })
    const restarted = await test.sibling()
    const again = await restarted.execute(alice, 'r', command, idempotent('k'))
    assert.is(JSON.stringify(ok(again)), JSON.stringify(ok(first)), 'to the byte')
    assert.equal([again.replayed, again.revision], [true, first.revision])
  })
}

for (const [what, info] of [
  ['body', idempotent('k', { other: true })],
  ['path', idempotent('k', {}, '/v1/y')],
  ['method', idempotent('k', {}, '/v1/x', 'PUT')],
] as const) {
  idempotency(
    `the same key with another ${what} is refused, also after a restart, and the refusal is recorded once (STR-14)`,
    async () => {
      await using test = await testLedger()
      const run = drive(test, 'r')
      await run.start()
      ok(await run.do(reserve, idempotent('k')))
      const restarted = await test.sibling()
      refusedWith(await run.do(reserve, info), 'idempotency-key-reused')
      refusedWith(await restarted.execute(alice, 'r', reserve, info), 'idempotency-key-reused')
      assert.equal(await run.types(), ['RunStarted', 'BudgetReserved', 'RequestRefused'])
    },
  )
}

idempotency("a key is the caller's own, within one run", async () => {
  await using test = await testLedger()
  await drive(test, 'r').start()
  await drive(test, 's').start()
  const asked = [
    await test.ledger.execute(alice, 'r', reserve, idempotent('k')),
    await test.ledger.execute({ ...alice, actor: 'bob' }, 'r', reserve, idempotent('k', { not: 'the same' })),
    await test.ledger.execute(alice, 's', reserve, idempotent('k', { nor: 'this' })),
  ]
  assert.equal(
    asked.map((each) => each.ok && each.replayed),
    [false, false, false],
  )
})

idempotency('while the first request is under way its repeat is refused as in flight', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const [first, second] = await Promise.all([run.do(reserve, idempotent('k')), run.do(reserve, idempotent('k'))])
  ok(first)
  assert.ok((refusedWith(second, 'idempotency-in-flight').retryAfterMs ?? 0) > 0)
  assert.is((await run.do(reserve, idempotent('k'))).replayed, true)
})

idempotency('a start with a key and no id makes one run, however often and wherever it is asked (STR-16)', async () => {
  await using test = await testLedger()
  const other = await test.sibling()
  const start: Command = { kind: 'start', body: { name: 'nameless' } }
  const first = await test.ledger.execute(alice, '', start, idempotent('k'))
  const again = await other.execute(alice, '', start, idempotent('k'))
  assert.equal(ok(again), ok(first))
  const elsewhere = await test.ledger.execute({ ...alice, actor: 'bob' }, '', start, idempotent('k'))
  assert.is.not(ok(elsewhere).runId, ok(first).runId)
  refusedWith(
    await other.execute(alice, '', { kind: 'start', body: { name: 'another' } }, idempotent('k', { name: 'another' })),
    'idempotency-key-reused',
  )
})

idempotency('what appended nothing is not remembered (STR-15)', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start({ budget: { tokens: 10 } })
  refusedWith(
    await run.do({ kind: 'rollback', body: { reason: 'too early' } }, idempotent('k')),
    'nothing-to-roll-back',
  )
  await run.hand('a', { x: 1 })
  ok(await run.do({ kind: 'rollback', body: { reason: 'too early' } }, idempotent('k')))
})

idempotency('If-Match is judged before the command and again after other writers; a match goes through', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  ok(await run.do(reserve, { ifMatch: 0 }))
  const stale = refusedWith(await run.do(reserve, { ifMatch: 0 }), 'revision-conflict')
  assert.equal(stale.evidence, { expected: 0, actual: 1 })
  const [one, two] = await Promise.all([run.do(reserve, { ifMatch: 1 }), run.do(reserve, { ifMatch: 1 })])
  ok(one)
  refusedWith(two, 'revision-conflict')
})

idempotency.run()
