import { copyFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { Log } from '../../src/ledger/ports.ts'
import { readSettings } from '../../src/settings/config.ts'
import { openSqliteLogs } from '../../src/store/sqlite/sqlite-log.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { askAll } from '../support/audited.ts'
import { drive } from '../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'
import { testLogs } from '../support/test-logs.ts'
import { testStoreKeys } from '../support/test-store.ts'

const test = suite('files that follow the store, forged')

const FORGERIES: readonly (readonly [file: string, sql: string])[] = [
  ['audit.db', `UPDATE charges SET tokens = 0, whole = 0, nano = 0`],
  ['audit.db', `UPDATE charges SET estimated = 1 - estimated`],
  ['audit.db', `DELETE FROM charges`],
  ['audit.db', `UPDATE events SET agent = 'nobody' WHERE agent IS NOT NULL`],
  ['audit.db', `UPDATE events SET type = 'RunStarted' WHERE type = 'EnvelopeRejected'`],
  ['audit.db', `DELETE FROM events WHERE leaf = (SELECT max(leaf) FROM events WHERE tenant = 'acme')`],
  ['audit.db', `INSERT INTO states (stream, state) VALUES ('run-acme.one', '{}')`],
  ['audit.db', `INSERT INTO foreign_streams (stream) VALUES ('run-acme.later')`],
  [
    'audit.db',
    `INSERT INTO charges (rowid, seq, agent, tokens, whole, nano, estimated) SELECT -7, min(seq), 'a', 1, 0, 0, 0 FROM events`,
  ],
  ['audit.db', `UPDATE seal SET mac = 'k.forged'`],
  ['audit.db', `DELETE FROM seal`],
  ['audit.db', `UPDATE progress SET position = position - 1`],
  ['views.db', `UPDATE runs SET status = 'completed'`],
  ['views.db', `DELETE FROM runs WHERE run_id = 'one'`],
  ['views.db', `UPDATE runs SET tokens = 0, cost = NULL, fold = replace(fold, '"tokens"', '"tokenz"')`],
  ['log.db', `UPDATE log_streams SET is_foreign = 1 WHERE stream = 'run-acme.one'`],
  ['log.db', `DELETE FROM log_streams WHERE stream = 'run-acme.two'`],
  ['log.db', `INSERT INTO log_streams SELECT 999, 'run-acme.later', 0, NULL, NULL, NULL, 0, 1`],
  ['log.db', `UPDATE log_streams SET attested = 99 WHERE stream = 'run-acme.one'`],
  ['log.db', `UPDATE logs SET stopped = '{"position":"1","stream":"run-acme.one","revision":0,"code":"mac"}'`],
  ['log.db', `UPDATE logs SET size = size - 1 WHERE tenant = 'acme'`],
  ['log.db', `UPDATE progress SET position = '2'`],
  ['log.db', `DELETE FROM seal`],
  ['views.db', `INSERT INTO runs (tenant, run_id, ...) SELECT 'acme', 'ghost', ... FROM runs LIMIT 1`],
  ['views.db', `INSERT INTO faults VALUES ('acme', 'run-acme.one', 1, 'mac', '2026-01-01T00:00:00.000Z')`],
  ['views.db', `INSERT INTO notes VALUES ('scrub', '{"v":1,"last":{}}')`],
]

interface Opened extends AsyncDisposable {
  readonly ledger: Ledger
  readonly renewed: string[]
}

/** Whether another thread writes the files. */
const WRITERS = [
  ['this thread writes', false],
  ['a thread of their own writes', true],
] as const

async function open(data: string, isRemote = false): Promise<Opened> {
  const renewed: string[] = []
  const log: Log = {
    info: () => undefined,
    warn: (fields) => void renewed.push(String((fields as { file?: string }).file)),
    error: (fields, message) => assert.unreachable(`${message} ${JSON.stringify(fields)}`),
  }
  // What threads read is forged in test/reading and test/store/audit-snapshots; here each start is to be quick.
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0' }, {})
  const indexingThread = isRemote ? { startMs: 0 } : undefined
  const { ledger, indexing, [Symbol.asyncDispose]: close } = await openLedger({ ...settings, indexingThread }, log)
  await indexing?.taken()
  return { ledger, renewed, [Symbol.asyncDispose]: close }
}

async function answers(ledger: Ledger): Promise<unknown> {
  const { items } = await ledger.listRuns(alice, { limit: 10 })
  return {
    runs: items,
    spend: await askAll(ledger, 'spend'),
    events: await askAll(ledger, 'events', { filter: { types: ['EnvelopeAccepted', 'EnvelopeRejected'] } }),
    population: await askAll(ledger, 'runs'),
    inLog: await inLog(ledger),
  }
}

/** Which events of the runs are leaves, once the log has been brought up to date. */
async function inLog(ledger: Ledger): Promise<unknown> {
  await ledger.logs?.publish()
  const events = await Promise.all(['one', 'two'].map((run) => drive({ ledger }, run).events()))
  const leaves = events.flat().map(({ header }) => ledger.logs?.leafIndex(alice.tenant, header.id))
  assert.ok(leaves.length > 0 && !leaves.includes(undefined), 'every event is a leaf')
  return { leaves, stopped: ledger.logs?.state(alice.tenant).stopped }
}

async function seed({ ledger }: Opened): Promise<void> {
  for (const run of ['one', 'two']) {
    const at = drive({ ledger }, run)
    await at.start()
    await at.hand('a', { facts: { revenue: 500 } }, { tokens: 40 })
    await at.hand('b', { facts: { revenue: 600 } }, { tokens: 2 })
  }
}

function forge(folder: TempFolder, file: string, sql: string): void {
  const db = new Sqlite(folder.file(`data/${file}`))
  const columns = db.pragma('table_info(runs)') as { readonly name: string }[]
  const others = columns.map(({ name }) => name).filter((name) => name !== 'tenant' && name !== 'run_id')
  const { changes } = db.prepare(sql.replaceAll('...', others.join(', '))).run()
  db.close()
  assert.ok(changes > 0, `the forgery changes something: ${sql}`)
}

test('whatever is changed, dropped or added while the ledger is stopped is found, and no answer rests on it (A81)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  let before: unknown
  {
    await using opened = await open(data)
    await seed(opened)
    before = await answers(opened.ledger)
  }
  for (const [file, sql] of FORGERIES) {
    forge(folder, file, sql)
    await using opened = await open(data)
    assert.equal(await answers(opened.ledger), before, sql)
    assert.equal(opened.renewed, [folder.file(`data/${file}`)], sql)
  }
})

for (const [writer, isRemote] of WRITERS) {
  test(`and while it serves, in files that ${writer} (A82, A222)`, async () => {
    using folder = tempFolder()
    await using opened = await open(folder.file('data'), isRemote)
    await seed(opened)
    const before = await answers(opened.ledger)
    for (const [file, sql] of FORGERIES.filter((_, at) => at % (isRemote ? 4 : 2) === 0)) {
      opened.renewed.length = 0
      forge(folder, file, sql)
      assert.equal(await answers(opened.ledger), before, sql)
      assert.equal(opened.renewed, [folder.file(`data/${file}`)], sql)
    }
  })
}

test('an older copy of a whole file, or one of another ledger, is brought up to date or rebuilt (A83)', async () => {
  using folder = tempFolder()
  using elsewhere = tempFolder()
  const data = folder.file('data')
  for (const site of [folder, elsewhere]) {
    await using opened = await open(site.file('data'))
    await seed(opened)
    await answers(opened.ledger)
  }
  for (const file of ['audit.db', 'views.db', 'log.db']) copyFileSync(folder.file(`data/${file}`), folder.file(file))
  let before: unknown
  {
    await using opened = await open(data)
    await drive(opened, 'three').start()
    before = await answers(opened.ledger)
  }
  for (const file of ['audit.db', 'views.db', 'log.db']) {
    for (const copy of [folder.file(file), elsewhere.file(`data/${file}`)]) {
      copyFileSync(copy, `${data}/${file}`)
      await using opened = await open(data)
      assert.equal(await answers(opened.ledger), before, copy)
    }
  }
})

test('a stream that the file of the logs forgot is damage, not another’s: the file is rebuilt (A93)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await using store = await openSqliteStore({ path: folder.file('store.db') })
  const renewed: string[] = []
  // Unsealed, as the file is where somebody holds the ledger's keys.
  const open = () => openSqliteLogs({ path: data, onRenewed: ({ reason }) => renewed.push(reason) })
  const keys = testStoreKeys()
  {
    using logStore = open()
    await using at = await testLogs({ store, logStore, keys })
    await at.fill('acme', 'one', 2)
    await at.logs.publish()
  }
  const db = new Sqlite(data)
  assert.is(db.prepare(`DELETE FROM log_streams WHERE stream = 'run-acme.one'`).run().changes, 1)
  db.close()
  {
    using logStore = open()
    await using at = await testLogs({ store, logStore, keys })
    const next = { kind: 'envelope', body: { agent: 'writer', payload: { note: 'later' } } } as const
    assert.ok((await at.ledger.execute({ tenant: 'acme', actor: 'tester' }, 'one', next, {})).ok)
    await at.logs.publish()
    const events = await drive({ ledger: at.ledger }, 'one').events()
    assert.ok(events.every(({ header }) => at.logs.leafIndex('acme', header.id) !== undefined))
    assert.is(at.logs.state('acme').stopped, undefined)
    assert.is(renewed.length, 1)
    assert.match(renewed[0] ?? '', 'run-acme.one')
  }
})

for (const [writer, isRemote] of WRITERS) {
  test(`untouched files that ${writer} are read as they are, not rebuilt (A84)`, async () => {
    using folder = tempFolder()
    const data = folder.file('data')
    for (let start = 0; start < 3; start += 1) {
      await using opened = await open(data, isRemote)
      if (start === 0) await seed(opened)
      else await drive(opened, `r${start}`).start()
      await answers(opened.ledger)
      await answers(opened.ledger)
      assert.equal(opened.renewed, [])
    }
  })
}

test.run()
