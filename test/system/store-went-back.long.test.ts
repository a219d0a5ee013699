import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from '../support/api-client.ts'
import { countersign } from '../support/command-line.ts'
import { owner, schemaOf } from '../support/postgres-owner.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { assertOneLine } from '../support/refused-start.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { sharedStore, startLedgers } from '../support/shared-store.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('a store that goes backwards under serving ledgers')

const RUNS = 8

async function fill(client: ApiClient, prefix: string): Promise<void> {
  for (let run = 0; run < RUNS; run += 1)
    assert.is((await client.post('/v1/runs', { id: `${prefix}${run}`, name: 'r' })).status, 201)
}

/** Nothing is answered as if it were whole, nothing written, and each place that is asked says why. */
async function assertStopped(server: ServerProcess, client: ApiClient): Promise<void> {
  const [ready, got, posted] = [
    await client.get('/readyz'),
    await client.get('/v1/runs/a0'),
    await client.post('/v1/runs', { id: 'later', name: 'r' }),
  ]
  assert.equal([ready.status, got.status, posted.status], [503, 503, 503])
  assert.match(JSON.stringify(ready.body), /went backwards/)
  assert.match(JSON.stringify(got.body), /store-went-back/)
  assert.match(JSON.stringify(posted.body), /store-went-back/)
  assert.match(server.output, /the store went backwards: it no longer holds this event/)
  assert.is(existsSync(join(server.data, 'store.db.lost')), true)
}

const start = (server: ServerProcess, url: string) =>
  within(countersign(['serve', '--port', '0', '--data', server.data, '--store', url]), 'the end of the start')

for (const how of ['behind new connections', 'behind the connections of a pooler'] as const) {
  test(`PostgreSQL: a standby without the tail is promoted ${how}: nothing is written to it, over restarts, until the newer one is back (F320)`, async () => {
    const url = await newPostgresUrl()
    const schema = schemaOf(url)
    await using ledgers = await startLedgers({ url, processes: 1 })
    const [server] = ledgers.servers
    if (server === undefined) throw new Error('one ledger was asked for')
    const client = await server.client()
    await fill(client, 'a')
    await using db = await owner(url)
    const rows = async (): Promise<string> =>
      String((await db.query(`SELECT count(*) AS events FROM ${schema}.events`)).rows[0]?.events)
    // What the standby lacks; its sequence is ahead, as the log of PostgreSQL has it.
    await db.query('SET session_replication_role = replica')
    await db.query(
      `CREATE TABLE ${schema}.newer AS SELECT position, stream, revision, header, salt, data, request FROM ${schema}.events ORDER BY position DESC LIMIT 5`,
    )
    await db.query(`DELETE FROM ${schema}.events WHERE position IN (SELECT position FROM ${schema}.newer)`)
    const left = await rows()
    if (how === 'behind new connections')
      await db.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database() AND query LIKE '%${schema}%'`,
      )
    const writes = Array.from({ length: 6 }, (_, run) => client.post('/v1/runs', { id: `fork${run}`, name: 'r' }))
    for (const { status } of await Promise.all(writes)) assert.is(status, 503)
    assert.is(await rows(), left, 'nothing was written to it')
    await assertStopped(server, client)
    assert.equal(await server.stop(), { code: 0, signal: null })
    assert.is(await rows(), left)

    assertOneLine(await start(server, url), /the store went backwards: it lacks .*store\.db\.lost/)
    await db.query(
      `INSERT INTO ${schema}.events (position, stream, revision, header, salt, data, request) SELECT * FROM ${schema}.newer`,
    )
    await server.start()
    assert.match(server.output, /the store again holds the event that it had lost/)
    const again = await server.client()
    assert.is((await again.post('/v1/runs', { id: 'later', name: 'r' })).status, 201)
    assert.is(existsSync(join(server.data, 'store.db.lost')), false)
    assert.equal(await server.stop(), { code: 0, signal: null })
    const verified = await ledgers.command(['verify'])
    assert.is(verified.code, 0, verified.stdout)
  })
}

test('EventStoreDB: put back to an older copy under two connected ledgers, neither goes on (F320)', async () => {
  await using shared = await sharedStore(2)
  const { node, servers } = shared
  const clients = await Promise.all(servers.map((server) => server.client()))
  // In turns: of the events that will be gone some were acknowledged to each.
  for (let run = 0; run < RUNS; run += 1)
    for (const [index, client] of clients.entries())
      assert.is((await client.post('/v1/runs', { id: `${'ab'[index]}${run}`, name: 'r' })).status, 201)
  await node.stop()
  node.log.rollBack(6)
  const left = node.log.all.length
  await node.start()
  const writes = clients.flatMap((client, index) =>
    [0, 1, 2, 3].map((run) => client.post('/v1/runs', { id: `fork${index}${run}`, name: 'r' })),
  )
  for (const { status } of await Promise.all(writes)) assert.is(status, 503)
  for (const [index, server] of servers.entries()) {
    const client = clients[index]
    if (client === undefined) throw new Error('two ledgers were asked for')
    const why = async (): Promise<true | undefined> =>
      JSON.stringify((await client.get('/readyz')).body).includes('backwards') || undefined
    await eventually(why, 'why it is not ready')
    await assertStopped(server, client)
  }
  assert.is(node.log.all.length, left, 'nothing was written to it')
})

test('a note that was altered, or is of other keys, is no way back; without it the store is believed (F321)', async () => {
  await using shared = await sharedStore(1)
  const { node } = shared
  const [server] = shared.servers
  if (server === undefined) throw new Error('one ledger was asked for')
  await fill(await server.client(), 'a')
  await node.stop()
  node.log.rollBack(1)
  await node.start()
  const client = await server.client()
  await eventually(async () => ((await client.get('/readyz')).status === 503 ? true : undefined), 'the stop')
  await eventually(() => (existsSync(join(server.data, 'store.db.lost')) ? true : undefined), 'the note')
  await server.stop()
  const path = join(server.data, 'store.db.lost')
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/"revision": (\d+)/, '"revision": 1$1'))
  assertOneLine(await start(server, node.url), /store\.db\.lost.* is damaged or of other keys/)
  writeFileSync(path, text)
  assertOneLine(await start(server, node.url), /the store went backwards: it lacks /)
  renameSync(path, `${path}.kept`)
  await server.start()
  assert.is((await (await server.client()).get('/readyz')).status, 200)
})

test.run()
