import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { openReadingLedger, type ReadingOptions } from '../../src/compose/compose-reading.ts'
import { tilesForReading } from '../../src/compose/compose-tiles.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'
import { NOT_AUTHENTIC } from '../../src/store/derived-file.ts'
import { askAll } from '../support/audited.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('system: questions without a server rest on the files of the ledger')

const RUNS = 12

const settingsOf = (folder: TempFolder, name = 'data'): Settings =>
  readSettings({ data: folder.file(name), 'checkpoint-seconds': '0' }, {})

async function handOver(ledger: Ledger, run: string): Promise<void> {
  const at = drive({ ledger }, run)
  await at.start()
  await at.hand('a', { facts: { revenue: 500 } }, { tokens: 40 })
  await at.hand('b', { facts: { revenue: 600 } }, { tokens: 2 })
}

/** A ledger of some runs, asked once, so that its files are at the end of the store, and closed. */
async function seed(settings: Settings): Promise<void> {
  await using opened = await openLedger(settings, silentLog)
  for (let n = 0; n < RUNS; n += 1) await handOver(opened.ledger, `run-${n}`)
  await answers(opened.ledger)
}

async function answers(ledger: Ledger): Promise<unknown> {
  return {
    runs: (await ledger.listRuns(alice, { limit: 100 })).items,
    spend: await askAll(ledger, 'spend'),
    events: await askAll(ledger, 'events', {}),
    open: await askAll(ledger, 'open-calls'),
    population: await askAll(ledger, 'runs'),
  }
}

interface Reading {
  readonly found: unknown
  /** Records that passes over the store read. */
  readonly read: number
  readonly leftAside: readonly string[]
}

async function read(settings: Settings, options: Partial<ReadingOptions> = {}): Promise<Reading> {
  let records = 0
  const leftAside: string[] = []
  const onRead = (count: number): void => {
    records += count
  }
  const onLeftAside = (why: string): void => void leftAside.push(why)
  await using opened = await openReadingLedger(settings, { onRead, onLeftAside, ...options })
  return { found: await answers(opened.ledger), read: records, leftAside }
}

/** Of everything in the data folder: names, sizes, times and bytes. */
const stateOf = (folder: TempFolder): unknown =>
  readdirSync(folder.file('data'))
    // Whoever reads a file in use shares its memory.
    .filter((name) => !name.endsWith('-shm') && !name.endsWith('-wal'))
    .map((name) => {
      const { size, mtimeMs } = statSync(folder.file(`data/${name}`))
      return { name, size, mtimeMs, bytes: readFileSync(folder.file(`data/${name}`)).toString('base64') }
    })

/** A place for copies that no other test uses. */
function ownTemporaryFolder(folder: TempFolder): { readonly copies: () => readonly string[] } & Disposable {
  const before = process.env.TMPDIR
  const path = folder.file('tmp')
  mkdirSync(path)
  process.env.TMPDIR = path
  return {
    copies: () => readdirSync(path),
    [Symbol.dispose]: () => {
      if (before === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = before
    },
  }
}

test('a question reads no event that the ledger has indexed, and answers what the whole store says; nothing is written (F150)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  await seed(settings)
  const before = stateOf(folder)
  const whole = await read(settings, { trustNothing: true })
  const short = await read(settings)
  assert.equal(short.found, whole.found)
  assert.is(short.read, 0)
  assert.ok(whole.read >= 2 * RUNS, `${whole.read}`)
  assert.equal(short.leftAside, [])
  assert.equal(stateOf(folder), before)
})

test('beside a ledger that goes on, only what is new is read, into a copy that goes with the question (F150)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  await seed(settings)
  using own = ownTemporaryFolder(folder)
  await using opened = await openLedger(settings, silentLog)
  await handOver(opened.ledger, 'later')
  const short = await read(settings)
  const whole = await read(settings, { trustNothing: true })
  assert.equal(short.found, whole.found)
  // The run list and the index each read the later run, and what the start of the ledger put on record.
  assert.ok(short.read <= 2 * 5 && whole.read > 4 * short.read, `${short.read} of ${whole.read}`)
  assert.equal(own.copies(), [])
})

test('beside an owner who brings the index further than the store was at the question, the answer is as of there, and nothing is read or copied (F287)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  await seed(settings)
  using own = ownTemporaryFolder(folder)
  await using opened = await openLedger(settings, silentLog)
  let records = 0
  const onRead = (count: number): void => {
    records += count
  }
  const leftAside: string[] = []
  const onLeftAside = (why: string): void => void leftAside.push(why)
  await using asking = await openReadingLedger(settings, { onRead, onLeftAside })
  await handOver(opened.ledger, 'later')
  await answers(opened.ledger)
  const found = await askAll(asking.ledger, 'events', { filter: { run: 'later' } })
  assert.ok(found.length > 0)
  assert.equal([records, own.copies(), leftAside], [0, [], []])
  await using whole = await openReadingLedger(settings, { onRead: () => undefined, trustNothing: true })
  assert.equal(found, await askAll(whole.ledger, 'events', { filter: { run: 'later' } }))
})

const FORGERIES: readonly (readonly [file: string, sql: string])[] = [
  ['audit.db', `UPDATE charges SET tokens = 0`],
  ['audit.db', `DELETE FROM events WHERE leaf = 3`],
  ['audit.db', `UPDATE progress SET position = position - 1`],
  ['audit.db', `UPDATE seal SET mac = 'k.forged'`],
  ['views.db', `UPDATE runs SET status = 'completed'`],
  ['views.db', `DELETE FROM runs WHERE run_id = 'run-1'`],
]

test('no answer rests on a file that somebody else wrote to: it is named and left aside (A210)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  for (const [file, sql] of FORGERIES) {
    for (const name of readdirSync(folder.path)) rmSync(folder.file(name), { recursive: true })
    await seed(settings)
    const path = folder.file(`data/${file}`)
    const { atime, mtime } = statSync(path)
    const db = new Sqlite(path)
    assert.ok(db.prepare(sql).run().changes > 0, sql)
    db.close()
    // As if nothing had been written: the time of change is not the forger's to set.
    utimesSync(path, atime, mtime)
    const short = await read(settings)
    const { found } = await read(settings, { trustNothing: true })
    assert.equal(short.found, found, sql)
    assert.ok(short.read > 0, sql)
    if (!sql.includes('progress')) assert.equal(short.leftAside, [`${file}: ${NOT_AUTHENTIC}`], sql)
  }
})

test('a file that vouches for itself under another key, is cut, or comes from elsewhere vouches for nothing (A210)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  await seed(settings)
  const { found } = await read(settings, { trustNothing: true })
  const note = folder.file('data/audit.db.sealed')
  const own = readFileSync(note)
  await seed(settingsOf(folder, 'other'))
  const flipped = Buffer.from(own)
  flipped[20] = (flipped[20] ?? 0) ^ 1
  const forged = [
    readFileSync(folder.file('other/audit.db.sealed')),
    readFileSync(folder.file('data/views.db.sealed')),
    own.subarray(0, 27),
    Buffer.alloc(0),
    Buffer.alloc(1 << 20),
    flipped,
  ]
  for (const bytes of forged) {
    writeFileSync(note, bytes)
    const short = await read(settings)
    assert.equal(short.found, found)
    // The rows themselves are whole: they are read, and the store is not.
    assert.equal([short.read, short.leftAside], [0, []])
  }
})

test("another store's files, and those of a newer copy, say nothing of this store (A210)", async () => {
  using folder = tempFolder()
  await seed(settingsOf(folder))
  await seed(settingsOf(folder, 'other'))
  const elsewhere = readSettings(
    { data: folder.file('other'), store: folder.file('data/store.db'), keys: folder.file('data/keys.json') },
    {},
  )
  const { found } = await read(settingsOf(folder), { trustNothing: true })
  const short = await read(elsewhere)
  assert.equal([short.found, short.leftAside], [found, []])
  assert.ok(short.read >= 2 * RUNS)
})

test('a proof is made from the log and one event, and is the one that the whole store gives; a forged log changes none (F150, A210)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  const ids: string[] = []
  {
    await using opened = await openLedger(settings, silentLog)
    for (let n = 0; n < RUNS; n += 1) await handOver(opened.ledger, `run-${n}`)
    await opened.ledger.logs?.publish()
    ids.push(...(await drive(opened, 'run-3').events()).map(({ header }) => header.id))
  }
  const place = ['--data', folder.file('data'), '--tenant', alice.tenant]
  const proofOf = async (id: string, ...more: readonly string[]) => {
    const { code, stdout, stderr } = await runInProcess(['proof', id, ...place, ...more])
    assert.equal([code, stderr], [0, ''])
    return stdout
  }
  const proofs = await Promise.all(ids.map((id) => proofOf(id, '--trust-nothing')))
  const known: boolean[] = []
  for await (const tiles of tilesForReading(settings, () => undefined)) {
    known.push(tiles.leafOf(alice.tenant, ids[0] ?? '') !== undefined)
  }
  assert.equal(known, [true], 'the log is there to be used')
  assert.equal(await Promise.all(ids.map((id) => proofOf(id))), proofs)
  const log = readFileSync(folder.file('data/log.db'))
  const forgeries = [
    `UPDATE leaves SET idx = idx + 100 WHERE idx > 3`,
    `UPDATE leaves SET revision = 0`,
    `UPDATE tiles SET hashes = zeroblob(length(hashes))`,
    `UPDATE tiles SET hashes = x'00'`,
    `DELETE FROM tiles`,
    `DELETE FROM leaves`,
    `DROP TABLE tiles`,
  ]
  for (const sql of forgeries) {
    const db = new Sqlite(folder.file('data/log.db'))
    db.prepare(sql).run()
    db.close()
    assert.equal(await Promise.all(ids.map((id) => proofOf(id))), proofs, sql)
  }
  const file = folder.file('data/log.db')
  writeFileSync(file, log.fill(0xa5, log.length / 4))
  assert.equal(await Promise.all(ids.map((id) => proofOf(id))), proofs, 'pages are damaged')
  writeFileSync(file, 'no database')
  assert.is(await proofOf(ids[0] ?? ''), proofs[0])
  const absent = await runInProcess(['proof', '00000000-0000-7000-8000-000000000000', ...place])
  assert.is(absent.code, 3)
})

test('after `keys rotate` on a ledger that is stopped every answer is as before, and says why the whole store is read (RUN-185)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  await seed(settings)
  const before = await read(settings)
  assert.equal(before.leftAside, [])
  const place = ['--data', folder.file('data'), '--tenant', alice.tenant, '--json']
  const spent = await runInProcess(['audit', 'spend', ...place])
  assert.is((await runInProcess(['keys', 'rotate', '--data', folder.file('data')])).code, 0)
  const after = await read(settings)
  assert.equal(after.found, before.found)
  assert.equal([...after.leftAside].sort(), [`audit.db: ${NOT_AUTHENTIC}`, `views.db: ${NOT_AUTHENTIC}`])
  const again = await runInProcess(['audit', 'spend', ...place])
  assert.equal([again.code, again.stdout], [0, spent.stdout])
  assert.match(
    again.stderr,
    /^countersign: audit\.db: .*a key that was rotated away: the whole store is read instead$/m,
  )
})

test('`--trust-nothing` reads the whole store; a forged file is named on stderr, and the answer is right (A210)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  await seed(settings)
  const db = new Sqlite(folder.file('data/views.db'))
  db.prepare(`UPDATE runs SET status = 'completed'`).run()
  db.close()
  const place = ['--data', folder.file('data'), '--tenant', alice.tenant, '--json']
  const plain = await runInProcess(['runs', 'list', ...place])
  const strict = await runInProcess(['runs', 'list', '--trust-nothing', ...place])
  assert.is(plain.code, 0)
  assert.is(plain.stderr, `countersign: views.db: ${NOT_AUTHENTIC}: the whole store is read instead\n`)
  assert.equal([strict.code, strict.stderr, strict.stdout], [0, '', plain.stdout])
  assert.ok(plain.stdout !== '' && !plain.stdout.includes('completed'))
  const remote = await runInProcess(['runs', 'list', '--trust-nothing', '--url', 'http://127.0.0.1:1', '--token', 't'])
  assert.is(remote.code, 2)
})

test.run()
