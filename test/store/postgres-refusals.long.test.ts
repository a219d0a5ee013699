import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AppendResult, type EventStore, NO_STREAM } from '../../src/store/event-store.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { openPostgresCopies } from '../../src/store/postgres/postgres-copies.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { appendOf, collect, headerId, idsOf } from '../support/records.ts'
import { transactionPooler } from '../support/transaction-pooler.ts'
import { eventually } from '../support/within.ts'

const test = suite('postgres: a server that takes no writes for now')

async function superuserOf(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(readConnectionUrl(url).config)
  client.on('error', () => undefined)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: async () => await client.end() })
}

/** The same append until it is taken: it was certainly not written before, so that it is there once. */
async function takenAtLast(store: EventStore, append: ReturnType<typeof appendOf>): Promise<void> {
  await eventually(async () => ((await store.append(append)).kind === 'appended' ? true : undefined), 'an append')
  const ids = (await collect(store.readStream(append.stream))).map(headerId)
  assert.is(ids.filter((id) => id === append.records[0]?.id).length, 1)
}

const detailOf = (result: AppendResult): string =>
  'detail' in result ? `${result.kind}: ${result.detail}` : result.kind

test('the disk of the server is full: the append is refused as such, reads go on, and so do appends once there is room (F167)', async () => {
  const url = await newPostgresUrl()
  await using store = await openPostgresStore({ url })
  await using superuser = await superuserOf(url)
  const { schema } = readConnectionUrl(url)
  await store.append(appendOf('run-acme.r', NO_STREAM))
  // What the server answers where it cannot extend a file: the code is all that the store goes by.
  await superuser.query(`CREATE FUNCTION ${schema}.no_room() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`)
  await superuser.query(
    `CREATE TRIGGER no_room BEFORE INSERT ON ${schema}.events FOR EACH ROW EXECUTE FUNCTION ${schema}.no_room()`,
  )
  const append = appendOf('run-acme.r', 0)
  for (let tries = 0; tries < 3; tries += 1)
    assert.is(detailOf(await store.append(append)), 'full: the disk of the server is full')
  assert.is((await collect(store.readStream('run-acme.r'))).length, 1)
  await superuser.query(`DROP TRIGGER no_room ON ${schema}.events`)
  await takenAtLast(store, append)
})

test('a server that turns read-only refuses appends with what to do, and takes them again afterwards (F168)', async () => {
  const server = await startPostgres()
  const url = await newPostgresUrl(server)
  {
    await using store = await openPostgresStore({ url })
    await using superuser = await superuserOf(url)
    await store.append(appendOf('run-acme.r', NO_STREAM))
    const readOnly = async (value: 'on' | 'off'): Promise<void> => {
      await superuser.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
      await superuser.query('SELECT pg_reload_conf()')
    }
    await readOnly('on')
    const append = appendOf('run-acme.r', 0)
    const refused = await eventually(async () => {
      const other = appendOf(`run-acme.${crypto.randomUUID()}`, NO_STREAM)
      const result = await store.append(other)
      return result.kind === 'appended' ? undefined : result
    }, 'a refusal')
    assert.match(detailOf(refused), /^unavailable: .*read-only: connect to the primary/)
    assert.match(detailOf(await store.append(append)), /^unavailable/)
    assert.is((await collect(store.readStream('run-acme.r'))).length, 1)
    await superuser.query('SET default_transaction_read_only = off')
    await readOnly('off')
    await takenAtLast(store, append)
  }
  await server.kill()
})

test('a standby is waited for until it is promoted, by a start and by a process that serves (F168)', async () => {
  const server = await startPostgres()
  const url = await newPostgresUrl(server)
  const store = await openPostgresStore({ url, timings: { settleMs: 200, probeMs: 20, callMs: 2_000 } })
  const first = appendOf('run-acme.r', NO_STREAM)
  await store.append(first)
  await server.kill()
  writeFileSync(join(server.folder, 'data', 'standby.signal'), '')
  await server.start()

  const append = appendOf('run-acme.r', 0)
  const during = await store.append(append)
  assert.ok(['unavailable', 'unknown'].includes(during.kind), during.kind)
  const reasons: string[] = []
  const given = new AbortController()
  const starting = openPostgresStore({
    url,
    timings: { probeMs: 20 },
    patience: { signal: given.signal, onAway: (reason) => void reasons.push(reason) },
  })
  await eventually(async () => (reasons.length > 0 ? true : undefined), 'a start that waits')
  assert.match(reasons[0] ?? '', /is a standby: connect to the primary, or wait for its promotion/)

  await using superuser = await superuserOf(url)
  await superuser.query('SELECT pg_promote()')
  const started = await starting
  assert.equal(
    (await collect(started.readStream('run-acme.r', { to: 0 }))).map(headerId),
    first.records.map(({ id }) => id),
  )
  await takenAtLast(store, append)
  await started[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
  await superuser.end()
  await server.kill()
})

test('a server without a free connection refuses the append with what to do, and takes it when one is free (F169)', async () => {
  const server = await startPostgres({ max_connections: '10', superuser_reserved_connections: '0' })
  const url = await newPostgresUrl(server)
  const store = await openPostgresStore({ url })
  const taken: pg.Client[] = []
  const isFull = async (): Promise<boolean> => {
    const client = new pg.Client(readConnectionUrl(url).config)
    client.on('error', () => undefined)
    try {
      await client.connect()
      taken.push(client)
      return false
    } catch (error) {
      assert.is((error as { code?: string }).code, '53300')
      return true
    }
  }
  while (!(await isFull()));
  const append = appendOf('run-acme.r', NO_STREAM)
  assert.match(
    detailOf(await store.append(append)),
    /^unavailable: .*no connection left for the ledger: raise max_connections/,
  )
  for (const client of taken) await client.end()
  await takenAtLast(store, append)
  await store[Symbol.asyncDispose]()
  await server.kill()
})

test('a server that goes away is noticed by a process that only reads, which says when it is back (STR-43)', async () => {
  const server = await startPostgres()
  const url = await newPostgresUrl(server)
  await using store = await openPostgresStore({ url, timings: { pollMs: 3_600_000 } })
  await store.append(appendOf('run-acme.r', NO_STREAM))
  assert.is(store.status().state, 'ready')
  await server.kill()
  const isSeen = (state: string) => async () => {
    await store.head('run-acme.r').catch(() => undefined)
    return store.status().state === state ? true : undefined
  }
  await eventually(isSeen('unavailable'), 'the store is away')
  assert.match(String(store.status().detail), /^the server does not answer: /)
  await server.start()
  await eventually(isSeen('ready'), 'the store is back')
  assert.is((await collect(store.readStream('run-acme.r'))).length, 1)
  await store[Symbol.asyncDispose]()
  await server.kill()
})

test('behind a pooler in transaction mode processes append, read, follow and share files as without it (F170)', async () => {
  const server = await startPostgres()
  const direct = await newPostgresUrl(server)
  {
    await using pooler = await transactionPooler(server.url, 4)
    const through = new URL(direct)
    through.port = String(pooler.port)
    const url = through.href
    await using one = await openPostgresStore({ url })
    await using other = await openPostgresStore({ url })
    const stop = new AbortController()
    const tail = other.subscribe({}, stop.signal)[Symbol.asyncIterator]()
    assert.is((await tail.next()).value, 'caught-up')
    const appends = Array.from({ length: 200 }, (_, n) => appendOf(`run-acme.r${n % 50}`, Math.floor(n / 50) - 1))
    const seen: string[] = []
    const following = (async () => {
      while (seen.length < appends.length) {
        const page = (await tail.next()).value
        if (Array.isArray(page)) seen.push(...page.map(headerId))
      }
    })()
    for (let round = 0; round < 4; round += 1) {
      const results = await Promise.all(
        appends.slice(round * 50, round * 50 + 50).map((append, n) => (n % 2 === 0 ? one : other).append(append)),
      )
      assert.equal([...new Set(results.map(({ kind }) => kind))], ['appended'])
    }
    await following
    stop.abort()
    await tail.return?.(undefined)
    assert.equal(seen.toSorted(), appends.map(({ records }) => String(records[0]?.id)).toSorted())
    assert.equal(await idsOf(one), seen)

    await using copies = openPostgresCopies(url)
    const put = await copies.write('log.db@1', async (_, part) => {
      for (const digest of ['a', 'b', 'c']) await part(digest, Buffer.from(digest))
      return { text: 'text', seal: 'seal', parts: ['a', 'b', 'c'] }
    })
    assert.is(put, true)
    const read = await copies.read('log.db@1', async (_, part) => Buffer.from((await part('c')) ?? []).toString())
    assert.is(read, 'c')
    assert.ok(pooler.moved() > 0, `${pooler.moved()} transactions changed connections`)
  }
  await server.kill()
})

test.run()
