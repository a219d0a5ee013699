import { existsSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { rowsOf } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: exports that nothing can be in')

test('a period that ends before it begins and a tenant that never was are refused, and nothing is recorded (LOG-96, A570)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  {
    await using opened = await openLedger(readSettings({ data, 'read-threads': '0' }, {}), silentLog)
    await drive(opened, 'r', { tenant: 'acme', actor: 'alice' }).start({})
  }
  const written = (name: string) => ['--out', folder.file(name), '--data', data]
  const bundled = (name: string) => ['--bundle', folder.file(name), '--data', data]
  const never = ['--since', '2030-01-01T00:00:00.000Z', '--until', '2029-01-01T00:00:00.000Z', '--tenant', 'acme']
  for (const args of [
    ['export', ...never, ...written('a')],
    ['export', ...never, ...bundled('b.tar')],
    ['audit', 'events', ...never, ...bundled('c.tar')],
  ]) {
    const { code, stderr } = await runInProcess(args)
    assert.is(code, 2, args.join(' '))
    assert.match(stderr, /since .* is later than until/)
  }
  for (const args of [written('d'), bundled('e.tar')]) {
    const { code, stderr } = await runInProcess(['export', '--tenant', 'nope', ...args])
    assert.equal([code, /no event of the tenant nope/.test(stderr)], [3, true], stderr)
  }
  assert.is(rowsOf(`${data}/store.db`).filter(({ stream }) => stream.includes('nope')).length, 0)
  for (const name of ['a', 'b.tar', 'c.tar', 'd', 'e.tar']) assert.not(existsSync(folder.file(name)), name)
})

test.run()
