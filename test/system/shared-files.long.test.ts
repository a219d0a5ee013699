import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { createLedger } from '../../src/ledger/create-ledger.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { fileGuard, logFileGuard } from '../../src/ledger/identity/file-guard.ts'
import { readSettings } from '../../src/settings/config.ts'
import { fixedKeys, requireKeys } from '../../src/settings/key-source.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { openPostgresCopies } from '../../src/store/postgres/postgres-copies.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { openSqliteAudit } from '../../src/store/sqlite/sqlite-audit.ts'
import { openSqliteLogs } from '../../src/store/sqlite/sqlite-log.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import { countersign } from '../support/command-line.ts'
import { answers, FILES, handOver, runNames, type SharedPlace, sharedPlace } from '../support/shared-files.ts'
import { wrapStore } from '../support/wrap-store.ts'

const test = suite('processes on one PostgreSQL share the files that follow the store')

const RUNS = 30

interface Opened {
  readonly found: unknown
  /** Records that passes over the whole store read. */
  readonly read: number
  readonly root: unknown
}

/** A process on this data folder, as it would start: how much of the store it reads, and what it answers. */
async function startOn({ url, folder }: SharedPlace, data: string): Promise<Opened> {
  let read = 0
  await using store = await openPostgresStore({ url })
  const counting: EventStore = wrapStore(store, {
    async *readAll(options: Parameters<EventStore['readAll']>[0]) {
      for await (const page of store.readAll(options)) {
        read += page.length
        yield page
      }
    },
  })
  const keys = fixedKeys(requireKeys({ kind: 'file', path: folder.file('keys.json') }))
  const path = (name: string): string => folder.file(`${data}/${name}`)
  using views = openSqliteViews({ path: path('views.db'), guard: fileGuard(keys, 'views') })
  using logs = openSqliteLogs({ path: path('log.db'), guard: logFileGuard(keys) })
  using index = openSqliteAudit({ path: path('audit.db'), guard: fileGuard(keys, 'audit') })
  const ledger = await createLedger({
    ...{ store: counting, views, keys, log: silentLog },
    logs: { store: logs, maxDelayMs: 0 },
    audit: { index },
  })
  try {
    const found = await answers(ledger)
    await ledger.logs?.publish()
    return { found, read, root: logs.log('acme')?.note }
  } finally {
    await ledger[Symbol.asyncDispose]()
  }
}

test('a new process takes the files of another from the database, reads the tail of the store alone, and answers the same (F165, STR-33)', async () => {
  await using place = await sharedPlace()
  await place.write('first', runNames(0, RUNS))
  await using first = place.files('first')
  assert.equal(await first.turn(), FILES)
  assert.equal(await first.turn(), [], 'nothing came since')
  await place.write('first', ['late'])

  await using second = place.files('second')
  for (const data of ['second', 'third']) mkdirSync(place.folder.file(data))
  await second.fetch()
  for (const name of FILES) assert.ok(existsSync(place.folder.file(`second/${name}`)), name)
  const helped = await startOn(place, 'second')
  const alone = await startOn(place, 'third')
  assert.equal(helped.found, alone.found)
  assert.ok(alone.read > 3 * 3 * RUNS, `each file was made of the whole store: ${alone.read}`)
  assert.ok(helped.read < alone.read / 3, `${helped.read} of ${alone.read} records were read`)
  const { code, stdout } = await countersign(['verify', place.url, '--keys', place.folder.file('keys.json')])
  assert.is(code, 0, stdout)
  assert.equal(place.warned, [])
})

test('a copy is renewed after a tenth of the history, and by whichever process gets to it (STR-39)', async () => {
  await using place = await sharedPlace()
  await place.write('first', runNames(0, RUNS))
  await using first = place.files('first')
  assert.equal(await first.turn(), FILES)
  await place.write('second', ['few'])
  await using second = place.files('second')
  for (const each of [first, second]) assert.equal(await each.turn(), [], 'less than a tenth came since')
  await place.write('second', runNames(RUNS, RUNS / 5))
  assert.equal(await second.turn(), FILES, 'put by the process that has followed so far')
  assert.equal(await first.turn(), [], 'which the other one finds there')
})

test('a copy is put while the ledger writes on, and is one state of the file all the same', async () => {
  await using place = await sharedPlace()
  await place.write('first', runNames(0, RUNS))
  const flags = { data: place.folder.file('first'), store: place.url, keys: place.folder.file('keys.json') }
  await using files = place.files('first')
  {
    await using opened = await openLedger(readSettings(flags, {}), silentLog)
    let done = false
    const writing = (async () => {
      for (let run = RUNS; !done; run += 1) {
        await handOver(opened.ledger, `run-${run}`)
        await answers(opened.ledger)
      }
    })()
    const put = await files.turn().finally(() => {
      done = true
    })
    await writing
    assert.equal(put, FILES)
  }
  for (const data of ['second', 'third']) mkdirSync(place.folder.file(data))
  await using second = place.files('second')
  await second.fetch()
  const helped = await startOn(place, 'second')
  const alone = await startOn(place, 'third')
  assert.equal(helped.found, alone.found)
  assert.ok(helped.read < alone.read / 2, `${helped.read} of ${alone.read} records were read: no file was made anew`)
})

test('a copy that somebody without the keys made, altered or misnamed is left aside with a word, and nothing is answered from it (A227, STR-33)', async () => {
  await using place = await sharedPlace()
  await place.write('first', runNames(0, 4))
  await using first = place.files('first')
  await first.turn()
  const schema = readConnectionUrl(place.url).schema
  const { rows } = await place.superuser.query(
    `SELECT text, seal, name FROM ${schema}.copies WHERE name LIKE 'audit.db@%'`,
  )
  const other = Object.values(rows[0] as Record<string, string>)
  const forgeries: readonly (readonly [what: string, sql: string, values?: readonly string[]])[] = [
    ['a part with a byte more', `UPDATE ${schema}.copy_parts SET bytes = bytes || '\\x00'`],
    ['a part that is gone', `DELETE FROM ${schema}.copy_parts`],
    ['another position', `UPDATE ${schema}.copies SET text = replace(text, '"events":', '"events":1')`],
    ['another seal', `UPDATE ${schema}.copies SET seal = replace(seal, substr(seal, 8, 4), 'AAAA')`],
    ['another copy, under its own seal', `UPDATE ${schema}.copies SET text = $1, seal = $2 WHERE name <> $3`, other],
  ]
  for (const [at, [what, sql, values = []]] of forgeries.entries()) {
    await place.superuser.query(sql, [...values])
    const data = `forged-${at}`
    mkdirSync(place.folder.file(data))
    place.warned.length = 0
    await using files = place.files(data)
    await files.fetch()
    const untouched = what.startsWith('another copy') ? ['audit.db'] : []
    assert.equal(readdirSync(place.folder.file(data)), untouched, what)
    assert.is(place.warned.length, FILES.length - untouched.length, what)
    assert.match(place.warned[0] ?? '', /not one that this ledger wrote/, what)
    await place.superuser.query(`DELETE FROM ${schema}.copies`)
    assert.equal(await first.turn(), FILES)
  }
})

test('a file that somebody altered on one machine gets no copy with the seal of the ledger (A227)', async () => {
  await using place = await sharedPlace()
  await place.write('first', runNames(0, 4))
  const file = new Sqlite(place.folder.file('first/audit.db'))
  file.exec("UPDATE events SET actor = 'mallory'")
  file.close()
  await using first = place.files('first')
  assert.equal(await first.turn(), ['log.db', 'views.db'])
})

test('an older copy, put back by whoever owns the database, hides nothing that came since (A228)', async () => {
  await using place = await sharedPlace()
  await place.write('first', runNames(0, 4))
  await using first = place.files('first')
  await first.turn()
  const schema = readConnectionUrl(place.url).schema
  await place.superuser.query(`CREATE TABLE ${schema}.old_copies AS TABLE ${schema}.copies`)
  await place.superuser.query(`CREATE TABLE ${schema}.old_parts AS TABLE ${schema}.copy_parts`)
  await place.write('first', runNames(4, 6))
  assert.equal(await first.turn(), FILES)
  await place.superuser.query(`DELETE FROM ${schema}.copies`)
  await place.superuser.query(`INSERT INTO ${schema}.copies TABLE ${schema}.old_copies`)
  await place.superuser.query(`INSERT INTO ${schema}.copy_parts TABLE ${schema}.old_parts`)

  for (const data of ['second', 'third']) mkdirSync(place.folder.file(data))
  await using second = place.files('second')
  await second.fetch()
  const helped = await startOn(place, 'second')
  const alone = await startOn(place, 'third')
  assert.equal(helped.found, alone.found)
  assert.ok(helped.read < alone.read)
})

test('one process at a time puts a copy, and one that dies in the middle leaves the last whole one and its place to the next (F166)', async () => {
  await using place = await sharedPlace()
  await using one = openPostgresCopies(place.url)
  await using other = openPostgresCopies(place.url)
  const copy = (text: string) => ({ text, seal: 'seal', parts: ['a'.repeat(64)] })
  const put = (text: string) => async (_: unknown, part: (digest: string, bytes: Uint8Array) => Promise<void>) => {
    await part('a'.repeat(64), Buffer.from(text))
    return copy(text)
  }
  assert.is(await one.write('log.db@1', put('whole')), true)

  const busy: boolean[] = []
  const dying = one.write('log.db@1', async (_, part) => {
    await part('b'.repeat(64), Buffer.from('half'))
    busy.push(await other.write('log.db@1', put('meanwhile')))
    const { rows } = await place.superuser.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND xact_start IS NOT NULL AND query LIKE 'INSERT INTO ${readConnectionUrl(place.url).schema}.copy_parts%'`,
    )
    assert.is(rows.length, 1)
    return copy('half')
  })
  assert.ok((await dying.catch((error: unknown) => error)) instanceof Error)
  assert.equal(busy, [false])
  assert.is((await other.latest('log.db@1'))?.text, 'whole')
  const part = await other.read('log.db@1', async (_, read) =>
    Buffer.from((await read('b'.repeat(64))) ?? []).toString(),
  )
  assert.is(part, '')
  assert.is(await other.write('log.db@1', put('next')), true)
  assert.is((await one.latest('log.db@1'))?.text, 'next')
})

test('where no copy can be put or taken, the ledger says so once and makes its files from the store (F165)', async () => {
  await using place = await sharedPlace()
  const schema = readConnectionUrl(place.url).schema
  await place.write('first', runNames(0, 4))
  await place.superuser.query(`DROP TABLE ${schema}.copies CASCADE`)
  await using files = place.files('first')
  for (let turn = 0; turn < 3; turn += 1) {
    assert.ok((await files.turn().catch((error: unknown) => error)) instanceof Error)
  }
  assert.is(place.warned.length, 1)
  mkdirSync(place.folder.file('second'))
  await using second = place.files('second')
  await second.fetch()
  assert.equal(readdirSync(place.folder.file('second')), [])
  assert.ok((await startOn(place, 'second')).read > 0)
})

test.run()
