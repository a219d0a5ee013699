import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { type EventStoreNode, startNode } from '../support/eventstoredb-node.ts'
import { type Ledgers, startLedgers } from '../support/shared-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('a ledger that starts before its store')

interface Away extends Ledgers {
  readonly node: EventStoreNode
}

/** A node that is away, and ledgers that were started on it all the same. */
async function startedAway(processes: number, { keys }: { readonly keys?: string } = {}): Promise<Away> {
  const node = await startNode()
  await node.stop()
  const ledgers = await startLedgers({ url: node.url, processes, ...(keys !== undefined && { keys }) })
  return {
    ...ledgers,
    node,
    [Symbol.asyncDispose]: async () => {
      await ledgers[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

test('it listens and lives, is not ready and says why, answers 503 with Retry-After, and serves by itself once the store is there (F21)', async () => {
  await using away = await startedAway(1)
  const [server] = away.servers
  const client = await server?.client()
  if (client === undefined) throw new Error('one server was asked for')
  assert.is((await client.get('/healthz')).status, 200)
  const readiness = await client.get('/readyz')
  assert.is(readiness.status, 503)
  assert.is(readiness.body.store, 'unavailable')
  assert.match(String(readiness.body.detail), /event store does not answer: .+/)
  const start = { id: 'r', name: 'r' }
  for (const answer of [
    await client.post('/v1/runs', start),
    await client.get('/v1/runs'),
    await client.get('/v1/log/checkpoint'),
  ]) {
    assert.is(answer.status, 503, answer.text)
    assert.is(answer.body.code, 'store-unavailable')
    assert.ok(Number(answer.headers['retry-after']) >= 1)
  }
  assert.is((await client.get('/.well-known/jwks.json')).status, 200)
  assert.is((await client.get('/metrics')).status, 200)
  assert.is((await server?.clientOf('no token').get('/v1/runs'))?.status, 401)

  await away.node.start()
  await eventually(async () => (await client.get('/readyz')).status === 200 || undefined, 'readiness')
  assert.is((await client.post('/v1/runs', start)).status, 201)
  assert.is((await away.command(['verify'])).code, 0)
})

test('of two that wait for one store one founds the ledger, and both serve it (F21)', async () => {
  await using away = await startedAway(2)
  const clients = await Promise.all(away.servers.map((server) => server.client()))
  await away.node.start()
  for (const [index, client] of clients.entries()) {
    await eventually(async () => (await client.get('/readyz')).status === 200 || undefined, 'readiness')
    assert.is((await client.post('/v1/runs', { id: `r${index}`, name: 'r' })).status, 201)
  }
  for (const client of clients) assert.is((await client.get('/v1/runs/r0')).status, 200)
  assert.is(away.node.log.all.filter(({ type }) => type === 'LedgerCreated').length, 1)
})

test('keys that did not found the ledger end the process when the store is back, in one line, as at any other start (F21)', async () => {
  using folder = tempFolder()
  await countersign(['keys', 'create', '--keys', folder.file('other.json')])
  await using away = await startedAway(1, { keys: folder.file('other.json') })
  const [server] = away.servers
  assert.is((await (await server?.client())?.get('/readyz'))?.status, 503)

  // While this one waits, another process founds the ledger with keys of its own: its events are what the store comes back with.
  const founder = await startNode()
  await using owner = await startLedgers({ url: founder.url, processes: 1 })
  for (const event of founder.log.all) away.node.log.append(event.stream, 'any', [event])
  await away.node.start()
  const ended = await within(server?.ended ?? Promise.reject(new Error('no server')), 'the end')
  assert.equal(ended, { code: 1, signal: null })
  assert.match(server?.stderr ?? '', /^countersign: .*did not found this ledger.*\n$/)
  await owner[Symbol.asyncDispose]()
  await founder[Symbol.asyncDispose]()
})

test('a store that takes connections and answers nothing is waited for like one that is away (F22)', async () => {
  await using node = await startNode()
  node.faults.freeze()
  await using ledgers = await startLedgers({ url: node.url, processes: 1 })
  const client = await ledgers.servers[0]?.client()
  assert.is((await client?.get('/readyz'))?.status, 503)
  node.faults.thaw()
  await eventually(async () => (await client?.get('/readyz'))?.status === 200 || undefined, 'readiness')
})

test('SIGTERM ends it in order while it waits, and while a store that it served is away (F24)', async () => {
  await using away = await startedAway(1)
  const [waiting] = away.servers
  assert.equal(await within(waiting?.stop('SIGTERM') ?? Promise.reject(new Error('no server'))), {
    code: 0,
    signal: null,
  })
  await away.node.start()
  await waiting?.start()
  const client = await waiting?.client()
  assert.is((await client?.post('/v1/runs', { id: 'r', name: 'r' }))?.status, 201)
  await away.node.stop()
  assert.is((await client?.post('/v1/runs', { id: 's', name: 's' }))?.status, 503)
  assert.equal(await within(waiting?.stop('SIGTERM') ?? Promise.reject(new Error('no server'))), {
    code: 0,
    signal: null,
  })
})

test.run()
