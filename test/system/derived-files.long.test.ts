import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { dropViews, openLedger } from '../../src/compose/compose.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { Log } from '../../src/ledger/ports.ts'
import { readSettings } from '../../src/settings/config.ts'
import { askAll } from '../support/audited.ts'
import { tearTable } from '../support/damage.ts'
import { drive } from '../support/run-driver.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('files that follow the store, damaged')
const TORN: readonly (readonly [file: string, table: string])[] = [
  ['audit.db', 'events'],
  ['audit.db', 'events_type'],
  ['audit.db', 'progress'],
  ['views.db', 'runs'],
  ['views.db', 'runs_newest'],
  ['views.db', 'checkpoints'],
  ['views.db', 'folds'],
  ['log.db', 'logs'],
  ['log.db', 'log_streams'],
  ['log.db', 'tiles'],
  ['log.db', 'progress'],
]

interface Answers {
  readonly runs: unknown
  readonly events: unknown
  readonly spend: unknown
  readonly root: unknown
}

interface Opened extends AsyncDisposable {
  readonly ledger: Ledger
  readonly warned: readonly { readonly file?: string }[]
}

async function open(data: string, readThreads = '0'): Promise<Opened> {
  const warned: { file?: string }[] = []
  const log: Log = {
    info: () => undefined,
    warn: (fields) => void warned.push(fields as { file?: string }),
    error: (fields, message) => assert.unreachable(`${message} ${JSON.stringify(fields)}`),
  }
  const { ledger, [Symbol.asyncDispose]: close } = await openLedger(
    readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': readThreads }, {}),
    log,
  )
  return { ledger, warned, [Symbol.asyncDispose]: close }
}

async function answers(ledger: Ledger): Promise<Answers> {
  const end = await ledger.listRuns(alice, { limit: 10 })
  const tree = await ledger.logs?.treeAt('acme', end.asOf ?? '')
  return {
    runs: end,
    events: await askAll(ledger, 'events', { filter: { types: ['EnvelopeAccepted', 'UsageRecorded'] } }),
    spend: await askAll(ledger, 'spend'),
    root: tree,
  }
}

/** Whoever asks puts a read on record, so that positions differ from ask to ask; what the runs say does not. */
function comparable({ runs, events, spend }: Answers): unknown {
  return { items: (runs as { items: unknown }).items, events, spend }
}

async function seeded(data: string): Promise<Answers> {
  await using opened = await open(data)
  for (const run of ['one', 'two']) {
    const at = drive(opened, run)
    await at.start()
    for (let step = 0; step < 3; step += 1) await at.hand('a', { note: `step ${step}` })
  }
  return await answers(opened.ledger)
}

test('a torn page costs the file, which is named, and no answer, whenever it is met (F41)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const before = comparable(await seeded(data))
  for (const [file, table] of TORN) {
    tearTable(`${data}/${file}`, table)
    // Of the three it is the index that threads read.
    await using opened = await open(data, file === 'audit.db' ? '1' : '0')
    const after = await answers(opened.ledger)
    assert.equal(comparable(after), before, `${file} ${table}`)
    assert.ok(after.root !== undefined, `${file} ${table}`)
    // A page that nothing reads costs nothing.
    const named = opened.warned.map((fields) => fields.file)
    if (table !== 'folds') assert.equal(named, [`${data}/${file}`], `${file} ${table}`)
  }
})

test('a start and a rebuild go on over files that are no databases any more (F41)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const before = comparable(await seeded(data))
  const spoil = (): void => {
    for (const file of ['audit.db', 'views.db', 'log.db']) writeFileSync(`${data}/${file}`, 'torn '.repeat(4_000))
  }
  spoil()
  dropViews(readSettings({ data }, {}))
  spoil()
  await using opened = await open(data)
  assert.equal(comparable(await answers(opened.ledger)), before)
  assert.is(opened.warned.length, 3)
})

test.run()
