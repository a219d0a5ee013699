import { copyFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../../schemas/names.ts'
import type { AuditIndex } from '../../../src/store/audit-index.ts'
import type { EventStore } from '../../../src/store/event-store.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { auditOfStore } from '../../support/audit-of-store.ts'
import { drive } from '../../support/run-driver.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { alice, testLedger } from '../../support/test-ledger.ts'
import { wrapStore } from '../../support/wrap-store.ts'

const test = suite('audit: the index')

async function filled(runs: number): Promise<EventStore & AsyncDisposable> {
  const store = openMemoryStore()
  const ledger = await testLedger({ store })
  for (let at = 0; at < runs; at += 1) {
    await drive(ledger, `r${at}`).start()
    await drive(ledger, `r${at}`).hand('a', { note: `note ${at}` })
  }
  return store
}

async function leavesOf(store: EventStore, index: AuditIndex): Promise<readonly unknown[]> {
  const answer = await auditOfStore({ store, index }).ask(alice, { name: 'events', filter: {} }, { limit: 500 })
  return answer.ok ? answer.items.map(({ event }) => event) : [answer.detail]
}

test('rebuilt it says the same as grown step by step, whatever the pages (LOG-22)', async () => {
  await using store = await filled(6)
  using grown = openSqliteAudit({ path: ':memory:' })
  const end = Number(await store.end())
  for (let upTo = 1; upTo <= end; upTo += 1) {
    const until = wrapStore(store, { end: async () => String(upTo) })
    await auditOfStore({ store: until, index: grown }).asOf(alice)
  }
  using anew = openSqliteAudit({ path: ':memory:' })
  assert.equal(await leavesOf(store, grown), await leavesOf(store, anew))
  for (const by of ['agent', 'run', 'day'] as const) {
    const view = { tenant: alice.tenant, size: grown.size(alice.tenant) }
    const page = { after: undefined, limit: 100, by, window: { after: -1, upTo: view.size } }
    assert.equal(grown.spend(view, {}, page), anew.spend(view, {}, page))
  }
})

test('an index of another store is not believed: it is rebuilt', async () => {
  await using store = await filled(2)
  await using other = await filled(3)
  using index = openSqliteAudit({ path: ':memory:' })
  const there = await leavesOf(other, index)
  const here = await leavesOf(store, index)
  assert.ok(here.length > 0)
  assert.equal(
    here.filter((event) => there.includes(event)),
    [],
  )
})

test('an index that is ahead of a restored copy of the store is rebuilt', async () => {
  await using store = await filled(4)
  using index = openSqliteAudit({ path: ':memory:' })
  const all = await leavesOf(store, index)
  const older = wrapStore(store, {
    end: async () => '5',
    recordAt: async (position: string) => (Number(position) <= 5 ? store.recordAt(position) : undefined),
  })
  assert.equal(await leavesOf(older, index), all.slice(0, 4))
})

test('the file outlives the process, and a file that is damaged or of another version is rebuilt', async () => {
  using folder = tempFolder()
  await using store = await filled(3)
  const path = folder.file('audit.db')
  let events: readonly unknown[] = []
  {
    using index = openSqliteAudit({ path })
    events = await leavesOf(store, index)
  }
  {
    using index = openSqliteAudit({ path })
    assert.is(index.size(alice.tenant), events.length)
  }
  copyFileSync(new URL(import.meta.url), path)
  using index = openSqliteAudit({ path })
  assert.is(index.size(alice.tenant), 0)
  assert.equal(await leavesOf(store, index), events)
})

test('two processes that fold into one file at once add each event once', async () => {
  using folder = tempFolder()
  await using store = await filled(20)
  using one = openSqliteAudit({ path: folder.file('audit.db') })
  using two = openSqliteAudit({ path: folder.file('audit.db') })
  const [a, b] = [auditOfStore({ store, index: one }), auditOfStore({ store, index: two })]
  await Promise.all([a.asOf(alice), b.asOf(alice)])
  const { treeSize } = await a.asOf(alice)
  assert.is((await b.asOf(alice)).treeSize, treeSize)
  assert.is(new Set(await leavesOf(store, one)).size, treeSize)
})

test('streams that this ledger did not write have no rows, as they have no leaves', async () => {
  const store = openMemoryStore()
  await using ledger = await testLedger({ store, audit: true, merkleLogs: true })
  await drive(ledger, 'r').start()
  const forged = {
    id: crypto.randomUUID(),
    type: 'RunStarted',
    header: '{"type":"RunStarted"}',
    salt: new Uint8Array(16),
    data: '{}',
  }
  await store.append({ stream: runStream(alice.tenant, 'forged'), expectedRevision: -1, records: [forged] })
  await drive(ledger, 's').start()
  await ledger.ledger.logs?.publish()
  const { treeSize } = (await ledger.ledger.audit?.asOf(alice)) ?? {}
  await ledger.ledger.logs?.publish()
  assert.is(treeSize, ledger.ledger.logs?.state(alice.tenant).size)
})

test('a question under which somebody else has the index made anew is answered whole, and not out of an empty one (A413)', async () => {
  await using store = await filled(6)
  using index = openSqliteAudit({ path: ':memory:' })
  const audit = auditOfStore({ store, index })
  const ask = async (): Promise<unknown> => {
    const answer = await audit.ask(alice, { name: 'runs', filter: {} }, { limit: 500 })
    return answer.ok ? answer.items : answer.detail
  }
  const whole = await ask()
  for (let turns = 0; turns < 12; turns += 1) {
    const answer = ask()
    for (let turn = 0; turn < turns; turn += 1) await nextTurn()
    index.renew('damaged, says the test')
    assert.equal(await answer, whole, `after ${turns} turns`)
  }
})

test.run()
