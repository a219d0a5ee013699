import { existsSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { planRetention, runRetention } from '../../../src/export/archive/retention-pass.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { alice, testLedger } from '../../support/test-ledger.ts'

const test = suite('retention on any store')

const classes = [{ class: 'all', keep: { atMost: 0 }, action: 'archive' }] as const

test('a store that keeps its bodies archives nothing, says so, and makes no folder, while a plan is made on any store (LIFE-50, LIFE-54)', async () => {
  using folder = tempFolder()
  await using t = await testLedger()
  const { ledger } = t
  assert.ok((await t.run('one', { kind: 'start', body: { id: 'one', name: 'r' } })).ok)
  assert.ok((await t.run('one', { kind: 'complete', body: {} })).ok)
  assert.ok((await t.run('two', { kind: 'start', body: { id: 'two', name: 'r' } })).ok)
  const deps = { ledger, caller: alice, classes, nowMs: () => t.clock.nowMs + 1 }
  const plan = await planRetention(deps)
  assert.ok(plan.ok)
  assert.equal([plan.value.due.map(({ run }) => run), plan.value.counts.open], [['one'], 1])
  const path = folder.file('archives')
  const passed = await runRetention({ ...deps, store: {}, folder: path })
  assert.equal([passed.ok ? '' : passed.refusal.code, existsSync(path)], ['archive-unavailable', false])
})

test('a hold on a subject keeps each run with values of it in the store, and no other (LIFE-54)', async () => {
  await using t = await testLedger()
  const { ledger } = t
  const policy = { redaction: [{ name: 'person', at: ['/input/name'], keep: { subject: '/id' } }] }
  for (const [run, id] of [
    ['one', 's'],
    ['two', 'other'],
  ] as const) {
    const body = { id: run, name: 'r', input: { name: 'Zephyrine', id }, policy }
    assert.ok((await t.run(run, { kind: 'start', body })).ok)
    assert.ok((await t.run(run, { kind: 'complete', body: {} })).ok)
  }
  const counsel = { tenant: alice.tenant, actor: 'portal', principal: 'counsel' }
  const held = await ledger.holds.place(counsel, { subject: 's', reason: 'a claim' })
  assert.ok(held.ok)
  const plan = await planRetention({ ledger, caller: alice, classes, nowMs: () => t.clock.nowMs + 1 })
  assert.ok(plan.ok)
  assert.equal(
    [plan.value.due.map(({ run }) => run), plan.value.kept],
    [['two'], [{ run: 'one', why: 'held', class: 'all', hold: held.value.hold }]],
  )
})

test.run()
