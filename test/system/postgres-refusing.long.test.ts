import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from '../support/api-client.ts'
import { owner, schemaOf } from '../support/postgres-owner.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { type Ledgers, startLedgers } from '../support/shared-store.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('a ledger on a PostgreSQL that is away, full, held, or restored in part')

interface Served extends Ledgers {
  readonly postgres: PostgresServer
  readonly url: string
  readonly server: ServerProcess
  readonly client: ApiClient
}

/** One ledger with a run `r`, on a server of its own. */
async function served(): Promise<Served> {
  const postgres = await startPostgres()
  const url = await newPostgresUrl(postgres)
  const ledgers = await startLedgers({ url, processes: 1 })
  const [server] = ledgers.servers
  if (server === undefined) throw new Error('one ledger was asked for')
  const client = await server.client()
  assert.is((await client.post('/v1/runs', { id: 'r', name: 'r' })).status, 201)
  const dispose = async (): Promise<void> => {
    await ledgers[Symbol.asyncDispose]()
    await postgres.kill()
  }
  return { ...ledgers, postgres, url, server, client, [Symbol.asyncDispose]: dispose }
}

const hand = (client: ApiClient, n: number) => client.post('/v1/runs/r/envelopes', { agent: 'a', payload: { n } })

const ready = (client: ApiClient): Promise<true> =>
  eventually(async () => ((await client.get('/readyz')).status === 200 ? true : undefined), 'readiness')

test('SIGTERM while the server is away ends the ledger in order, whatever it waits for (A380)', async () => {
  await using state = await served()
  const { server, postgres } = state
  for (const n of [1, 2, 3]) {
    await postgres.kill()
    const client = await server.client()
    assert.is((await hand(client, n)).status, 503)
    assert.equal(await within(server.stop('SIGTERM'), 'the end after SIGTERM'), { code: 0, signal: null })
    await postgres.start()
    await server.start()
  }
})

test('a full disk of the server makes the ledger not ready, and it is ready again by itself once rows can be written (A381)', async () => {
  await using state = await served()
  const { url, client } = state
  await using who = await owner(url)
  const schema = schemaOf(url)
  await who.query(`CREATE FUNCTION ${schema}.no_room() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`)
  await who.query(
    `CREATE TRIGGER no_room BEFORE INSERT ON ${schema}.events FOR EACH ROW EXECUTE FUNCTION ${schema}.no_room()`,
  )
  for (const n of [1, 2]) assert.is((await hand(client, n)).body.code, 'store-full')
  const readiness = await client.get('/readyz')
  assert.equal([readiness.status, readiness.body.store], [503, 'full'])
  assert.is((await client.get('/v1/runs/r')).status, 200, 'reads go on')
  await who.query(`DROP TRIGGER no_room ON ${schema}.events; DROP FUNCTION ${schema}.no_room()`)
  await ready(client)
  assert.is((await hand(client, 3)).status, 201)
  assert.is((await state.command(['verify'])).code, 0, 'what was tried left nothing behind')
})

test('events that were restored without their sequence are named as such, by a start and by a ledger beneath which that was done, with what to run (A382)', async () => {
  await using state = await served()
  const { url, server, client } = state
  const restored = async (): Promise<void> => {
    await using who = await owner(url)
    await who.query(`ALTER SEQUENCE ${schemaOf(url)}.append_groups RESTART`)
  }
  await restored()
  assert.is((await hand(client, 1)).status, 503)
  const readiness = await client.get('/readyz')
  assert.is(readiness.status, 503)
  assert.match(String(readiness.body.detail), /sequence append_groups/)
  await server.stop()
  // Each append that the server tried took a number: after enough of them none of those in use comes any more.
  await restored()
  const failure = await server.start().then(
    () => 'it started',
    (error: unknown) => String(error),
  )
  const [mend = ''] = /SELECT setval\('[^']+', \d+\)/.exec(failure) ?? []
  assert.is.not(mend, '', failure)
  {
    await using who = await owner(url)
    await who.query(mend)
  }
  await server.start()
  assert.is((await hand(await server.client(), 1)).status, 201)
  assert.is((await state.command(['verify'])).code, 0)
})

test('a first start waits for whoever holds the tables, and says what it waits for (A383)', async () => {
  const postgres = await startPostgres()
  const url = await newPostgresUrl(postgres)
  await using who = await owner(url)
  await who.query('BEGIN')
  await who.query(`LOCK TABLE ${schemaOf(url)}.events IN SHARE MODE`)
  await using ledgers = await startLedgers({ url, processes: 1 })
  const client = await ledgers.servers[0]?.client()
  if (client === undefined) throw new Error('one ledger was asked for')
  const readiness = await client.get('/readyz')
  assert.is(readiness.status, 503)
  assert.match(String(readiness.body.detail), /LedgerCreated could not be written: /)
  await who.query('ROLLBACK')
  await ready(client)
  assert.is((await client.post('/v1/runs', { id: 'r', name: 'r' })).status, 201)
  assert.is((await ledgers.command(['verify'])).code, 0)
  await ledgers[Symbol.asyncDispose]()
  await who.end()
  await postgres.kill()
})

test.run()
