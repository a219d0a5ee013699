import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Command } from '../../src/ledger/ledger.ts'
import { readSettings } from '../../src/settings/config.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: what a run waits for')

test('runs waits and runs approvals list what a run waits for, now and as of a size of the log (HTTP-33)', async () => {
  using folder = tempFolder()
  const data = join(folder.path, '.countersign')
  {
    await using opened = await openLedger(readSettings({ data }, {}), silentLog)
    const does = async (command: Command) => {
      await opened.ledger.execute({ tenant: 'default', actor: 'alice' }, 'r', command, {})
    }
    await does({ kind: 'start', body: { id: 'r', name: 'first' } })
    await does({ kind: 'wait', body: { name: 'parcel' } })
    await does({ kind: 'claim', body: { tool: 'pay', args: { cents: 5 }, approve: { reason: 'over the limit' } } })
  }
  const run = (...args: readonly string[]) => runInProcess([...args, '--data', data])
  const rows = async (...args: readonly string[]) =>
    (await run(...args)).stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const waits = async (...more: readonly string[]) =>
    (await rows('runs', 'waits', 'r', ...more)).map(({ name, status }) => [name, status])
  const approvals = async (...more: readonly string[]) =>
    (await rows('runs', 'approvals', 'r', ...more)).map(({ tool, args }) => [tool, args])
  assert.equal([await waits(), await approvals()], [[['parcel', 'waiting']], [['pay', { cents: 5 }]]])
  assert.equal([await waits('--as-of', '1'), await approvals('--as-of', '2')], [[], []])
  assert.equal(await waits('--as-of', '2'), [['parcel', 'waiting']])
  assert.is((await run('runs', 'waits', 'r', '--as-of', '9999')).code, 2)
})

test('approvals list takes --as-of: what could be decided then, over all runs (HTTP-35)', async () => {
  using folder = tempFolder()
  const data = join(folder.path, '.countersign')
  {
    await using opened = await openLedger(readSettings({ data }, {}), silentLog)
    for (const run of ['r', 's']) {
      const does = async (command: Command) => {
        await opened.ledger.execute({ tenant: 'default', actor: 'alice' }, run, command, {})
      }
      await does({ kind: 'start', body: { id: run, name: 'first' } })
      await does({ kind: 'claim', body: { tool: 'pay', args: {}, approve: { reason: 'over the limit' } } })
      if (run === 'r') await does({ kind: 'complete', body: {} })
    }
  }
  const runs = async (...more: readonly string[]) => {
    const { stdout } = await runInProcess(['approvals', 'list', ...more, '--data', data])
    return [...stdout.matchAll(/"runId":"(\w)"/g)].map(([, run]) => run)
  }
  assert.equal(await runs(), ['s'])
  assert.equal(await runs('--as-of', '2'), ['r'])
  assert.equal(await runs('--as-of', '3'), [])
  assert.is((await runInProcess(['approvals', 'list', '--as-of', '9999', '--data', data])).code, 2)
})

test.run()
