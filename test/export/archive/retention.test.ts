import { existsSync, readdirSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { refusal } from '../../../src/domain/refusal.ts'
import { checkArchive, UnsoundRunError } from '../../../src/export/archive/archive-file.ts'
import { planRetention, runRetention } from '../../../src/export/archive/retention-pass.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { alice, testLedger } from '../../support/test-ledger.ts'
import { eventually } from '../../support/within.ts'

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

test('a store that is away ends the pass, and makes no run unsound (LIFE-52)', async () => {
  using folder = tempFolder()
  await using t = await testLedger()
  const { ledger } = t
  assert.ok((await t.run('one', { kind: 'start', body: { id: 'one', name: 'r' } })).ok)
  assert.ok((await t.run('one', { kind: 'complete', body: {} })).ok)
  const away = refusal('store-unavailable', 'the store is away', { retryAfterMs: 1 })
  const passed = await runRetention({
    ledger: { ...ledger, runEvents: async () => ({ ok: false, refusal: away }) },
    store: { moveBodies: async () => undefined },
    caller: alice,
    classes,
    nowMs: () => t.clock.nowMs + 1,
    folder: folder.path,
  })
  assert.ok(passed.ok)
  assert.equal([passed.value.refusal?.code, passed.value.unsound], ['store-unavailable', []])
})

test('a check that fails leaves no file open', async () => {
  if (!existsSync('/proc/self/fd')) return
  using folder = tempFolder()
  await using t = await testLedger()
  const path = folder.file('acme-000001.jsonl')
  // Far more than is read before the check fails.
  writeFileSync(path, '{}\n'.repeat(200_000))
  const places = { ledger: t.ledger, caller: alice, folder: folder.path, archive: 'acme-000001' }
  await checkArchive(places, { runs: [{ run: 'nowhere', events: 1 }], values: [] }).then(
    () => assert.unreachable(),
    (error: unknown) => assert.instance(error, UnsoundRunError),
  )
  const whole = realpathSync(path)
  await eventually(() => (openFiles().includes(whole) ? undefined : true), 'the file to be closed')
})

function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

test.run()
