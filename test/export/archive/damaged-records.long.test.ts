import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../../src/compose/compose.ts'
import { silentLog } from '../../../src/ledger/effects.ts'
import type { Caller, Command, Ledger } from '../../../src/ledger/ledger.ts'
import { readSettings } from '../../../src/settings/config.ts'
import { archivesOf } from '../../../src/store/sqlite/archive-reader.ts'
import { runInProcess } from '../../support/in-process-command.ts'
import { rowsOf, type StoreRow, tamper } from '../../support/tamper.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const test = suite('archives that were altered, and records of archives that are lost')

const caller: Caller = { tenant: 'default', actor: 'tester' }
const CLASSES = { retention: [{ class: 'all', keep: { atMost: 0 }, action: 'archive' }] }

const settingsOf = (data: string) => readSettings({ data }, {})

async function started(ledger: Ledger, run: string): Promise<void> {
  const start: Command = { kind: 'start', body: { id: run, name: 'job', input: { text: `what ${run} says` } } }
  assert.ok((await ledger.execute(caller, run, start, {})).ok)
}

interface Place extends Disposable {
  readonly data: string
  readonly store: string
  readonly archive: string
}

/** Two runs that have ended, in an archive. */
async function archived(): Promise<Place> {
  const folder = tempFolder()
  const data = join(folder.path, 'data')
  {
    await using opened = await openLedger(settingsOf(data), silentLog)
    for (const run of ['one', 'two']) {
      await started(opened.ledger, run)
      assert.ok((await opened.ledger.execute(caller, run, { kind: 'complete', body: {} }, {})).ok)
    }
    await opened.ledger.logs?.publish()
  }
  const classes = join(folder.path, 'classes.json')
  writeFileSync(classes, JSON.stringify(CLASSES))
  const pass = await runInProcess(['retention', 'run', '--data', data, '--retention', classes])
  assert.is(pass.code, 0, pass.stderr)
  const store = join(data, 'store.db')
  const archive = join(archivesOf(store), 'default-000001.jsonl')
  return { data, store, archive, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

async function verdictOf({ data }: Place) {
  const { code, stdout } = await runInProcess(['verify', '--data', data, '--json'])
  const { verdict, faults } = JSON.parse(stdout) as { verdict: string; faults: { code: string }[] }
  return { code, verdict, codes: faults.map((fault) => fault.code).sort() }
}

function altered({ store }: Place, row: StoreRow | undefined, data: (before: string) => string): void {
  if (row === undefined) throw new Error('no such event')
  tamper(store, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run(data(row.data), row.position))
}

test('an archive that was altered stops no log that is made anew: a leaf needs the header alone (LIFE-56)', async () => {
  using at = await archived()
  const { data, archive } = at
  writeFileSync(archive, readFileSync(archive, 'utf8').replace('what one says', 'what one said'))
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(data, `log.db${suffix}`), { force: true })
  await using opened = await openLedger(settingsOf(data), silentLog)
  const { ledger } = opened
  await ledger.logs?.publish()
  await started(ledger, 'new')
  assert.equal(ledger.stats().stoppedLogs, [])
})

test('the record of an archive is lost and acknowledged: verify is INCOMPLETE, and still TAMPERED for one archive more (LOG-66, LIFE-55)', async () => {
  using at = await archived()
  const row = rowsOf(at.store).find(({ header }) => header.includes('"type":"RunsArchived"'))
  altered(at, row, () => '{"v":1}')
  {
    await using opened = await openLedger(settingsOf(at.data), silentLog)
    const { stream = '', revision = 0 } = row ?? {}
    const answer = await opened.ledger.lostEvents.acknowledge(caller, { stream, revision, reason: 'no copy has it' })
    assert.ok(answer.ok, JSON.stringify(answer))
  }
  const lost = await verdictOf(at)
  assert.equal(lost, { code: 3, verdict: 'INCOMPLETE', codes: ['archive-record-lost', 'loss-acknowledged'] })
  const moved = rowsOf(at.store).find((each) => each.data.startsWith('archived:'))
  altered(at, moved, (before) => before.replace('000001', '000009'))
  const forged = await verdictOf(at)
  assert.equal([forged.code, forged.verdict], [1, 'TAMPERED'])
  assert.ok(forged.codes.includes('archive-unrecorded'))
})

test.run()
