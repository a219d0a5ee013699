import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { openLedger } from '../../src/compose/compose.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { askAll } from '../support/audited.ts'
import { drive } from '../support/run-driver.ts'
import { rowsOf, setColumn } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('an event whose stored text is damaged')

interface Seen {
  readonly events: readonly JsonObject[]
  readonly exported: readonly string[]
}

async function look(data: string): Promise<Seen> {
  const settings = readSettings({ data, 'checkpoint-seconds': '0' }, {})
  await using opened = await openLedger(settings, silentLog)
  const events = await askAll(opened.ledger, 'events')
  let text = ''
  for await (const part of exportText(opened.ledger, alice, { format: 'jsonl' })) text += part
  return { events, exported: text.split('\n').filter((line) => line !== '') }
}

async function seed(data: string): Promise<void> {
  await using opened = await openLedger(readSettings({ data, 'checkpoint-seconds': '0' }, {}), silentLog)
  const run = drive(opened, 'r')
  await run.start()
  for (let step = 0; step < 4; step += 1) await run.hand('a', { note: `step ${step}` })
}

const place = ({ leaf, event }: JsonObject): unknown => [leaf, event]

for (const column of ['data', 'header'] as const) {
  test(`whose ${column} is no JSON any more keeps its leaf and its row, has a broken seal, and is named in an export (F46)`, async () => {
    using folder = tempFolder()
    const data = folder.file('data')
    await seed(data)
    const before = await look(data)
    const path = `${data}/store.db`
    const victim = rowsOf(path).find(({ stream, revision }) => stream === 'run-acme.r' && revision === 3)
    assert.ok(victim)
    setColumn(path, victim.position, column, victim[column].slice(0, -1))
    // Rebuilt from what the store holds now.
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${data}/audit.db${suffix}`, { force: true })
    const after = await look(data)
    const leaf = before.events.findIndex(({ run, revision }) => run === 'r' && revision === 3)
    assert.ok(leaf > 0)
    for (const [at, event] of before.events.entries()) {
      const now = after.events[at] ?? {}
      if (at !== leaf || column === 'data') assert.equal(place(now), place(event))
      assert.is(now.seal, at === leaf ? 'invalid' : 'valid', String(at))
    }
    assert.ok(after.exported.length > before.exported.length, 'nothing is left out')
    assert.ok(after.exported.at(-1)?.startsWith('{"trailer":'))
    const text = after.exported.find((line) => line.includes(JSON.stringify(victim[column].slice(0, -1))))
    assert.ok(text, 'its text is given as it is')
    if (column === 'data') assert.ok(text.startsWith(`{"header":${victim.header},`), 'under its own header')
  })
}

test.run()
