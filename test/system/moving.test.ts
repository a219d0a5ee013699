import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseCheckpoint } from '../../src/merkle/checkpoint.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { recordDigest } from '../../src/signing/digests.ts'
import type { EventStore, ReadRecord } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { AIRLINE_RUNS } from '../support/airline-runs.ts'
import { BIN, cleanEnv, countersign, endOf, spawnTracked } from '../support/command-line.ts'
import { type EventStoreNode, startNode } from '../support/eventstoredb-node.ts'
import { collect } from '../support/records.ts'
import { startServer } from '../support/server-process.ts'
import { startLedgers } from '../support/shared-store.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('a ledger that moves between stores')

/** 100 real runs where they are at hand, else 60 made ones. */
function transcripts(folder: TempFolder): { readonly path: string; readonly runs: number } {
  if (AIRLINE_RUNS !== undefined) return { path: AIRLINE_RUNS, runs: 100 }
  console.log('skipped: the airline data is not here; made runs take its place')
  const call = { id: 'a', type: 'function', function: { name: 'book', arguments: '{"flight":"HAT069"}' } }
  const messages = [
    { role: 'user', content: 'book a flight' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: '{"booked":true}' },
    { role: 'assistant', content: 'Booked.' },
  ]
  const lines = Array.from({ length: 60 }, (_, index) => JSON.stringify({ id: `chat-${index}`, model: 'm', messages }))
  writeFileSync(folder.file('chats.jsonl'), lines.join('\n'))
  return { path: folder.file('chats.jsonl'), runs: lines.length }
}

const onNode = ({ url }: EventStoreNode): Promise<EventStore> =>
  openEventStoreDbStore({ url, canonical: canonicalJson })

async function recordsOf(opening: EventStore | Promise<EventStore>): Promise<readonly ReadRecord[]> {
  await using store = await opening
  return await collect(store.readAll())
}

/** Everything of a record but its position. */
const kept = (records: readonly ReadRecord[]): readonly unknown[] =>
  records.map(({ stream, revision, header, salt, data, requestId }) => ({
    place: `${stream} @ ${revision}`,
    digest: recordDigest(header),
    mac: JSON.parse(header).mac,
    salt: Buffer.from(salt).toString('hex'),
    data,
    requestId,
  }))

/** Runs on a server, imported there, and a file that was copied from it. */
interface Moved extends AsyncDisposable {
  readonly folder: TempFolder
  readonly node: EventStoreNode
  readonly keys: string
  readonly file: string
  /** The last checkpoint that the server's ledger signed. */
  readonly note: string
  readonly runs: number
}

async function imported(): Promise<Moved> {
  const folder = tempFolder()
  const node = await startNode()
  const keys = folder.file('keys.json')
  const { path, runs } = transcripts(folder)
  assert.is((await countersign(['keys', 'create', '--keys', keys])).code, 0)
  const place = ['--store', node.url, '--keys', keys, '--data', folder.file('importer')]
  const { code, stdout, stderr } = await countersign(['import', path, '--format', 'openai', '--json', ...place])
  assert.is(code, 0, stderr)
  assert.is(JSON.parse(stdout).added, runs)
  const note = await lastCheckpoint(node, keys)
  const file = folder.file('moved.db')
  return {
    folder,
    node,
    keys,
    file,
    note,
    runs,
    [Symbol.asyncDispose]: async () => {
      await node[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

/** Of a ledger that serves the imported runs until it has signed all of them. */
async function lastCheckpoint(node: EventStoreNode, keys: string): Promise<string> {
  const args = ['--checkpoint-seconds', '1']
  await using ledgers = await startLedgers({ url: node.url, keys, processes: 1, tenant: 'default', args })
  const client = await ledgers.servers[0]?.client()
  const leaves = node.log.all.filter(({ stream }) => stream.startsWith('run-default.')).length
  const note = await eventually(
    60_000,
    async () => {
      const answer = await client?.get('/v1/log/checkpoint')
      return answer?.status === 200 && sizeOf(answer.text) >= leaves ? answer.text : undefined
    },
    'a checkpoint over every run',
  )
  for (const server of ledgers.servers) assert.equal(await server.stop(), { code: 0, signal: null })
  return note
}

function sizeOf(note: string): number {
  const parsed = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1))
  if (parsed === undefined) throw new Error(`no checkpoint: ${note}`)
  return parsed.size
}

test('imported on a server, copied into a file and from there to another server: every digest, mac and body is the same, and the log has the same root', async () => {
  await using at = await imported()
  await using other = await startNode()
  const keys = ['--keys', at.keys]
  for (const [from, to] of [
    [at.node.url, at.file],
    [at.file, other.url],
  ] as const) {
    const { code, stderr } = await countersign(['copy', '--from', from, '--to', to, ...keys])
    assert.is(code, 0, stderr)
  }
  const original = kept(await recordsOf(onNode(at.node)))
  assert.ok(original.length > at.runs * 5)
  assert.equal(kept(await recordsOf(openSqliteStore({ path: at.file }))), original)
  assert.equal(kept(await recordsOf(onNode(other))), original)

  writeFileSync(at.folder.file('kept.txt'), at.note)
  for (const store of [at.node.url, at.file, other.url]) {
    const { code, stdout, stderr } = await countersign([
      'verify',
      store,
      ...keys,
      '--checkpoint',
      at.folder.file('kept.txt'),
    ])
    assert.is(code, 0, stdout + stderr)
    assert.match(stdout, /^VERIFIED/m)
  }
  // A ledger that serves the copy serves the very checkpoint, over a tree that it grew itself.
  const args = ['--checkpoint-seconds', '1']
  await using ledgers = await startLedgers({ url: other.url, keys: at.keys, processes: 1, tenant: 'default', args })
  const client = await ledgers.servers[0]?.client()
  const served = async () => (await client?.get('/v1/log/checkpoint'))?.text
  await eventually(30_000, async () => (await served()) === at.note || undefined, 'the same checkpoint')
  const proof = await client?.get(`/v1/log/proof/consistency?from=1&to=${sizeOf(at.note)}`)
  assert.is(proof?.status, 200, proof?.text)
})

test('a copy that is killed in the middle goes on where it stopped, and doubles nothing', async () => {
  using folder = tempFolder()
  await using other = await startNode()
  const from = folder.file('data/store.db')
  const { path } = transcripts(folder)
  await countersign(['import', path, '--format', 'openai', '--data', folder.file('data')])
  const original = kept(await recordsOf(openSqliteStore({ path: from })))
  other.faults.delayMs = 1
  const ask = ['copy', '--from', from, '--to', other.url, '--keys', folder.file('data/keys.json'), '--json']
  const child = spawnTracked([process.execPath, BIN, ...ask], { env: cleanEnv(), stdio: 'ignore' })
  const ended = endOf(child)
  await eventually(60_000, () => other.log.all.length >= 100 || undefined, '100 copied events')
  child.kill('SIGKILL')
  assert.is((await ended).signal, 'SIGKILL')
  other.faults.clear()
  const total = original.length
  const there = other.log.all.length
  assert.ok(there < total, 'the kill came in the middle')

  const again = await countersign(ask)
  assert.is(again.code, 0, again.stderr)
  const { copied, known } = JSON.parse(again.stdout)
  assert.equal([copied, known], [total - there, there])
  assert.equal(kept(await recordsOf(onNode(other))), original)
  assert.is(JSON.parse((await countersign(ask)).stdout).copied, 0)
})

test('a store that somebody serves is no target, be it a file or on a server, and neither is touched', async () => {
  using folder = tempFolder()
  await using source = await startServer()
  await (await source.client()).post('/v1/runs', { id: 'r', name: 'r' })
  const from = ['copy', '--from', `${source.data}/store.db`, '--keys', `${source.data}/keys.json`, '--to']

  await using file = await startServer({ data: folder.file('served') })
  const ontoFile = await countersign([...from, `${file.data}/store.db`])
  assert.is(ontoFile.code, 3, ontoFile.stderr)
  assert.match(ontoFile.stderr, /in use/)
  assert.equal((await (await file.client()).get('/v1/runs')).body.items, [])

  await using node = await startNode()
  await using served = await startLedgers({ url: node.url, processes: 1 })
  assert.is(served.servers.length, 1)
  const before = node.log.all.length
  const ontoServer = await countersign([...from, node.url])
  assert.is(ontoServer.code, 3, ontoServer.stderr)
  assert.match(ontoServer.stderr, /holds events that are not the beginning of the source/)
  assert.is(node.log.all.length, before)
})

test('what somebody else writes into the target while it is copied is found at the end, and said', async () => {
  await using source = await startServer()
  await (await source.client()).post('/v1/runs', { id: 'r', name: 'r' })
  await using node = await startNode()
  node.faults.onAppend = ({ count }) => {
    const planted = { id: crypto.randomUUID(), type: 'Noted', contentType: 'application/json' }
    const nothing = Uint8Array.from(Buffer.from('{}'))
    if (count === 2) node.log.append('run-acme.planted', 'any', [{ ...planted, data: nothing, metadata: nothing }])
    return undefined
  }
  const { code, stderr } = await countersign([
    'copy',
    ...['--from', `${source.data}/store.db`, '--keys', `${source.data}/keys.json`, '--to', node.url],
  ])
  assert.is(code, 3, stderr)
  assert.match(stderr, /does not hold what was copied and nothing else/)
})

test.run()
