import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type EventStore, NO_STREAM, StoreOpenError } from '../../src/store/event-store.ts'
import { openDatabase, openReadOnly } from '../../src/store/sqlite/open.ts'
import { announceOwner, describeOwner } from '../../src/store/sqlite/owner-lock.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { canBeNobody, NOBODY } from '../support/other-user.ts'
import { appendOf, collect, records } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { failure } from './contract.ts'

const test = suite('opening an sqlite store')

async function refusal(path: string): Promise<StoreOpenError> {
  const error = await failure(openSqliteStore({ path }))
  if (error instanceof StoreOpenError) return error
  throw new Error(`expected a refusal, got ${String(error)}`)
}

async function filledStore(path: string, count = 10): Promise<void> {
  await using store = await openSqliteStore({ path })
  await store.append({ stream: 'run-acme.r1', expectedRevision: NO_STREAM, records: records(count) })
}

test('a connection keeps no more pages of its file in memory than it is opened with', () => {
  const bounded = openDatabase({ path: ':memory:', busyTimeoutMs: 0, cacheKib: 64 })
  try {
    assert.is(bounded.pragma('cache_size', { simple: true }), -64)
  } finally {
    bounded.close()
  }
})

test('history, heads and request ids outlive a restart', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  const asked = (id: string) => records(1, { requestId: id })
  {
    await using store = await openSqliteStore({ path })
    await store.append({ stream: 'run-acme.r1', expectedRevision: NO_STREAM, records: asked('request-1') })
  }
  await using store = await openSqliteStore({ path })
  assert.is(await store.head('run-acme.r1'), 0)
  assert.is((await store.append(appendOf('run-acme.r1', NO_STREAM))).kind, 'conflict')
  const repeat = await store.append({ stream: 'run-acme.r1', expectedRevision: 0, records: asked('request-1') })
  assert.equal(repeat, { kind: 'duplicate-request', requestId: 'request-1', revision: 0 })
  const next = await store.append(appendOf('run-acme.r1', 0))
  assert.equal(next, { kind: 'appended', revision: 1, position: '2' })
})

test('a clean end leaves one file that holds everything, for its owner’s eyes only', async () => {
  using folder = tempFolder()
  const path = folder.file('data/ledger.sqlite')
  {
    await using store = await openSqliteStore({ path })
    await store.append(appendOf('run-acme.r1', NO_STREAM))
    for (const suffix of ['', '-wal', '-shm', '.lock', '.owner']) {
      assert.is(statSync(path + suffix).mode & 0o777, 0o600, suffix)
    }
  }
  assert.is(statSync(folder.file('data')).mode & 0o777, 0o700)
  assert.not(existsSync(`${path}-wal`))
  assert.not(existsSync(`${path}.owner`))
})

test('what waits when the store is closed is still written', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  const store = await openSqliteStore({ path })
  const results = Array.from({ length: 100 }, (_, index) => store.append(appendOf('run-acme.r1', index - 1)))
  await store[Symbol.asyncDispose]()
  assert.ok((await Promise.all(results)).every(({ kind }) => kind === 'appended'))
  await using again = await openSqliteStore({ path })
  assert.is(await again.head('run-acme.r1'), 99)
})

test('a second owner is refused by name, in this process, through a link, and in another process (STR-23)', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await using _owner = await openSqliteStore({ path })
  announceOwner(path, 'http://127.0.0.1:7070')
  symlinkSync(path, folder.file('alias.sqlite'))

  for (const name of [path, folder.file('alias.sqlite')]) {
    const error = await refusal(name)
    assert.is(error.code, 'store-locked')
    for (const word of [path, String(process.pid), 'http://127.0.0.1:7070'])
      assert.ok(error.message.includes(word), word)
  }

  const module = JSON.stringify(new URL('../../src/store/sqlite/sqlite-store.js', import.meta.url).href)
  const script = `import(${module}).then((m) => m.openSqliteStore({ path: ${JSON.stringify(path)} })).catch((e) => console.log(e.code, e.message))`
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
  assert.match(stdout, /^store-locked /)
  assert.ok(stdout.includes(String(process.pid)))
})

test('the lock goes with its owner, and a name left behind misleads nobody', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await filledStore(path)
  writeFileSync(`${path}.owner`, '{"pid": 4194304, "url": "http://127.0.0.1:1"}')
  await using store = await openSqliteStore({ path })
  assert.is(await store.head('run-acme.r1'), 9)
  assert.equal(describeOwner(path), { pid: process.pid })
  writeFileSync(`${path}.owner`, '{"pid": "1; rm"}')
  assert.is(describeOwner(path), undefined)
})

test('files that are no store, another program’s, newer or altered are refused, and stay as they are', async () => {
  using folder = tempFolder()
  const text = folder.file('text.sqlite')
  writeFileSync(text, 'not a database, but long enough to be looked at '.repeat(40))
  assert.is((await refusal(text)).code, 'store-unreadable')

  const foreign = folder.file('foreign.sqlite')
  altered(foreign, 'CREATE TABLE mine (a)')
  const before = readFileSync(foreign)
  assert.is((await refusal(foreign)).code, 'store-unreadable')
  assert.equal(readFileSync(foreign), before)

  const newer = folder.file('newer.sqlite')
  await filledStore(newer)
  altered(newer, 'PRAGMA user_version = 99')
  assert.is((await refusal(newer)).code, 'store-newer')

  for (const change of ['DROP TRIGGER events_update', 'DROP INDEX events_request', 'CREATE TABLE extra (a)']) {
    const path = folder.file(`${change.replaceAll(/\W/g, '-')}.sqlite`)
    await filledStore(path)
    altered(path, change)
    assert.is((await refusal(path)).code, 'store-corrupt', change)
  }
})

test('a history whose end is damaged takes no append', async () => {
  using folder = tempFolder()
  const damages = [
    ['gap', 'DELETE FROM events WHERE revision = 8'],
    ['orphan', `UPDATE streams SET id = 7`],
    ['doubled', 'UPDATE events SET revision = 20 WHERE revision = 9'],
  ] as const
  for (const [name, sql] of damages) {
    const path = folder.file(`${name}.sqlite`)
    await filledStore(path)
    tampered(path, sql)
    assert.is((await refusal(path)).code, 'store-corrupt', name)
  }

  const torn = folder.file('torn.sqlite')
  await filledStore(torn, 300)
  const bytes = readFileSync(torn)
  bytes.fill(0xff, bytes.length - 3 * 4_096)
  writeFileSync(torn, bytes)
  assert.is((await refusal(torn)).code, 'store-corrupt')
})

test('a place that cannot be reached is reported plainly', async () => {
  using folder = tempFolder()
  assert.is((await refusal(folder.file('missing/folders/ledger.sqlite'))).code, 'store-unreadable')
  mkdirSync(folder.file('a-folder'))
  assert.is((await refusal(folder.file('a-folder'))).code, 'store-unreadable')
  writeFileSync(folder.file('a-file'), '')
  assert.is((await refusal(folder.file('a-file/ledger.sqlite'))).code, 'store-unreadable')
})

const asNobody = canBeNobody ? test : test.skip
if (!canBeNobody) console.log('skipped: files of another user, this one cannot act as another')
asNobody('a file that this user may not write is reported plainly', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await filledStore(path)
  chmodSync(folder.path, 0o755)
  for (const suffix of ['', '.lock']) chmodSync(path + suffix, 0o444)
  const module = JSON.stringify(new URL('../../src/store/sqlite/sqlite-store.js', import.meta.url).href)
  const script = `process.setgid(${NOBODY}); process.setuid(${NOBODY});
    import(${module}).then((m) => m.openSqliteStore({ path: ${JSON.stringify(path)} })).catch((e) => console.log(e.code))`
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
  assert.is(stdout.trim(), 'store-unreadable')
})

test('a foreign lock on the file refuses appends as unavailable, and they succeed when it is gone', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await using store = await openSqliteStore({ path })
  const foreign = new Sqlite(path)
  foreign.exec('BEGIN IMMEDIATE')
  assert.is((await store.append(appendOf('run-acme.r1', NO_STREAM))).kind, 'unavailable')
  assert.is(await store.head('run-acme.r1'), NO_STREAM, 'reads go on')
  foreign.exec('ROLLBACK')
  foreign.close()
  assert.is((await store.append(appendOf('run-acme.r1', NO_STREAM))).kind, 'appended')
})

test('what a foreign connection appended is a conflict, never a second event in its place', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await using store = await openSqliteStore({ path })
  await store.append(appendOf('run-acme.r1', NO_STREAM))
  const foreign = new Sqlite(path)
  foreign.exec(`INSERT INTO events SELECT position + 1, stream_id, revision + 1, header, salt, data, NULL FROM events`)
  foreign.close()
  assert.equal(await store.append(appendOf('run-acme.r1', 0)), { kind: 'conflict', actual: 1 })
  assert.equal(await store.append(appendOf('run-acme.r1', 1)), { kind: 'appended', revision: 2, position: '3' })
  assert.is((await collect((store satisfies EventStore).readAll())).length, 3)
})

/** Runs SQL as someone with the file and the right tool would. */
function altered(path: string, sql: string): void {
  const db = new Sqlite(path)
  db.exec(sql)
  db.close()
}

/** Alters rows behind the triggers, and puts the triggers back. */
function tampered(path: string, sql: string): void {
  const db = new Sqlite(path)
  db.pragma('foreign_keys = OFF')
  const triggers = db.prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`).all() as {
    name: string
    sql: string
  }[]
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  db.exec(sql)
  for (const trigger of triggers) db.exec(trigger.sql)
  db.close()
}

test('a connection that only reads keeps 2 MiB of its file at most: each reader of a ledger has some of them (F216)', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await filledStore(path)
  const db = openReadOnly({ path, busyTimeoutMs: 0 })
  // Negative: KiB, and not pages.
  assert.is(db.pragma('cache_size', { simple: true }), -2_048)
  db.close()
})

test.run()
