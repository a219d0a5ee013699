import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'
import { drive, listed, ok, refusedWith } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'

const handoffs = suite('handoffs')

const apple = { entities: ['Apple'], revenue: '2024' }

async function types(test: TestLedger, runId: string): Promise<string[]> {
  const found = await test.ledger.runEvents(alice, runId, { from: 0 })
  if (!found.ok) throw new Error(found.refusal.code)
  const all: LedgerEvent[] = []
  for await (const page of found.value) all.push(...page)
  return all.map((event) => event.header.type)
}

async function verdictOf(test: TestLedger, runId: string): Promise<unknown> {
  const found = await test.ledger.replay(alice, runId)
  if (!found.ok) throw new Error(found.refusal.code)
  let last: unknown
  for await (const line of found.value.lines) last = line
  return last
}

handoffs('a handoff that drops a critical key is refused, and the run stands where it stood (RUN-36)', async () => {
  await using test = await testLedger()
  await test.run('hello', { kind: 'start', body: { id: 'hello', name: 'seed' } })
  const first = await test.run('hello', { kind: 'envelope', body: { agent: 'researcher', payload: apple } })
  assert.is(first.ok, true)

  const second = await test.run('hello', {
    kind: 'envelope',
    body: { agent: 'writer', payload: { summary: 'growth' } },
  })
  assert.is(second.ok, false)
  if (second.ok) return
  assert.is(second.refusal.code, 'contradiction')
  const evidence = second.refusal.evidence as {
    findings: { rule: string }[]
    restored: { step: number; payload: unknown; digest: string }
  }
  assert.is(evidence.findings[0]?.rule, 'critical-key-removed')
  assert.is(evidence.restored.step, 1)
  assert.equal(evidence.restored.payload, apple)
  assert.is(evidence.restored.digest, first.ok ? first.body.digest : '')
  assert.equal(await types(test, 'hello'), ['RunStarted', 'EnvelopeAccepted', 'EnvelopeRejected', 'RunRewound'])
  const context = await test.ledger.context(alice, 'hello', {})
  assert.equal(context.ok && context.value.context, apple)
  const verdict = (await verdictOf(test, 'hello')) as { verdict: string; snapshots: { matched: number } }
  assert.is(verdict.verdict, 'VERIFIED')
  assert.is(verdict.snapshots.matched, 1)
})

handoffs(
  'the place in the code where it was requested is signed with it, accepted, refused or rewound by hand',
  async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const at = (occurrence: number) => ({ scope: 'step:a', occurrence })
    ok(await run.hand('a', apple, at(0)))
    ok(await run.hand('a', { ...apple, more: 1 }, at(1)))
    refusedWith(await run.hand('a', {}, at(2)), 'contradiction')
    ok(await run.do({ kind: 'rollback', body: { reason: 'x', ...at(3) } }))
    const placed = (await run.events()).filter(({ data }) => data.occurrence !== undefined)
    assert.equal(
      placed.map(({ header, data }) => [header.type, data.scope, data.occurrence]),
      [
        ['EnvelopeAccepted', 'step:a', 0],
        ['EnvelopeAccepted', 'step:a', 1],
        ['EnvelopeRejected', 'step:a', 2],
        ['RunRewound', 'step:a', 3],
      ],
    )
  },
)

handoffs('an older owner cannot rewind the run', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  ok(await run.hand('a', apple))
  await run.start()
  refusedWith(await run.do({ kind: 'rollback', body: { reason: 'x', runFence: 1 } }), 'run-taken-over')
  ok(await run.do({ kind: 'rollback', body: { reason: 'x', runFence: 2 } }))
})

handoffs('more tokens than the manifest lets the agent hand over are a violation', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  ok(await run.do({ kind: 'manifest', body: { agent: 'a', maxTokens: 10 } }))
  const refused = refusedWith(await run.hand('a', apple, { tokens: 11 }), 'contradiction')
  assert.equal(
    listed(refused, 'findings')
      .filter(({ severity }) => severity === 'error')
      .map(({ rule, before, after }) => [rule, before, after]),
    [['manifest-violation', 10, 11]],
  )
  ok(await run.hand('a', apple, { tokens: 10 }))
  ok(await run.hand('b', apple, { tokens: 11 }))
})

handoffs('what a model said is no evidence for itself; what a tool gave is', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start({ policy: { ungrounded: 'reject' } })
  const model = await run.claimed('model:x', { phase: 'model' })
  ok(await run.settle(model, { result: { text: 'Globex' } }))
  const refused = refusedWith(await run.hand('a', { entities: ['Globex'] }), 'contradiction')
  assert.is(listed(refused, 'findings')[0]?.rule, 'ungrounded')
  const search = await run.claimed('search')
  ok(await run.settle(search, { result: { text: 'Globex' } }))
  ok(await run.hand('a', { entities: ['Globex'] }))
})

handoffs.run()
