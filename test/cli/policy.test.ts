import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Command } from '../../src/ledger/ledger.ts'
import { readSettings } from '../../src/settings/config.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: policies')

const RUNS = ['r1', 'r2', 'r3']
const STEPS = 12

/** Three runs whose agents move their place along; the last one also declares it, and changes a price. */
async function recorded(data: string): Promise<void> {
  await using opened = await openLedger(readSettings({ data }, {}), silentLog)
  for (const run of RUNS) {
    const does = async (command: Command) => {
      const outcome = await opened.ledger.execute({ tenant: 'default', actor: 'alice' }, run, command, {})
      assert.ok(outcome.ok, JSON.stringify(outcome))
    }
    await does({ kind: 'start', body: { id: run, name: 'tour' } })
    for (let step = 0; step < STEPS; step++) {
      const payload = { tour: { at: `stop ${(step * 7) % 11}`, price: run === 'r3' && step > 8 ? 12 : 10 } }
      const moves = [{ path: '/tour/at', as: 'cursor', reason: 'where the van is' }]
      await does({ kind: 'envelope', body: { agent: 'driver', payload, ...(run === 'r3' && step === 0 && { moves }) } })
    }
  }
}

test('policy learn, adopt and try: what moves is proposed, taken into a file, and tried on what is recorded (JUD-47, JUD-48)', async () => {
  using folder = tempFolder()
  const data = join(folder.path, '.countersign')
  const [file, lines] = [join(folder.path, 'policy.json'), join(folder.path, 'handoffs.jsonl')]
  await recorded(data)
  const run = (...args: readonly string[]) => runInProcess(['policy', ...args, '--data', data])
  const rows = (text: string) => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))

  const learned = await run('learn', ...RUNS)
  assert.equal(rows(learned.stdout), [{ path: '/tour/at', as: 'cursor', order: null, changes: 33, runs: 3 }])
  assert.match(learned.stderr, /36 handoffs of 3 runs: 1 places that move/)

  assert.is((await run('adopt', 'r1')).code, 2)
  const declared = { path: '/tour/at', as: 'cursor', reason: 'where the van is' }
  assert.equal(rows((await run('adopt', 'r3')).stdout), [{ moves: [declared] }])
  writeFileSync(file, JSON.stringify({ tenants: { default: { suspect: 'refuse' } } }))
  assert.is((await run('adopt', 'r3', '--into', file)).code, 2)
  assert.is((await run('adopt', 'r3', '--into', file, '--for', 'default')).code, 0)
  const again = await run('learn', ...RUNS, '--into', file, '--for', 'default')
  assert.match(again.stderr, /0 places that move were added; 1 places of it have a kind already/)
  assert.equal(JSON.parse(readFileSync(file, 'utf8')), {
    tenants: { default: { suspect: 'refuse', moves: [declared] } },
  })

  const tried = await run('try', file, ...RUNS)
  assert.is(tried.code, 0)
  assert.equal(
    rows(tried.stdout).map((row) => [row.run, row.was, row.verdict, row.rule, row.path]),
    [['r3', 'accepted', 'suspect', 'contradicted', '/tour/price']],
  )
  assert.match(tried.stderr, /36 handoffs of 3 runs: 1 refused, 1 with a suspect/)

  // The run that declared its place itself is refused for the price alone.
  writeFileSync(file, JSON.stringify({ suspect: 'refuse' }))
  const strict = await run('try', file)
  assert.match(strict.stderr, /36 handoffs of 3 runs: 23 refused/)

  writeFileSync(
    lines,
    [{ before: { n: 1 }, after: { n: 2 } }, { before: 1 }].map((each) => JSON.stringify(each)).join('\n'),
  )
  const wrong = await run('learn', lines)
  assert.equal([wrong.code, /line 2: is no object/.test(wrong.stderr)], [2, true])
})

test.run()
