/** @module A ledger imported on a server, moved into a file and on to another server, and compared with where it came from. */
import { writeFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { parseCheckpoint } from '../../src/merkle/checkpoint.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { recordDigest } from '../../src/signing/digests.ts'
import type { EventStore, ReadRecord } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { countersign } from './command-line.ts'
import { type EventStoreNode, startNode } from './eventstoredb-node.ts'
import { collect } from './records.ts'
import { startLedgers } from './shared-store.ts'
import { type TempFolder, tempFolder } from './temp-folder.ts'
import { eventually } from './within.ts'

/** A file of runs in the OpenAI format. */
export interface Transcripts {
  readonly path: string
  readonly runs: number
}

export function madeTranscripts(folder: TempFolder, runs: number): Transcripts {
  const call = { id: 'a', type: 'function', function: { name: 'book', arguments: '{"flight":"HAT069"}' } }
  const messages = [
    { role: 'user', content: 'book a flight' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: '{"booked":true}' },
    { role: 'assistant', content: 'Booked.' },
  ]
  const lines = Array.from({ length: runs }, (_, index) =>
    JSON.stringify({ id: `chat-${index}`, model: 'm', messages }),
  )
  const path = folder.file('chats.jsonl')
  writeFileSync(path, lines.join('\n'))
  return { path, runs }
}

export const onNode = ({ url }: EventStoreNode): Promise<EventStore> =>
  openEventStoreDbStore({ url, canonical: canonicalJson })

export async function recordsOf(opening: EventStore | Promise<EventStore>): Promise<readonly ReadRecord[]> {
  await using store = await opening
  return await collect(store.readAll())
}

/** Everything of a record but its position. */
export const contents = (records: readonly ReadRecord[]): readonly unknown[] =>
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

async function imported({ path, runs }: Transcripts): Promise<Moved> {
  const folder = tempFolder()
  const node = await startNode()
  const keys = folder.file('keys.json')
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
  const note = await eventually(async () => {
    const answer = await client?.get('/v1/log/checkpoint')
    return answer?.status === 200 && sizeOf(answer.text) >= leaves ? answer.text : undefined
  }, 'a checkpoint over every run')
  for (const server of ledgers.servers) assert.equal(await server.stop(), { code: 0, signal: null })
  return note
}

function sizeOf(note: string): number {
  const parsed = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1))
  if (parsed === undefined) throw new Error(`no checkpoint: ${note}`)
  return parsed.size
}

/** Throws where anything at all is another on one of the three stores. */
export async function moveThereAndBack(transcripts: Transcripts): Promise<void> {
  await using at = await imported(transcripts)
  await using other = await startNode()
  const keys = ['--keys', at.keys]
  for (const [from, to] of [
    [at.node.url, at.file],
    [at.file, other.url],
  ] as const) {
    const { code, stderr } = await countersign(['copy', '--from', from, '--to', to, ...keys])
    assert.is(code, 0, stderr)
  }
  const original = contents(await recordsOf(onNode(at.node)))
  assert.ok(original.length > at.runs * 5)
  assert.equal(contents(await recordsOf(openSqliteStore({ path: at.file }))), original)
  assert.equal(contents(await recordsOf(onNode(other))), original)

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
  await eventually(async () => (await served()) === at.note || undefined, 'the same checkpoint')
  const proof = await client?.get(`/v1/log/proof/consistency?from=1&to=${sizeOf(at.note)}`)
  assert.is(proof?.status, 200, proof?.text)
}
