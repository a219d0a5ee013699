import { copyFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose.ts'
import { readSettings } from '../../src/config.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { Log } from '../../src/ledger/ports.ts'
import { askAll } from '../support/audited.ts'
import { drive } from '../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('files that follow the store, forged')

const FORGERIES: readonly (readonly [file: string, sql: string])[] = [
  ['audit.db', `UPDATE charges SET tokens = 0, whole = 0, nano = 0`],
  ['audit.db', `DELETE FROM charges`],
  ['audit.db', `UPDATE events SET agent = 'nobody' WHERE agent IS NOT NULL`],
  ['audit.db', `UPDATE events SET type = 'RunStarted' WHERE type = 'EnvelopeRejected'`],
  ['audit.db', `DELETE FROM events WHERE leaf = (SELECT max(leaf) FROM events WHERE tenant = 'acme')`],
  ['audit.db', `INSERT INTO states (stream, state) VALUES ('run-acme.one', '{}')`],
  ['audit.db', `INSERT INTO foreign_streams (stream) VALUES ('run-acme.later')`],
  [
    'audit.db',
    `INSERT INTO charges (rowid, seq, agent, tokens, whole, nano) SELECT -7, min(seq), 'a', 1, 0, 0 FROM events`,
  ],
  ['audit.db', `UPDATE seal SET mac = 'k.forged'`],
  ['audit.db', `DELETE FROM seal`],
  ['audit.db', `UPDATE progress SET position = position - 1`],
  ['views.db', `UPDATE runs SET status = 'completed'`],
  ['views.db', `DELETE FROM runs WHERE run_id = 'one'`],
  ['views.db', `UPDATE runs SET tokens = 0, cost = NULL, fold = replace(fold, '"tokens"', '"tokenz"')`],
  [
    'views.db',
    `INSERT INTO runs SELECT 'acme', 'ghost', name, status, tags, agents, actor, started_at, updated_at, revision, step,
      rejections, calls, tokens, cost, currency, fold FROM runs LIMIT 1`,
  ],
]

interface Opened extends AsyncDisposable {
  readonly ledger: Ledger
  readonly renewed: string[]
}

async function open(data: string): Promise<Opened> {
  const renewed: string[] = []
  const log: Log = {
    info: () => undefined,
    warn: (fields) => void renewed.push(String((fields as { file?: string }).file)),
    error: (fields, message) => assert.unreachable(`${message} ${JSON.stringify(fields)}`),
  }
  const settings = readSettings({ data, 'checkpoint-seconds': '0' }, {})
  const { ledger, [Symbol.asyncDispose]: close } = await openLedger(settings, log)
  return { ledger, renewed, [Symbol.asyncDispose]: close }
}

async function answers(ledger: Ledger): Promise<unknown> {
  const { items } = await ledger.listRuns(alice, { limit: 10 })
  return {
    runs: items,
    spend: await askAll(ledger, 'spend'),
    events: await askAll(ledger, 'events', { filter: { types: ['EnvelopeAccepted', 'EnvelopeRejected'] } }),
    population: await askAll(ledger, 'runs'),
  }
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
  const { changes } = db.prepare(sql).run()
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

test('and while it serves (A82)', async () => {
  using folder = tempFolder()
  await using opened = await open(folder.file('data'))
  await seed(opened)
  const before = await answers(opened.ledger)
  for (const [file, sql] of FORGERIES.filter((_, at) => at % 2 === 0)) {
    opened.renewed.length = 0
    forge(folder, file, sql)
    assert.equal(await answers(opened.ledger), before, sql)
    assert.equal(opened.renewed, [folder.file(`data/${file}`)], sql)
  }
})

test('an older copy of a whole file, or one of another ledger, is brought up to date or made anew (A83)', async () => {
  using folder = tempFolder()
  using elsewhere = tempFolder()
  const data = folder.file('data')
  for (const site of [folder, elsewhere]) {
    await using opened = await open(site.file('data'))
    await seed(opened)
    await answers(opened.ledger)
  }
  for (const file of ['audit.db', 'views.db']) copyFileSync(folder.file(`data/${file}`), folder.file(file))
  let before: unknown
  {
    await using opened = await open(data)
    await drive(opened, 'three').start()
    before = await answers(opened.ledger)
  }
  for (const file of ['audit.db', 'views.db']) {
    for (const copy of [folder.file(file), elsewhere.file(`data/${file}`)]) {
      copyFileSync(copy, `${data}/${file}`)
      await using opened = await open(data)
      assert.equal(await answers(opened.ledger), before, copy)
    }
  }
})

test('untouched files are read as they are, not made anew (A84)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  for (let start = 0; start < 3; start += 1) {
    await using opened = await open(data)
    if (start === 0) await seed(opened)
    else await drive(opened, `r${start}`).start()
    await answers(opened.ledger)
    await answers(opened.ledger)
    assert.equal(opened.renewed, [])
  }
})

test.run()
