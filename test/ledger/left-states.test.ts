import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'

const test = suite('states that a run has left')

interface More {
  readonly supersedes?: { path: string; reason: string }[]
  readonly mode?: 'replace' | 'merge' | 'extend'
}

async function handOver(test: TestLedger, payload: JsonObject, more: More = {}): Promise<string> {
  const outcome = await test.run('r', { kind: 'envelope', body: { agent: 'a', payload, ...more } })
  if (outcome.ok) return 'accepted'
  const findings = (outcome.refusal.evidence?.findings ?? []) as { rule: string; path: string; message: string }[]
  return findings
    .map(({ rule, path, message }) => `${rule} ${path}${message.includes('has left') ? ' (left)' : ''}`)
    .join()
}

async function started(): Promise<TestLedger> {
  const opened = await testLedger()
  await opened.run('r', { kind: 'start', body: { id: 'r', name: 'r', policy: { suspect: 'refuse' } } })
  return opened
}

const LEFT = 'contradicted /ticket/status (left)'
const ticket = (status: string): JsonObject => ({ ticket: { id: 'T-1', status } })

test('a state word that the run has left is not entered again, unless it is superseded (JUD-10)', async () => {
  await using run = await started()
  for (const status of ['intake', 'under review', 'lab'])
    assert.is(await handOver(run, ticket(status)), 'accepted', status)
  assert.is(await handOver(run, ticket('under review')), LEFT)
  // Of two words of which neither is known nothing says which comes first, left or not.
  assert.is(await handOver(run, ticket('Intake')), 'contradicted /ticket/status')
  const supersedes = [{ path: '/ticket/status', reason: 'the sample was spoilt and is taken anew' }]
  assert.is(await handOver(run, ticket('under review'), { supersedes }), 'accepted')
  assert.is(await handOver(run, ticket('lab')), LEFT)
  assert.is(await handOver(run, ticket('billing')), 'accepted')
  assert.is(await handOver(run, ticket('under review')), LEFT)
})

test('words of one meaning are one state, and what was interrupted goes on (JUD-10)', async () => {
  await using run = await started()
  for (const status of [
    'queued',
    'in_progress',
    'blocked',
    'in progress',
    'on hold',
    'running',
    'blocked',
    'active',
    'done',
    'completed',
  ]) {
    assert.is(await handOver(run, ticket(status)), 'accepted', status)
  }
})

test('members of a list are remembered by what they are known by, wherever they stand (JUD-10)', async () => {
  await using run = await started()
  const items = (...states: [string, string][]): JsonObject => ({ items: states.map(([id, stage]) => ({ id, stage })) })
  assert.is(await handOver(run, items(['a', 'cut'], ['b', 'cut'])), 'accepted')
  assert.is(await handOver(run, items(['b', 'cut'], ['a', 'in progress'])), 'accepted')
  assert.is(await handOver(run, items(['b', 'in progress'], ['a', 'packed'])), 'accepted')
  assert.is(await handOver(run, items(['a', 'in progress'], ['b', 'packed'])), 'contradicted /items/1/stage (left)')
  assert.is(
    await handOver(run, { items: [{ id: 'b', stage: 'cut' }] }, { mode: 'extend' }),
    'contradicted /items/0/stage (left)',
  )
  assert.is(await handOver(run, items(['a', 'done'], ['b', 'packed'])), 'accepted')
})

test('what was left after a step that the run went back to was never left, and a fold from the record knows the same (JUD-10)', async () => {
  await using run = await started()
  for (const status of ['intake', 'under review', 'lab']) await handOver(run, ticket(status))
  const back = await run.run('r', { kind: 'rollback', body: { reason: 'the lab was closed', toStep: 2 } })
  assert.ok(back.ok)
  assert.is(await handOver(run, ticket('intake')), LEFT)
  assert.is(await handOver(run, ticket('lab')), 'accepted')
  await using again = await run.sibling()
  const body = { agent: 'a', payload: ticket('under review') }
  const outcome = await again.execute(alice, 'r', { kind: 'envelope', body }, {})
  assert.is(outcome.ok, false)
})

test.run()
