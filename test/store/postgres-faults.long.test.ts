import type pg from 'pg'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type EventStore, NO_STREAM, StoreOpenError } from '../../src/store/event-store.ts'
import { openPostgresCopies } from '../../src/store/postgres/postgres-copies.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { SCHEMA_VERSION } from '../../src/store/postgres/schema.ts'
import { initSchemaAt } from '../../src/store/postgres/schema-check.ts'
import { type CuttingProxy, cuttingProxy } from '../support/cutting-proxy.ts'
import { owner, schemaOf, withoutNotes, writeOpen } from '../support/postgres-owner.ts'
import { postgresServer, startPostgres } from '../support/postgres-server.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { appendOf, collect, headerId, idsOf } from '../support/records.ts'
import { eventually } from '../support/within.ts'
import { failure } from './contract.ts'

const test = suite('postgres: what a server may do')

for (const end of ['COMMIT', 'ROLLBACK']) {
  test(`a reader passes no event that a writer still holds, and goes on after its ${end} (STR-18)`, async () => {
    const url = await newPostgresUrl()
    await using store = await openPostgresStore({ url, timings: { writersMs: 0 } })
    await using other = await owner(url)
    await store.append(appendOf('run-acme.before', NO_STREAM))
    await writeOpen(other, url, 'run-acme.held')
    const behind = appendOf('run-acme.behind', NO_STREAM)
    assert.is((await store.append(behind)).kind, 'appended')

    assert.is((await idsOf(store)).length, 1, 'what was committed behind the one that is held is not passed')
    assert.is((await collect(store.readStream('run-acme.behind'))).length, 1, 'its own stream is read at once')
    await other.query(end)
    const ids = await idsOf(store)
    assert.equal(ids.slice(1), [...(end === 'COMMIT' ? ['held'] : []), behind.records[0]?.id])
  })
}

for (const end of ['COMMIT', 'ROLLBACK']) {
  test(`what was acknowledged before a reading is in it, though another process is in the middle of an earlier write, up to its ${end} (STR-34, F172)`, async () => {
    const url = await newPostgresUrl()
    await using store = await openPostgresStore({ url, timings: { writersMs: 60_000 } })
    await using other = await owner(url)
    await store.append(appendOf('run-acme.before', NO_STREAM))
    await writeOpen(other, url, 'run-acme.held')
    assert.is((await store.append(appendOf('run-acme.behind', NO_STREAM))).kind, 'appended')
    const [ids, last] = [idsOf(store), store.end()]
    await other.query(end)
    assert.is((await ids).length, end === 'COMMIT' ? 3 : 2)
    const records = await collect(store.readAll())
    assert.equal([records.at(-1)?.stream, records.at(-1)?.position], ['run-acme.behind', await last])
  })
}

test('a writer whose connection hangs holds a reading up for a limited time, and what lies behind it comes when it has ended (F172)', async () => {
  const url = await newPostgresUrl()
  await using store = await openPostgresStore({ url, timings: { writersMs: 20 } })
  await using other = await owner(url)
  await writeOpen(other, url, 'run-acme.held')
  await store.append(appendOf('run-acme.behind', NO_STREAM))
  assert.equal(await idsOf(store), [])
  await other.query('ROLLBACK')
  assert.is((await idsOf(store)).length, 1)
})

test('a long transaction of another program holds no reader up', async () => {
  const url = await newPostgresUrl()
  await using store = await openPostgresStore({ url })
  await using other = await owner(url)
  await other.query('BEGIN')
  await other.query('CREATE TEMPORARY TABLE busy (n int)')
  await store.append(appendOf('run-acme.r', NO_STREAM, 3))
  assert.is((await idsOf(store)).length, 3)
  await other.query('ROLLBACK')
})

test('not even the owner of the tables can update, delete or truncate what is written (STR-31)', async () => {
  const url = await newPostgresUrl()
  await using store = await openPostgresStore({ url })
  await using client = await owner(url)
  await store.append(appendOf('run-acme.r', NO_STREAM, 2))
  const table = `${schemaOf(url)}.events`
  for (const change of [`UPDATE ${table} SET data = '{}'`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
    assert.match(String(await failure(client.query(change))), /append-only/)
  }
  assert.is((await idsOf(store)).length, 2)
})

test('the role that writes may append and read, and change nothing', async () => {
  const url = await newPostgresUrl()
  await using client = await owner(url)
  const role = `writer_${schemaOf(url)}`
  await client.query(`CREATE ROLE ${role} LOGIN`)
  assert.equal(await initSchemaAt(url, role), { from: 4, to: 4 })
  const own = new URL(url)
  own.username = role
  await using store = await openPostgresStore({ url: own.toString() })
  assert.is((await store.append(appendOf('run-acme.r', NO_STREAM))).kind, 'appended')
  assert.is((await idsOf(store)).length, 1)
  await using writer = await owner(own.toString())
  const table = `${schemaOf(url)}.events`
  for (const change of [
    `UPDATE ${table} SET data = '{}'`,
    `TRUNCATE ${table}`,
    `DROP TRIGGER events_append_only ON ${table}`,
  ]) {
    assert.match(String(await failure(writer.query(change))), /permission denied|must be owner/)
  }
})

test('a schema of before is upgraded in place: its events stay, and a role that may append may share files too', async () => {
  const url = await newPostgresUrl()
  const schema = schemaOf(url)
  await using client = await owner(url)
  const role = `earlier_${schema}`
  await client.query(`CREATE ROLE ${role} LOGIN`)
  await initSchemaAt(url, role)
  {
    await using store = await openPostgresStore({ url })
    await store.append(appendOf('run-acme.r', NO_STREAM, 2))
  }
  await client.query(`DROP TABLE ${schema}.copy_parts, ${schema}.copies`)
  await withoutNotes(client, schema)
  await client.query(`DROP FUNCTION ${schema}.append_group`)
  // As where an administrator lets nobody call a new function.
  await client.query(`ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`)
  await client.query(`UPDATE ${schema}.meta SET value = 1 WHERE name = 'version'`)
  assert.match(await refusal(url), /store-unsupported .*needs 4: run "countersign store init/)

  assert.equal(await initSchemaAt(url), { from: 1, to: 4 })
  const own = new URL(url)
  own.username = role
  await using copies = openPostgresCopies(own.toString())
  const put = await copies.write('log.db@1', async (_, part) => {
    await part('a', Buffer.from('part'))
    return { text: 'text', seal: 'seal', parts: ['a'] }
  })
  assert.is(put, true)
  await using store = await openPostgresStore({ url: own.toString() })
  assert.is((await store.append(appendOf('run-acme.r', 1))).kind, 'appended')
  assert.is((await idsOf(store)).length, 3)
  await client.query(`ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC`)
})

test('a schema that is missing, newer or altered is refused at the start, with what to do (STR-31)', async () => {
  const { url: server } = await postgresServer()
  assert.match(await refusal(`${server}?schema=nobody_made_it`), /store-unreadable .*store init/)

  const url = await newPostgresUrl()
  await using client = await owner(url)
  const schema = schemaOf(url)
  await client.query(`UPDATE ${schema}.meta SET value = 99 WHERE name = 'version'`)
  assert.match(await refusal(url), /store-newer .*update it/)
  await client.query(`UPDATE ${schema}.meta SET value = ${SCHEMA_VERSION} WHERE name = 'version'`)
  await client.query(`ALTER TABLE ${schema}.events DISABLE TRIGGER events_append_only`)
  assert.match(await refusal(url), /store-corrupt .*events_append_only/)
})

for (const setting of ['fsync', 'full_page_writes']) {
  test(`a server with ${setting} off is refused at the start: it would lose what it acknowledged (STR-30)`, async () => {
    const server = await startPostgres({ [setting]: 'off' })
    assert.match(await refusal(server.url), new RegExp(`store-unsupported .*${setting} is off`))
    await server.kill()
  })
}

test('an append is synced to disk before its answer, whatever the session was set to (STR-30)', async () => {
  const server = await startPostgres({ synchronous_commit: 'off', log_statement: 'none' })
  const url = await newPostgresUrl(server)
  await using client = await owner(url)
  const { rows } = await client.query('SHOW synchronous_commit')
  assert.is(rows[0]?.synchronous_commit, 'off')
  const store = await openPostgresStore({ url })
  for (let revision = NO_STREAM; revision < 20; revision += 1) await store.append(appendOf('run-acme.r', revision))
  // With the setting in force, a crash right after the answer loses up to three times wal_writer_delay of commits.
  await server.kill()
  await server.start()
  assert.is((await collect(store.readStream('run-acme.r'))).length, 21)
  await store[Symbol.asyncDispose]()
  await server.kill()
})

test('an append whose answer was cut off after the commit is found, and is there once', async () => {
  const url = await newPostgresUrl()
  await using proxy = await cuttingProxy(url.replace('postgres:', 'http:'))
  await using store = await openPostgresStore({ url: through(proxy, url) })
  await store.append(appendOf('run-acme.r', NO_STREAM))
  for (let revision = 0; revision < 10; revision += 1) {
    proxy.cutNextAnswer()
    const append = appendOf('run-acme.r', revision)
    const result = await store.append(append)
    if (result.kind === 'unavailable') {
      await untilReady(store)
      assert.is((await store.append(append)).kind, 'appended', 'it was certainly not written')
    } else assert.equal([result.kind, result.kind === 'appended' && result.revision], ['appended', revision + 1])
    assert.equal((await collect(store.readStream('run-acme.r', { from: revision + 1 }))).map(headerId), [
      append.records[0]?.id,
    ])
  }
  assert.ok(proxy.cuts() >= 10)
})

test('a server that lost acknowledged events, as a lagging standby has, takes no append any more and says why (STR-32)', async () => {
  const server = await startPostgres()
  const url = await newPostgresUrl(server)
  const store = await openPostgresStore({ url, timings: { settleMs: 200, probeMs: 20, callMs: 2_000 } })
  await store.append(appendOf('run-acme.r', NO_STREAM, 3))
  await using client = await owner(url)
  await client.query(`SET session_replication_role = replica`)
  await client.query(`DELETE FROM ${schemaOf(url)}.events WHERE revision = 2`)
  await server.kill()
  const during = await store.append(appendOf('run-acme.r', 2))
  assert.ok(during.kind === 'unavailable' || during.kind === 'unknown', during.kind)
  await server.start()
  await until(() => store.status().state === 'failed')
  assert.match(store.status().detail ?? '', /no longer holds the event .*acknowledged/)
  assert.is((await store.append(appendOf('run-acme.r', 1))).kind, 'unavailable')
  await store[Symbol.asyncDispose]()
  await server.kill()
})

test('a tail is woken by every connection that follows one which was cut, and none leaves a listener behind (F145)', async () => {
  const url = await newPostgresUrl()
  await using client = await owner(url)
  // The look every so often never comes: what wakes the tail is the connection that listens.
  await using store = await openPostgresStore({ url, timings: { listenAgainMs: 1, pollMs: 3_600_000 } })
  await using other = await openPostgresStore({ url })
  const warnings: string[] = []
  const warned = (warning: Error): void => void warnings.push(warning.message)
  process.on('warning', warned)
  const stop = new AbortController()
  const tail = store.subscribe({}, stop.signal)[Symbol.asyncIterator]()
  assert.is((await tail.next()).value, 'caught-up')
  for (let cut = 0; cut < 15; cut += 1) {
    const reading = tail.next()
    await endListener(client, url)
    await other.append(appendOf(`run-acme.r${cut}`, NO_STREAM))
    const page = (await reading).value
    assert.ok(Array.isArray(page) && page[0]?.stream === `run-acme.r${cut}`, `after cut ${cut}`)
    assert.is((await tail.next()).value, 'caught-up')
  }
  stop.abort()
  await tail.next()
  process.off('warning', warned)
  assert.equal(warnings, [])
})

/** Ends the connection that notifications come by, once there is one. */
async function endListener(client: pg.Client, url: string): Promise<void> {
  await eventually(async () => {
    const { rows } = await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1', [
      `LISTEN ${schemaOf(url)}_appended`,
    ])
    return rows.length > 0 ? true : undefined
  }, 'a connection that listens')
}

test('what a caller cannot mean is refused by its URL, and no message repeats a password', async () => {
  for (const url of [
    'postgres://u:secret@h',
    'postgres://u:secret@h/db?sslmode=prefer',
    'postgres://u:secret@h/db?synchronous_commit=off',
    'postgres://u:secret@h/db?schema=Robert"; DROP',
    'postgres://u:secret@/db?sslrootcert=/nowhere',
  ]) {
    const error = await failure(openPostgresStore({ url }))
    assert.ok(error instanceof StoreOpenError && error.code === 'store-unsupported', url)
    assert.not.match(error.message, /secret/)
  }
})

test.run()

async function refusal(url: string): Promise<string> {
  const error = await failure(openPostgresStore({ url }))
  return error instanceof StoreOpenError ? `${error.code} ${error.message}` : String(error)
}

function through(proxy: CuttingProxy, url: string): string {
  const cut = new URL(url)
  cut.port = new URL(proxy.url).port
  return cut.toString()
}

async function untilReady(store: EventStore): Promise<void> {
  await until(() => store.status().state === 'ready')
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1_000 && !isSo(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.ok(isSo())
}
