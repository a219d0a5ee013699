import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { openReadingLedger, type ReadingOptions } from '../../src/compose/compose-reading.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'
import { auditOf } from '../support/audited.ts'
import { drive } from '../support/run-driver.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('questions that trust none of the files')

const TMPDIR = 'TMPDIR'
const kept = process.env[TMPDIR]
test.after.each(() => {
  if (kept === undefined) delete process.env[TMPDIR]
  else process.env[TMPDIR] = kept
})

async function seeded(data: string): Promise<Settings> {
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
  await using opened = await openLedger(settings, silentLog)
  const run = drive(opened, 'r')
  await run.start()
  for (let step = 0; step < 20; step += 1) await run.hand('a', { note: `step ${step}` })
  return settings
}

interface Asked {
  readonly rows: number
  /** What lies in the folder for what is temporary, while the ledger is open. */
  readonly files: ReadonlyMap<string, number>
  readonly leftAside: readonly string[]
}

async function asked(settings: Settings, temporary: string, more: Partial<ReadingOptions> = {}): Promise<Asked> {
  const leftAside: string[] = []
  const options = { onRead: () => undefined, onLeftAside: (why: string) => void leftAside.push(why) }
  process.env[TMPDIR] = temporary
  await using reading = await openReadingLedger(settings, { ...options, trustNothing: true, ...more })
  const page = await auditOf(reading.ledger).ask(alice, { name: 'events', filter: {} }, { limit: 100 })
  assert.ok(page.ok)
  return { rows: page.ok ? page.items.length : 0, files: filesBelow(temporary), leftAside }
}

function filesBelow(folder: string): Map<string, number> {
  if (!statSync(folder).isDirectory()) return new Map()
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  return new Map(found.map(({ name, parentPath, path }) => [name, statSync(join(parentPath ?? path, name)).size]))
}

test('a question makes the file that it needs and no other one, however long it takes (F289)', async () => {
  using folder = tempFolder()
  const settings = await seeded(folder.file('data'))
  const temporary = folder.file('temporary')
  mkdirSync(temporary)
  process.env[TMPDIR] = temporary
  const { setInterval: real } = globalThis
  const lulls: (() => void)[] = []
  globalThis.setInterval = ((work: () => void, ms?: number) => {
    lulls.push(work)
    return real(work, ms)
  }) as typeof real
  try {
    await using reading = await openReadingLedger(settings, { onRead: () => undefined, trustNothing: true })
    const page = await auditOf(reading.ledger).ask(alice, { name: 'events', filter: {} }, { limit: 1 })
    assert.ok(page.ok)
    // Quiet twice in a row: what follows the store by itself would begin now.
    for (const lull of [...lulls, ...lulls]) lull()
    for (let turn = 0; turn < 50; turn += 1) await nextTurn()
    assert.equal(
      [...filesBelow(temporary).keys()].filter((name) => name.endsWith('.db')),
      ['audit.db'],
    )
  } finally {
    globalThis.setInterval = real
  }
})

test('an index that is made from the whole store lies on the disk, not in memory, and goes with its process (F214)', async () => {
  using folder = tempFolder()
  const settings = await seeded(folder.file('data'))
  const temporary = folder.file('temporary')
  mkdirSync(temporary)
  const { rows, files, leftAside } = await asked(settings, temporary)
  assert.ok(rows > 20)
  assert.ok((files.get('audit.db') ?? 0) + (files.get('audit.db-wal') ?? 0) > 10_000, [...files].join(' '))
  assert.equal(leftAside, [])
  assert.equal(readdirSync(temporary), [], 'nothing is left')
})

test('where nothing temporary can be written it is made in memory, which is said (F214)', async () => {
  using folder = tempFolder()
  const settings = await seeded(folder.file('data'))
  const temporary = folder.file('no-folder')
  writeFileSync(temporary, '')
  const { rows, leftAside } = await asked(settings, temporary)
  assert.ok(rows > 20)
  assert.is(leftAside.length, 1)
  assert.match(leftAside[0] ?? '', /audit\.db is made in memory/)
})

test.run()
