import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Command } from '../../src/ledger/ledger.ts'
import { readSettings } from '../../src/settings/config.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: suspects')

test('suspects lists what is open, of all runs or of one; confirm and reject decide in the name of --as, with a reason (JUD-60, JUD-63, JUD-64)', async () => {
  using folder = tempFolder()
  const data = join(folder.path, '.countersign')
  {
    await using opened = await openLedger(readSettings({ data }, {}), silentLog)
    for (const run of ['r', 's']) {
      const does = (command: Command) => opened.ledger.execute({ tenant: 'default', actor: 'alice' }, run, command, {})
      await does({ kind: 'start', body: { id: run, name: 'first' } })
      for (const carrier of ['K7Q', 'X9P', 'M4T'])
        await does({ kind: 'envelope', body: { agent: 'a', payload: { order: { carrier } } } })
    }
  }
  const run = (...args: readonly string[]) => runInProcess([...args, '--data', data])
  const ids = async (...more: readonly string[]) =>
    (await run('suspects', 'list', ...more, '--json')).stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .map(({ runId, id, before, after }) => `${runId} ${id} ${before} ${after}`)
  assert.equal(await ids('r'), ['r 2.1 K7Q X9P', 'r 3.1 X9P M4T'])
  assert.is((await ids()).length, 4)
  const unsaid = await run('suspects', 'confirm', 'r', '2.1', '--as', 'bob')
  assert.is(unsaid.code, 2)
  assert.match(unsaid.stderr, '--reason is missing')
  const own = await run('suspects', 'confirm', 'r', '2.1', '--as', 'alice', '--reason', 'mine')
  assert.is.not(own.code, 0)
  assert.match(own.stderr, 'another person has to')
  assert.is((await run('suspects', 'confirm', 'r', '2.1', '--as', 'bob', '--reason', 'the mail')).code, 0)
  assert.equal(await ids('r'), ['r 3.1 X9P M4T'])
  assert.is((await run('suspects', 'reject', 's', '2.1', '3.1', '--as', 'bob', '--reason', 'the mail')).code, 0)
  assert.equal(await ids('s'), [])
  assert.match((await run('runs', 'show', 's')).stdout, /step\W+1\b/)
})

test.run()
