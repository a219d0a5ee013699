import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LedgerEvent } from '../../src/ledger/ledger.ts'
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
  for await (const line of found.value) last = line
  return last
}

handoffs('a handoff that drops a critical key is refused, and the run stands where it stood', async () => {
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
  assert.equal(await types(test, 'hello'), [
    'RunStarted',
    'EnvelopeAccepted',
    'SnapshotTaken',
    'EnvelopeRejected',
    'RunRewound',
  ])
  const context = await test.ledger.context(alice, 'hello', {})
  assert.equal(context.ok && context.value.context, apple)
  const verdict = (await verdictOf(test, 'hello')) as { verdict: string; snapshots: { matched: number } }
  assert.is(verdict.verdict, 'VERIFIED')
  assert.is(verdict.snapshots.matched, 1)
})

handoffs.run()
