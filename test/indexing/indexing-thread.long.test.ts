import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readCheckpoint } from '../../src/ledger/log/read-checkpoint.ts'
import { parseVerifierKey } from '../../src/merkle/note-key.ts'
import { readKeyFile, replaceKeyFile } from '../../src/signing/key-file.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { askAll } from '../support/audited.ts'
import { countersign } from '../support/command-line.ts'
import { addRuns, indexingSettings, openWithIndexing, programBefore } from '../support/indexing.ts'
import { rotated, rotatedLogKey } from '../support/key-rotation.ts'
import { collect } from '../support/records.ts'
import { drive } from '../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'
import { eventually } from '../support/within.ts'

const test = suite('the thread that follows the store')

const FILES = ['views.db', 'log.db', 'audit.db']

async function listed({ ledger }: OpenLedger): Promise<readonly string[]> {
  const { items } = await ledger.listRuns(alice, { limit: 200 })
  return items.map(({ runId }) => String(runId)).sort()
}

/** What is answered from the files, of the runs alone: reading puts events of its own on record. */
async function answers(opened: OpenLedger): Promise<unknown> {
  const { ledger } = opened
  const { items: runs } = await ledger.listRuns(alice, { limit: 200 })
  await ledger.logs?.publish()
  const ids = await Promise.all(runs.map(({ runId }) => drive(opened, String(runId)).events()))
  return {
    runs,
    events: await askAll(ledger, 'events', {
      filter: { types: ['RunStarted', 'EnvelopeAccepted', 'ToolCallSucceeded'] },
    }),
    spend: await askAll(ledger, 'spend'),
    leaves: ids.flat().map(({ header }) => ledger.logs?.leafIndex(alice.tenant, header.id)),
  }
}

/** Connections of this thread to the files; each is met when it prepares its first statement. */
async function connections(work: () => Promise<void>): Promise<readonly { name: string; db: Sqlite.Database }[]> {
  const met = new Set<Sqlite.Database>()
  const { prepare } = Sqlite.prototype
  Sqlite.prototype.prepare = function (this: Sqlite.Database, ...sql: Parameters<typeof prepare>) {
    met.add(this)
    return prepare.apply(this, sql)
  } as typeof prepare
  try {
    await work()
  } finally {
    Sqlite.prototype.prepare = prepare
  }
  return [...met].flatMap((db) => FILES.filter((file) => db.name.endsWith(`/${file}`)).map((name) => ({ name, db })))
}

test('once the thread has the files, the one that writes the store has no connection left that can write them (RUN-86)', async () => {
  using folder = tempFolder()
  let opened: OpenLedger | undefined
  const met = await connections(async () => {
    opened = await openWithIndexing(folder.file('data'))
    await addRuns(opened, 3)
    await opened.ledger.logs?.publish()
    await answers(opened)
  })
  assert.ok(opened)
  await using _ = opened
  const open = met.filter(({ db }) => db.open)
  assert.equal(
    open.filter(({ db }) => !db.readonly),
    [],
    'none that can write is open',
  )
  assert.equal(open.map(({ name }) => name).sort(), [...FILES].sort(), 'they are read beside the thread')
  assert.is(met.filter(({ db }) => !db.readonly).length, 3, 'the start looks at them itself')
  assert.is(opened.indexing?.stats().threads, 1)
})

test('whoever reads after an acknowledged write sees it: in the list, in the index and in the log (RUN-87)', async () => {
  using folder = tempFolder()
  await using opened = await openWithIndexing(folder.file('data'))
  const { ledger } = opened
  for (let n = 0; n < 12; n += 1) {
    const run = drive(opened, `r${n}`)
    await run.start()
    await run.hand('a', { note: `n${n}` })
    const [list, events, tree] = await Promise.all([
      listed(opened),
      askAll(ledger, 'events', { filter: { run: `r${n}` } }),
      ledger.logs?.treeAt(alice.tenant, (await ledger.end()) ?? ''),
    ])
    assert.ok(list.includes(`r${n}`), `the list shows r${n}`)
    assert.ok(events.length >= 2, `the index has the events of r${n}`)
    const last = (await run.events()).at(-1)
    assert.is(tree?.eventId, last?.header.id, `the log ends with the last event of r${n}`)
  }
})

test('what is answered is the same, whichever thread writes the files, and a checkpoint that one signed the other goes on from (LOG-36)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const seen: unknown[] = []
  for (const [start, indexingThread] of [undefined, { startMs: 0 }, undefined, { startMs: 0 }].entries()) {
    await using opened = await openWithIndexing(data, { indexingThread })
    if (start === 0) await addRuns(opened, 4)
    if (start === 1) await addRuns(opened, 4, 's')
    if (start < 2) await opened.ledger.logs?.publish()
    const now = await answers(opened)
    if (start >= 2) assert.equal(now, seen.at(-1))
    seen.push(now)
    const checkpoints = (await collect(opened.store.readAll())).filter(({ header }) =>
      header.includes('"CheckpointSigned"'),
    )
    assert.is(new Set(checkpoints.map(({ data: body }) => body)).size, checkpoints.length)
    assert.ok(checkpoints.length >= 1)
  }
})

test('keys that are rotated while the thread signs: its checkpoints go over to the new key in order, and everything verifies (F204)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const path = `${data}/keys.json`
  {
    await using opened = await openWithIndexing(data)
    const { ledger } = opened
    await addRuns(opened, 2)
    await ledger.logs?.publish()
    const before = ledger.logs?.verifierKey(alice.tenant)
    replaceKeyFile(path, rotatedLogKey(rotated(readKeyFile(path)), ledger.origin))
    let round = 0
    const isUnderNewKey = async () => {
      round += 1
      await addRuns(opened, 1, `round${round}-`)
      await ledger.logs?.publish()
      const [key, note] = [ledger.logs?.verifierKey(alice.tenant) ?? '', ledger.logs?.checkpoint(alice.tenant)]
      const verifier = parseVerifierKey(key)
      const isSigned =
        note?.ok === true && verifier !== undefined && readCheckpoint(note.value, [verifier]) !== undefined
      return key !== before && isSigned ? true : undefined
    }
    await eventually(isUnderNewKey, 'a checkpoint under the new key')
    assert.is(ledger.logs?.state(alice.tenant).stopped, undefined)
  }
  const verified = await countersign(['verify', '--data', data])
  assert.is(verified.code, 0, verified.stdout + verified.stderr)
})

/** Ends each life of the thread after so many tasks, until a file says that it is enough; in the middle of what it was doing. */
const dying = (enough: string, tasks: number) =>
  programBefore(`
    let tasks = 0
    before = ({ kind, id }) => {
      if (kind !== 'call' || id === undefined || existsSync(${JSON.stringify(enough)}) || ++tasks < ${tasks}) return
      setImmediate(() => setImmediate(() => process.exit(3)))
    }`)

test('a thread that dies amid its work is started again, writes go on, and every file is whole (F199, RUN-88)', async () => {
  using folder = tempFolder()
  const enough = folder.file('enough')
  const warned: string[] = []
  const log = { ...silentLog, warn: (_: object, message: string) => void warned.push(message) }
  await using opened = await openWithIndexing(
    folder.file('data'),
    { indexingThread: { startMs: 0, program: dying(enough, 2) } },
    log,
  )
  for (let round = 0; round < 3; round += 1) {
    await addRuns(opened, 8, `d${round}-`)
    const refused = await Promise.allSettled([
      listed(opened),
      opened.ledger.logs?.publish(),
      askAll(opened.ledger, 'events'),
    ])
    for (const each of refused) if (each.status === 'rejected') assert.instance(each.reason, StoreUnavailableError)
  }
  assert.ok((opened.indexing?.stats().deaths ?? 0) >= 1, 'it died')
  assert.is(warned.filter((line) => line.startsWith('the thread that follows')).length, opened.indexing?.stats().deaths)
  writeFileSync(enough, '')
  const exists = async () => {
    try {
      await opened.ledger.logs?.publish()
      return await answers(opened)
    } catch (error) {
      assert.instance(error, StoreUnavailableError)
      return undefined
    }
  }
  const after = (await eventually(exists, 'the thread is back')) as { runs: unknown[] }
  assert.is(after.runs.length, 24)
  const before = JSON.stringify(after)
  await opened[Symbol.asyncDispose]()
  await using again = await openWithIndexing(folder.file('data'), { indexingThread: undefined })
  assert.is(JSON.stringify(await answers(again)), before, 'as one thread alone has it')
})

test('a thread that cannot begin leaves the files where they are: everything is answered all the same (F201)', async () => {
  using folder = tempFolder()
  const indexingThread = { startMs: 0, program: programBefore('process.exit(3)') }
  await using opened = await openLedger(indexingSettings(folder.file('data'), { indexingThread }), silentLog)
  await eventually(() => ((opened.indexing?.stats().deaths ?? 0) > 0 ? true : undefined), 'its end')
  await addRuns(opened, 1)
  await opened.ledger.logs?.publish()
  assert.is(((await answers(opened)) as { runs: unknown[] }).runs.length, 1)
  assert.is(opened.ledger.logs?.checkpoint(alice.tenant).ok, true)
  assert.is(opened.indexing?.stats().threads, 0)
})

test('one that has the files and dies of each task refuses what rests on them, with a time to come again, and nothing else (F203)', async () => {
  using folder = tempFolder()
  const program = programBefore("before = ({ kind, id }) => kind === 'call' && id !== undefined && process.exit(3)")
  await using opened = await openWithIndexing(folder.file('data'), { indexingThread: { startMs: 0, program } })
  await addRuns(opened, 1)
  for (let tries = 0; tries < 3; tries += 1) {
    const error = await listed(opened).catch((reason: unknown) => reason)
    assert.instance(error, StoreUnavailableError)
    assert.ok((error as StoreUnavailableError).retryAfterMs > 0)
  }
  await drive(opened, 'r0').hand('b', { note: 'all the same' })
  assert.is((await drive(opened, 'r0').types()).filter((type) => type === 'EnvelopeAccepted').length, 2)
})

test('a file that is found damaged by whoever reads it is rebuilt by the thread, and answered from when it is whole (F202)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const renewed: unknown[] = []
  const log = { ...silentLog, warn: (fields: object) => void renewed.push((fields as { file?: string }).file) }
  await using opened = await openWithIndexing(data, {}, log)
  await addRuns(opened, 6)
  const before = await answers(opened)
  const { ledger } = opened
  for (const file of ['views.db', 'audit.db']) {
    const path = `${data}/${file}`
    new Sqlite(path).pragma('wal_checkpoint(TRUNCATE)')
    const bytes = readFileSync(path)
    bytes.fill(0xff, 4096)
    writeFileSync(path, bytes)
    assert.equal(await answers(opened), before, file)
    assert.ok(renewed.includes(path), `${file} was rebuilt`)
  }
  assert.ok((await ledger.listRuns(alice, { limit: 1 })).items.length === 1)
})

/** A ledger of some hundred events without an index, whose thread would take the files long after the test. */
async function withoutIndex(folder: TempFolder, program?: URL): Promise<OpenLedger> {
  const data = folder.file('data')
  {
    await using opened = await openWithIndexing(data)
    await addRuns(opened, 100)
  }
  rmSync(folder.file('data/audit.db'), { force: true })
  const indexingThread = { startMs: 3_600_000, ...(program !== undefined && { program }) }
  return await openLedger(indexingSettings(data, { indexingThread }), silentLog)
}

const RUNS_STARTED = { filter: { types: ['RunStarted' as const] } }

test('an index that is far behind when it is first asked is made by the thread, which begins at once, and never by the one that writes the store (F288)', async () => {
  using folder = tempFolder()
  await using opened = await withoutIndex(folder)
  assert.is(opened.indexing?.stats().threads, 0)
  assert.is((await askAll(opened.ledger, 'events', RUNS_STARTED)).length, 100)
  assert.is(opened.indexing?.stats().threads, 1)
})

test('where the thread cannot begin, the one that writes the store makes the index all the same (F288)', async () => {
  using folder = tempFolder()
  await using opened = await withoutIndex(folder, programBefore('process.exit(1)'))
  assert.is((await askAll(opened.ledger, 'events', RUNS_STARTED)).length, 100)
  assert.is(opened.indexing?.stats().threads, 0)
})

test.run()
