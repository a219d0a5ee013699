import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: a search over a damaged index of words')

const alice = { tenant: 'acme', actor: 'alice' } as const

test('parts of the words are gone from audit.db: a search at rest leaves the file aside, says so, and reads the whole store (LOG-61, A644)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  {
    const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
    await using opened = await openLedger(settings, silentLog)
    const run = drive(opened, 'r', alice)
    await run.start({})
    await run.hand('a', { text: 'giraffe' })
    await opened.ledger.audit?.ask(alice, { name: 'events', filter: {} }, { limit: 1 })
  }
  const asked = () => runInProcess(['search', 'giraffe', '--tenant', 'acme', '--json', '--data', data])
  const whole = await asked()
  assert.equal([whole.code, whole.stderr, whole.stdout.includes('giraffe')], [0, '', true])
  const db = new Sqlite(`${data}/audit.db`)
  db.unsafeMode()
  db.exec('DELETE FROM audit_text_data WHERE id > 10; DELETE FROM audit_text_idx')
  db.close()
  const damaged = await asked()
  assert.equal([damaged.code, damaged.stdout], [0, whole.stdout], damaged.stderr)
  assert.match(damaged.stderr, /audit\.db is damaged .*: the whole store is read instead/)
})

test.run()
