import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { LogStartError } from '../../../src/ledger/log/log-deps.ts'
import { formatCheckpoint, parseCheckpoint } from '../../../src/merkle/checkpoint.ts'
import { noteSigner } from '../../../src/merkle/note-key.ts'
import { parseNote, signNote } from '../../../src/merkle/signed-note.ts'
import type { LedgerKeys } from '../../../src/signing/ledger-keys.ts'
import type { EventStore, ReadRecord, RecordPages } from '../../../src/store/event-store.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { openSqliteLogs } from '../../../src/store/sqlite/sqlite-log.ts'
import { rewritten } from '../../support/rewrite.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'
import { type TestLogs, testLogs } from '../../support/test-logs.ts'

const test = suite('ledger: faults and attacks on the logs')

type Bend = (record: ReadRecord) => ReadRecord

/** A store whose whole reads, and those of one place, go through `bend`, while it is set. */
function bentStore(): { readonly store: EventStore; bend: Bend | undefined; reads: number } {
  const inner = openMemoryStore()
  async function* bent(pages: RecordPages): RecordPages {
    for await (const page of pages) yield hook.bend === undefined ? page : page.map(hook.bend)
  }
  const readAll: EventStore['readAll'] = (options) => {
    hook.reads += 1
    return bent(inner.readAll(options))
  }
  const recordAt: EventStore['recordAt'] = async (position) => {
    hook.reads += 1
    const record = await inner.recordAt(position)
    return record === undefined || hook.bend === undefined ? record : hook.bend(record)
  }
  const store = new Proxy(inner, {
    get: (target, name) => {
      if (name === 'readAll') return readAll
      if (name === 'recordAt') return recordAt
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const hook = { store, bend: undefined as Bend | undefined, reads: 0 }
  return hook
}

const flipHeader: Bend = (record) =>
  record.revision === 3 ? { ...record, header: record.header.replace('tester', 'tesuer') } : record
const flipBody: Bend = (record) =>
  record.revision === 3 ? { ...record, data: record.data.replace('step', 'stfp') } : record

for (const [what, bend, handoffs] of [
  ['header', flipHeader, 3],
  ['body', flipBody, 3],
  ['header of many', flipHeader, 40],
  ['body of many', flipBody, 40],
] as const) {
  test(`a bit of a ${what} that flips between reading and signing is not signed, but told; the next turn signs (F9)`, async () => {
    const hook = bentStore()
    await using at = await testLogs({ store: hook.store })
    await at.fill('acme', 'one', handoffs)
    const first = hook.reads + 1
    hook.bend = (record) => (hook.reads > first ? bend(record) : record)
    await at.logs.publish()
    assert.not(at.logs.checkpoint('acme').ok)
    assert.is(at.ledger.stats().coveredAtMs, undefined, 'events lie beyond every checkpoint')
    assert.is(
      at.lines.filter(({ level, message }) => level === 'error' && message.includes('nothing is signed')).length,
      1,
    )
    hook.bend = undefined
    await at.logs.publish()
    assert.ok(at.logs.checkpoint('acme').ok)
    assert.type(at.ledger.stats().coveredAtMs, 'number')
  })
}

test('a bit that flips on the way to the projection stops nothing: the record is read once more (F9)', async () => {
  const hook = bentStore()
  await using at = await testLogs({ store: hook.store })
  await at.fill('acme', 'one', 3)
  hook.bend = flipHeader
  const reads = hook.reads
  hook.bend = (record) => (hook.reads === reads + 1 ? flipHeader(record) : record)
  await at.logs.publish()
  assert.equal(at.logs.state('acme'), { size: 8, published: 7, witnesses: [] })
})

test('hashes that were altered beside the store are never signed (LOG-7)', async () => {
  const folder = tempFolder()
  await using at = await testLogs({ folder: folder.path })
  await at.fill('acme', 'one', 3)
  await at.logs.publish()
  const tile = at.logs.tile('acme', { level: 0, index: 0, width: 7 })
  await at.ledger[Symbol.asyncDispose]()
  const { progress } = { progress: at.logStore.progress() }
  const log = at.logStore.log('acme')
  if (tile === undefined || progress === undefined || log === undefined) throw new Error('nothing there')
  const hashes = Uint8Array.from(Buffer.concat([tile, tile.subarray(0, 32)]))
  hashes[5] = (hashes[5] ?? 0) ^ 1
  const tiles = [{ tenant: 'acme', level: 0, index: 0, hashes }]
  at.logStore.save({ logs: [log], streams: [], leaves: [], tiles, progress }, progress.position)
  await using again = await testLogs({ store: at.store, logStore: at.logStore, keys: at.keys, folder: folder.path })
  await again.fill('acme', 'two', 1)
  await again.logs.publish()
  // The look back at the start saw it and made the hashes anew from the store.
  assert.equal(
    at.renewals.map(({ reason }) => reason),
    ['the log does not agree with the checkpoints'],
  )
  assert.ok(again.logs.checkpoint('acme').ok)
  await again[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

test('a start that reads the whole store before anything is served says so; one that does not is silent', async () => {
  using folder = tempFolder()
  await using at = await testLogs({ folder: folder.path })
  await at.fill('acme', 'one', 3)
  await at.logs.publish()
  await at.ledger[Symbol.asyncDispose]()
  const told = ({ lines }: TestLogs) => lines.filter(({ message }) => message.includes('before anything is served'))
  const same = { store: at.store, keys: at.keys, folder: folder.path }
  await using again = await testLogs({ ...same, logStore: at.logStore })
  assert.equal(told(again), [])
  await again.ledger[Symbol.asyncDispose]()
  await using anew = await testLogs({ ...same, logStore: openSqliteLogs({ path: ':memory:' }) })
  assert.is(told(anew).length, 1)
  assert.equal(anew.logs.state('acme'), again.logs.state('acme'))
})

interface Site extends Disposable {
  readonly folder: TempFolder
  readonly keys: LedgerKeys
}

const FILES = ['store.db', 'log.db'] as const

/** A ledger that published, was copied, went on and published again, and is closed now. */
async function siteWithOldCopy(): Promise<Site> {
  const folder = tempFolder()
  await using first = await testLogs({ folder: folder.path })
  await first.fill('acme', 'one', 3)
  await first.logs.publish()
  const { keys } = first
  await first[Symbol.asyncDispose]()
  for (const name of FILES) copyFileSync(folder.file(name), folder.file(`${name}.old`))
  await using second = await testLogs({ folder: folder.path, keys })
  await second.fill('acme', 'two', 3)
  await second.logs.publish()
  return { folder, keys, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

function restore({ folder }: Site, names: readonly (typeof FILES)[number][]): void {
  for (const name of names) {
    for (const suffix of ['-wal', '-shm']) rmSync(folder.file(`${name}${suffix}`), { force: true })
    copyFileSync(folder.file(`${name}.old`), folder.file(name))
  }
}

/** `way`: what the refusal tells to do where the newer store is lost for good. */
async function refusedCode(folder: TempFolder, keys: LedgerKeys, way = 'store.db.checkpoints'): Promise<string> {
  try {
    await using _ = await testLogs({ folder: folder.path, keys })
    return 'started'
  } catch (error) {
    if (!(error instanceof LogStartError)) throw error
    assert.ok(error.message.includes(way), error.message)
    return error.code
  }
}

for (const names of [['store.db'], ['store.db', 'log.db']] as const) {
  test(`${names.join(' and ')} put back from an old copy: the start is refused before anything is appended (F11, LOG-8)`, async () => {
    using site = await siteWithOldCopy()
    restore(site, names)
    const before = readFileSync(site.folder.file('store.db'))
    // The newer log.db knows which events are gone.
    const way = names.length === 1 ? 'countersign losses acknowledge --all' : 'store.db.checkpoints'
    assert.is(await refusedCode(site.folder, site.keys, way), 'store-behind-checkpoint')
    assert.ok(readFileSync(site.folder.file('store.db')).equals(before))
    // Whoever has lost the newer store for good says so by moving the file away.
    rmSync(site.folder.file('store.db.checkpoints'))
    assert.is(await refusedCode(site.folder, site.keys), 'started')
  })
}

test('an unharmed store starts, with its log, without its log, and with an older log', async () => {
  using site = await siteWithOldCopy()
  assert.is(await refusedCode(site.folder, site.keys), 'started')
  restore(site, ['log.db'])
  assert.is(await refusedCode(site.folder, site.keys), 'started')
  rmSync(site.folder.file('log.db'))
  assert.is(await refusedCode(site.folder, site.keys), 'started')
  writeFileSync(site.folder.file('log.db'), 'this is no database')
  for (const suffix of ['-wal', '-shm']) rmSync(site.folder.file(`log.db${suffix}`), { force: true })
  assert.is(await refusedCode(site.folder, site.keys), 'started')
})

test('a store whose log file was deleted under it holds less than was signed: the start is refused (F10)', async () => {
  using folder = tempFolder()
  using crashed = tempFolder()
  await using at = await testLogs({ folder: folder.path })
  await at.fill('acme', 'one', 3)
  await at.logs.publish()
  // As a crash leaves them: the newest events are in the -wal file alone, and that one is gone.
  for (const name of ['store.db', 'log.db', 'log.db-wal', 'store.db.checkpoints'])
    copyFileSync(folder.file(name), crashed.file(name))
  assert.is(await refusedCode(crashed, at.keys), 'store-behind-checkpoint')
})

test('checkpoints that could not be kept are kept at a later turn, or by the next process (F43)', async () => {
  using folder = tempFolder()
  const path = folder.file('store.db.checkpoints')
  // Nothing can take the place of a folder that holds something.
  const block = (): void => {
    mkdirSync(path)
    writeFileSync(join(path, 'full'), '')
  }
  const unblock = (): void => rmSync(path, { recursive: true })
  const isKept = (note: string): boolean => readFileSync(path, 'utf8').includes(JSON.stringify(note))
  const lastNote = ({ logs }: TestLogs): string => {
    const checkpoint = logs.checkpoint('acme')
    return checkpoint.ok ? checkpoint.value : 'none'
  }
  const at = await testLogs({ folder: folder.path })
  const told = (level: string): number => at.lines.filter((line) => line.level === level).length
  await at.fill('acme', 'one', 1)
  block()
  await at.logs.publish()
  await at.logs.publish()
  assert.equal([told('error'), told('info')], [1, 0])
  unblock()
  await at.logs.publish()
  assert.equal([told('error'), told('info')], [1, 1])
  assert.ok(isKept(lastNote(at)))

  await at.fill('acme', 'two', 1)
  unblock()
  block()
  await at.logs.publish()
  const note = lastNote(at)
  await at[Symbol.asyncDispose]()
  unblock()
  await using again = await testLogs({ folder: folder.path, keys: at.keys })
  await again.logs.publish()
  assert.ok(isKept(note))
})

test('a damaged or foreign file of kept checkpoints is not passed over', async () => {
  using site = await siteWithOldCopy()
  const path = site.folder.file('store.db.checkpoints')
  const text = readFileSync(path, 'utf8')
  for (const wrong of ['', '{', text.replace('"v": 1', '"v": 2'), text.replace(/acme\\n\d+\\n/, 'acme\\n999\\n')]) {
    assert.not.equal(wrong, text)
    writeFileSync(path, wrong)
    assert.is(await refusedCode(site.folder, site.keys), 'kept-checkpoints-damaged')
  }
})

test('a kept checkpoint of the size and root of a recorded one that differs in another line is another history: the start is refused, also behind later ones (A370)', async () => {
  using site = await siteWithOldCopy()
  const path = site.folder.file('store.db.checkpoints')
  const text = readFileSync(path, 'utf8')
  const filed = JSON.parse(text) as { checkpoints: Record<string, string> }
  const kept = parseCheckpoint(parseNote(filed.checkpoints.acme ?? '')?.text ?? '')
  if (kept === undefined) throw new Error('nothing was kept')
  const signer = noteSigner(kept.origin, site.keys.checkpointKey)
  const other = signNote(formatCheckpoint({ ...kept, extensions: [] }), [signer])
  const forked = JSON.stringify({ ...filed, checkpoints: { ...filed.checkpoints, acme: other } }, null, 2)
  writeFileSync(path, forked)
  assert.is(await refusedCode(site.folder, site.keys), 'history-rewritten')
  writeFileSync(path, text)
  await using at = await testLogs({ folder: site.folder.path, keys: site.keys })
  await at.fill('acme', 'three', 2)
  await at.logs.publish()
  await at[Symbol.asyncDispose]()
  writeFileSync(path, text)
  assert.is(await refusedCode(site.folder, site.keys), 'started')
  writeFileSync(path, forked)
  assert.is(await refusedCode(site.folder, site.keys), 'history-rewritten')
})

test('a history rewritten with the HMAC key contradicts the checkpoints on record: nothing is signed on top of it (A31)', async () => {
  await using at = await testLogs()
  await at.fill('acme', 'one', 3)
  await at.logs.publish()
  await using forged = await rewritten(at.store, at.keys, openMemoryStore(), { checkpoints: 'kept' })
  using fresh = openSqliteLogs({ path: ':memory:' })
  await using after: TestLogs = await testLogs({ store: forged, logStore: fresh, keys: at.keys })
  await after.fill('acme', 'two', 1)
  await after.logs.publish()
  assert.is(after.logs.state('acme').stopped, 'checkpoint-mismatch')
  assert.not(after.logs.checkpoint('acme').ok)
})

test('a history rewritten with the HMAC key, checkpoints left out, is refused by the kept checkpoint (A31)', async () => {
  using folder = tempFolder()
  await using at = await testLogs({ folder: folder.path })
  await at.fill('acme', 'one', 3)
  await at.logs.publish()
  await using forged = await rewritten(at.store, at.keys, openMemoryStore())
  using fresh = openSqliteLogs({ path: ':memory:' })
  try {
    await using _ = await testLogs({ store: forged, logStore: fresh, keys: at.keys, folder: folder.path })
    assert.unreachable('it must not start')
  } catch (error) {
    assert.is(error instanceof LogStartError ? error.code : error, 'history-rewritten')
  }
})

test.run()
