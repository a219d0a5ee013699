import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { NO_NOTES, openReader } from '../../src/compose/compose-stores.ts'
import { keysAt } from '../../src/compose/worker-parts.ts'
import { indexAhead } from '../../src/indexing/index-ahead.ts'
import { AuditProjection } from '../../src/ledger/audit/audit-projection.ts'
import { columnsOf, pageOfColumns } from '../../src/ledger/audit/page-columns.ts'
import { type PageRange, type PageToIndex, pageToIndex } from '../../src/ledger/audit/page-to-index.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { fileGuard } from '../../src/ledger/identity/file-guard.ts'
import { Sealer } from '../../src/ledger/identity/sealer.ts'
import { MemoryBudget } from '../../src/resources/memory-budget.ts'
import { readSettings } from '../../src/settings/config.ts'
import { readOnlyStore } from '../../src/store/read-only-store.ts'
import { openSqliteAudit } from '../../src/store/sqlite/sqlite-audit.ts'
import { storeOfEveryEvent } from '../support/every-event.ts'
import { addRuns, indexingSettings } from '../support/indexing.ts'
import { collect } from '../support/records.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const test = suite("indexing: the thread that reads ahead of the auditors' index")

const PROGRAM = new URL('../../programs/index-ahead-worker.js', import.meta.url)
/** More events than a page holds. */
const RUNS = 90
const TABLES = ['events', 'charges', 'spend_sums', 'states', 'foreign_streams', 'progress']

/** Members that say nothing left out. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test('hands over of every event type what the writer of the index would find out itself', async () => {
  await using store = await storeOfEveryEvent()
  const page = await collect(store.readAll())
  const [here, columns] = [pageToIndex(page), columnsOf(page)]
  if (here === undefined || columns === undefined) throw new Error('the store holds events')
  const there = pageOfColumns(structuredClone(columns))
  assert.equal(there.seen, here.seen)
  assert.is(there.records.length, page.length)
  for (const [at, { said, record, ...place }] of here.records.entries()) {
    const other = there.records[at]
    if (other === undefined) throw new Error('as many records')
    const { said: saidThere, record: recordThere, ...placeThere } = other
    assert.equal(placeThere, place)
    if (place.revision === 0 && !place.stream.startsWith('value-')) {
      assert.is(recordThere?.header, record?.header)
      assert.equal(Buffer.from(recordThere?.salt ?? []), Buffer.from(record?.salt ?? []))
    }
    if (record !== undefined && !place.stream.startsWith('value-')) assert.equal(plain(saidThere()), plain(said()))
  }
})

async function filled(folder: TempFolder): Promise<string> {
  const data = folder.file('data')
  await using opened = await openLedger(
    readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0' }, {}),
    silentLog,
  )
  await addRuns(opened, RUNS)
  return data
}

/** What lies in an index that is made now, and how many pages another thread read for it. */
async function made(data: string, path: string, readAhead?: (range: PageRange) => AsyncIterable<PageToIndex>) {
  const { keys: place, store } = indexingSettings(data)
  using keys = keysAt(place)
  using reader = await openReader(store, NO_NOTES)
  let pages = 0
  async function* counted(range: PageRange): AsyncGenerator<PageToIndex> {
    for await (const page of readAhead?.(range) ?? []) {
      pages += 1
      yield page
    }
  }
  const memory = new MemoryBudget()
  const index = openSqliteAudit({ path, guard: fileGuard(keys, 'audit') })
  const deps = { store: readOnlyStore(reader), index, sealer: new Sealer(keys, memory), memory, isAlone: true }
  await new AuditProjection({ ...deps, readAhead: readAhead && counted }).pass(() => true)
  assert.ok(await index.isAuthentic())
  const found = index.rows({ tenant: 'acme', size: index.size('acme') }, { phrases: [['run', '7']] }, {
    limit: 100,
  } as never)
  index[Symbol.dispose]()
  const db = new Sqlite(path, { readonly: true })
  const rows = TABLES.map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY 1`).raw().all())
  db.close()
  return { rows, found: found.map(({ id }) => id), pages }
}

test('the index is the same as without it, row by row and word by word', async () => {
  using folder = tempFolder()
  const data = await filled(folder)
  const { pages, ...alone } = await made(data, folder.file('alone.db'))
  assert.is(pages, 0)
  assert.ok(alone.found.length > 0)
  const lost: string[] = []
  const places = { store: join(data, 'store.db') }
  const options = { file: PROGRAM, places, onLost: (why: string) => lost.push(why), eventsMin: 1 }
  const { pages: ahead, ...both } = await made(data, folder.file('both.db'), (range) => indexAhead(options, range))
  assert.ok(ahead > 1, `${ahead} pages`)
  assert.equal(both, alone)
  assert.equal(lost, [])
})

for (const [title, code] of [
  ['before its first page', "if (message.kind === 'done') process.exit(1)"],
  ['after its first page', "if (message.kind === 'done' && said++ > 0) process.exit(1)"],
  ['without a word', "if (message.kind === 'done' && message.value === undefined) process.exit(1)"],
  ['by an error', "if (message.kind === 'done' && said++ > 0) throw new Error('of the thread')"],
] as const) {
  test(`the index lacks nothing where the thread ends ${title}`, async () => {
    using folder = tempFolder()
    const data = await filled(folder)
    const { pages: _, ...alone } = await made(data, folder.file('alone.db'))
    const text = `
      import { parentPort as port } from 'node:worker_threads'
      let said = 0
      const say = port.postMessage.bind(port)
      port.postMessage = (message) => { ${code}; say(message) }
      await import(${JSON.stringify(PROGRAM.href)})`
    const file = new URL(`data:text/javascript,${encodeURIComponent(text)}`)
    const lost: string[] = []
    const places = { store: join(data, 'store.db') }
    const options = { file, places, onLost: (why: string) => lost.push(why), eventsMin: 1 }
    const { pages: __, ...both } = await made(data, folder.file('both.db'), (range) => indexAhead(options, range))
    assert.equal(both, alone)
    assert.is(lost.length, 1)
  })
}

test('a short way is gone without a thread', async () => {
  const options = { file: new URL('file:///nowhere.js'), places: {}, onLost: () => assert.unreachable() }
  const range = { after: '100', until: '20000' }
  for await (const _ of indexAhead(options, range)) assert.unreachable()
})

test.run()
