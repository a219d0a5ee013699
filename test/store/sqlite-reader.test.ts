import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_STREAM, StoreOpenError, StoreUnavailableError } from '../../src/store/event-store.ts'
import { openSqliteReader } from '../../src/store/sqlite/sqlite-reader.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { canBeNobody, NOBODY } from '../support/other-user.ts'
import { bundledProgram } from '../support/program.ts'
import { appendOf, collect, record } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { failure } from './contract.ts'

const CRASH_CHILD = bundledProgram('test/store/crash-child.js')

const test = suite('sqlite reader')

function refusal(path: string): StoreOpenError {
  try {
    openSqliteReader({ path })[Symbol.dispose]()
  } catch (error) {
    if (error instanceof StoreOpenError) return error
    throw error
  }
  throw new Error('expected a refusal')
}

test('beside its owner a reader sees what is committed, columns included, and disturbs nobody', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await using store = await openSqliteStore({ path })
  await store.append({
    stream: 'run-acme.r1',
    expectedRevision: NO_STREAM,
    records: [record({ requestId: 'request-1' })],
  })
  using reader = openSqliteReader({ path })
  assert.equal(await collect(reader.readAll()), await collect(store.readAll()))
  assert.is((await collect(reader.readStream('run-acme.r1')))[0]?.requestId, 'request-1')
  assert.is(await reader.end(), '1')

  await store.append(appendOf('run-acme.r1', 0, 600))
  assert.is(await reader.head('run-acme.r1'), 600)
  assert.is((await collect(reader.readAll({ after: '1' }))).length, 600)
})

test('a follower in another process is woken by its owner’s commits and misses none', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await (await openSqliteStore({ path }))[Symbol.asyncDispose]()
  using reader = openSqliteReader({ path })
  const child = spawn(process.execPath, [CRASH_CHILD, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout.resume()

  const positions: number[] = []
  const stop = new AbortController()
  let wokenTimes = 0
  for await (const step of reader.subscribe({}, stop.signal)) {
    if (step === 'caught-up') wokenTimes += 1
    else positions.push(...step.map(({ position }) => Number(position)))
    if (wokenTimes > 3 && positions.length > 200) stop.abort()
  }
  child.kill('SIGKILL')
  await once(child, 'close')
  assert.equal(
    positions,
    Array.from({ length: positions.length }, (_, index) => index + 1),
  )
})

test('after a killed owner a reader sees what is in the log, and writes nothing', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  {
    await using store = await openSqliteStore({ path })
    await store.append(appendOf('run-acme.r1', NO_STREAM, 5))
    // A copy of both files in the middle of things is what a kill leaves behind.
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, folder.file(`copy.sqlite${suffix}`))
  }
  const copy = folder.file('copy.sqlite')
  const [before, log] = [readFileSync(copy), readFileSync(`${copy}-wal`)]
  {
    using reader = openSqliteReader({ path: copy })
    assert.is((await collect(reader.readAll())).length, 5)
  }
  assert.equal(readFileSync(copy), before)
  assert.equal(readFileSync(`${copy}-wal`), log)
})

test('a file that is missing, empty, foreign or newer is refused and none is made', async () => {
  using folder = tempFolder()
  const missing = folder.file('missing.sqlite')
  assert.is(refusal(missing).code, 'store-unreadable')
  assert.not(existsSync(missing))
  writeFileSync(folder.file('empty.sqlite'), '')
  assert.is(refusal(folder.file('empty.sqlite')).code, 'store-unreadable')
  writeFileSync(folder.file('text.sqlite'), 'no database '.repeat(100))
  assert.is(refusal(folder.file('text.sqlite')).code, 'store-unreadable')

  const newer = folder.file('newer.sqlite')
  await (await openSqliteStore({ path: newer }))[Symbol.asyncDispose]()
  const db = new Sqlite(newer)
  db.pragma('user_version = 99')
  db.close()
  assert.is(refusal(newer).code, 'store-newer')
})

const asNobody = canBeNobody ? test : test.skip
if (!canBeNobody) console.log('skipped: files of another user, this one cannot act as another')
asNobody('where no log can be made beside the file, the refusal says to copy it', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await (await openSqliteStore({ path }))[Symbol.asyncDispose]()
  chmodSync(folder.path, 0o555)
  chmodSync(path, 0o444)
  const module = JSON.stringify(new URL('../../src/store/sqlite/sqlite-reader.js', import.meta.url).href)
  const script = `process.setgid(${NOBODY}); process.setuid(${NOBODY}); import(${module})
    .then((m) => m.openSqliteReader({ path: ${JSON.stringify(path)} })).catch((e) => console.log(e.code, e.message))`
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
  assert.match(stdout, /^store-unreadable .*copy it/)
})

test('a closed reader says so', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await (await openSqliteStore({ path }))[Symbol.asyncDispose]()
  const reader = openSqliteReader({ path })
  reader[Symbol.dispose]()
  assert.instance(await failure(reader.head('run-acme.r1')), StoreUnavailableError)
})

test.run()
