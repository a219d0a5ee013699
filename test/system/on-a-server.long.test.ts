import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from '../support/api-client.ts'
import { countersign } from '../support/command-line.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { type SharedStore, sharedStore } from '../support/shared-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('ledger processes on one EventStoreDB')

async function clientsOf({ servers }: SharedStore): Promise<readonly [ApiClient, ApiClient]> {
  const [first, second] = await Promise.all(servers.map((server) => server.client()))
  if (first === undefined || second === undefined) throw new Error('two servers were asked for')
  return [first, second]
}

test('what one process wrote another one reads, builds on, lists and verifies, and both see one order', async () => {
  await using shared = await sharedStore(2)
  const clients = await clientsOf(shared)
  const [first, second] = clients
  assert.is((await first.post('/v1/runs', { id: 'both', name: 'both' })).status, 201)
  for (let step = 0; step < 20; step += 1) {
    const client = clients[step % 2] ?? first
    const answer = await client.post('/v1/runs/both/envelopes', {
      agent: 'writer',
      payload: { notes: { [`step${step}`]: step } },
    })
    assert.is(answer.status, 201, answer.text)
    assert.is(answer.body.step, step + 1)
  }
  const [here, there] = await Promise.all(clients.map((client) => client.get('/v1/runs/both/context')))
  assert.equal(here?.body, there?.body)
  const [events, sameEvents] = await Promise.all(clients.map((client) => client.get('/v1/events?limit=100')))
  assert.equal(digests(events?.body), digests(sameEvents?.body))
  assert.is(digests(events?.body).length, 21)
  assert.equal(
    ((await second.get('/v1/runs')).body.items as { runId: string }[]).map(({ runId }) => runId),
    ['both'],
  )

  const verified = await shared.command(['verify'])
  assert.is(verified.code, 0, verified.stdout + verified.stderr)
  assert.match(verified.stdout, /VERIFIED/)
  const replayed = await shared.command(['replay', 'both', '--tenant', 'acme'])
  assert.is(replayed.code, 0, replayed.stdout + replayed.stderr)
})

function digests(body: unknown): readonly unknown[] {
  const { items } = body as { readonly items: readonly { readonly digest: unknown }[] }
  return items.map(({ digest }) => digest)
}

test('every process serves the same runs, the same order, the same tiles and the same signed root, whichever of them signed it', async () => {
  await using shared = await sharedStore(2, ['--checkpoint-seconds', '1'])
  const clients = await clientsOf(shared)
  for (let run = 0; run < 6; run += 1) {
    const client = clients[run % 2] ?? clients[0]
    assert.is((await client.post('/v1/runs', { id: `r${run}`, name: 'r', tags: [`part ${run % 3}`] })).status, 201)
    const other = clients[(run + 1) % 2] ?? clients[0]
    const answer = await other.post(`/v1/runs/r${run}/envelopes`, { agent: 'writer', payload: { run } })
    assert.is(answer.status, 201, answer.text)
  }
  const leaves = 6 * 2
  const same = async (): Promise<readonly string[] | undefined> => {
    const [here, there] = await Promise.all(clients.map((client) => client.get('/v1/log/checkpoint')))
    if (here?.status !== 200 || here.text !== there?.text) return undefined
    return Number(here.text.split('\n')[1]) >= leaves ? here.text.split('\n') : undefined
  }
  const [, size = ''] = await eventually(same, 'one checkpoint in both')
  for (const path of [
    `log/tile/0/000.p/${size}`,
    `log/tile/entries/000.p/${size}`,
    'runs?limit=100',
    'events?limit=100',
  ]) {
    const [here, there] = await Promise.all(clients.map((client) => client.get(`/v1/${path}`)))
    assert.is(here?.status, 200, path)
    assert.equal(listed(here?.text), listed(there?.text), path)
  }
})

/** What two processes must agree on: a page without the cursors, which each seals for itself. */
function listed(text = ''): unknown {
  try {
    return JSON.parse(text).items
  } catch {
    return text
  }
}

test('a call claimed in one process is not run in the other, and its result is known to both', async () => {
  await using shared = await sharedStore(2)
  const [first, second] = await clientsOf(shared)
  await first.post('/v1/runs', { id: 'claims', name: 'claims' })
  for (let round = 0; round < 10; round += 1) {
    const claim = { tool: 'charge', args: { round } }
    const answers = await Promise.all([first, second].map((client) => client.post('/v1/runs/claims/calls', claim)))
    assert.equal(answers.map(({ status }) => status).sort(), [201, 409], `round ${round}`)
    const won = answers.find(({ status }) => status === 201)
    const settle = { fence: won?.body.fence ?? 0, result: { paid: round } }
    assert.is((await second.post(`/v1/runs/claims/calls/${won?.body.callId}/settle`, settle)).status, 200)
    for (const client of [first, second]) {
      const again = await client.post('/v1/runs/claims/calls', claim)
      assert.is(again.status, 200)
      assert.equal(again.body.result, { paid: round })
    }
  }
})

test('two processes that reserve at once never overshoot the budget together', async () => {
  await using shared = await sharedStore(2)
  const clients = await clientsOf(shared)
  await clients[0].post('/v1/runs', { id: 'budget', name: 'budget', budget: { tokens: 1_000 } })
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, agent) => {
      const client = clients[agent % 2] ?? clients[0]
      return client.post('/v1/runs/budget/reservations', { agent: `a${agent}`, tokens: 100 })
    }),
  )
  assert.ok(answers.filter(({ status }) => status === 201).length <= 10)
  const budget = (await clients[1].get('/v1/runs/budget/budget')).body
  assert.is(budget.reservedTokens, 100 * answers.filter(({ status }) => status === 201).length)
})

test('while the store is away the API answers 503 with Retry-After and is not ready; then it serves again by itself (F21)', async () => {
  await using shared = await sharedStore(1)
  const [server] = shared.servers
  if (server === undefined) throw new Error('one server was asked for')
  const client = await server.client()
  await client.post('/v1/runs', { id: 'away', name: 'away' })
  await shared.node.stop()
  const refused = await client.post('/v1/runs/away/envelopes', { agent: 'writer', payload: { a: 1 } })
  assert.is(refused.status, 503)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.is((await client.get('/readyz')).status, 503)

  const backMs = performance.now()
  await shared.node.start()
  await eventually(async () => (await client.get('/readyz')).status === 200 || undefined, 'readiness')
  assert.is((await client.post('/v1/runs/away/envelopes', { agent: 'writer', payload: { a: 1 } })).status, 201)
  assert.ok(performance.now() - backMs < 2_000)
})

test('the tour walks on a server as it does on a file', async () => {
  await using node = await startNode()
  const { code, stdout, stderr } = await countersign(['tour', '--store', node.url])
  assert.is(code, 0, stdout + stderr)
  assert.match(stdout, /^VERIFIED/m)
})

test('a ledger on a shared store makes no keys of its own, and refuses keys that did not found it (STR-4, STR-5)', async () => {
  await using node = await startNode()
  using folder = tempFolder()
  const place = ['--data', folder.file('data'), '--store', node.url]
  writeFileSync(folder.file('none.jsonl'), '')
  const load = ['import', folder.file('none.jsonl'), '--format', 'openai', ...place]
  const without = await countersign(load)
  assert.is.not(without.code, 0)
  assert.match(without.stderr, /keys create/)
  assert.is(await countersign(['keys', 'create', ...place]).then(({ code }) => code), 0)
  assert.is((await countersign(load)).code, 0)

  const other = ['--keys', folder.file('other.json')]
  await countersign(['keys', 'create', ...other])
  const foreign = await countersign([...load, ...other])
  assert.is.not(foreign.code, 0)
  assert.match(foreign.stderr, /did not found this ledger/)
})

test('an event that somebody changes on the server is TAMPERED, whether in the body, the header or a copy beside it', async () => {
  await using shared = await sharedStore(1)
  const [server] = shared.servers
  const client = await server?.client()
  await client?.post('/v1/runs', { id: 'changed', name: 'changed' })
  await client?.post('/v1/runs/changed/envelopes', { agent: 'writer', payload: { amount: 'twelve' } })
  await server?.stop()
  const { all } = shared.node.log
  const at = all.findIndex(({ type }) => type === 'EnvelopeAccepted')
  const event = all[at]
  if (event === undefined) throw new Error('the envelope is not in the log')
  const bytes = (from: Uint8Array, old: string, now: string): Uint8Array =>
    Uint8Array.from(Buffer.from(Buffer.from(from).toString('utf8').replace(old, now)))
  const changes = [
    { ...event, data: bytes(event.data, 'twelve', 'eleven') },
    { ...event, metadata: bytes(event.metadata, '"actor":"alice"', '"actor":"malice"') },
    { ...event, metadata: bytes(event.metadata, '"$correlationId":"changed"', '"$correlationId":"another"') },
    { ...event, type: 'EnvelopeRejected' },
  ]
  for (const changed of changes) {
    all[at] = changed
    const { code, stdout, stderr } = await shared.command(['verify'])
    assert.is(code, 1, stdout + stderr)
  }
  all[at] = event
  assert.is((await shared.command(['verify'])).code, 0)
})

test.run()
