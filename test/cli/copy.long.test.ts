import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Command } from '../../src/ledger/ledger.ts'
import { readSettings } from '../../src/settings/config.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { recordDigest } from '../../src/signing/digests.ts'
import type { EventStore, ReadRecord } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { type EventStoreNode, startNode } from '../support/eventstoredb-node.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { appendOf, collect } from '../support/records.ts'
import { CALLER, smallStore } from '../support/small-store.ts'

const test = suite('countersign copy')

async function recordsOf(opening: EventStore | Promise<EventStore>): Promise<readonly ReadRecord[]> {
  await using store = await opening
  return await collect(store.readAll())
}

const digests = (records: readonly ReadRecord[]): readonly string[] => records.map(({ header }) => recordDigest(header))
const onNode = (node: EventStoreNode): Promise<EventStore> =>
  openEventStoreDbStore({ url: node.url, canonical: canonicalJson })

test('from a file to a server and back into a file every digest, body and place is the same, and the copy verifies (STR-28)', async () => {
  using small = await smallStore()
  await using node = await startNode()
  const keys = ['--keys', small.keysPath]
  const back = small.folder.file('back.db')
  const there = await runInProcess(['copy', '--from', small.path, '--to', node.url, '--json', ...keys])
  assert.is(there.code, 0, there.stderr)
  const home = await runInProcess(['copy', '--from', node.url, '--to', back, ...keys])
  assert.is(home.code, 0, home.stderr)

  const original = await recordsOf(openSqliteStore({ path: small.path }))
  assert.ok(original.length > 10)
  for (const records of [await recordsOf(onNode(node)), await recordsOf(openSqliteStore({ path: back }))]) {
    assert.equal(digests(records), digests(original))
    assert.equal(
      records.map(({ stream, revision, data, requestId }) => [stream, revision, data, requestId]),
      original.map(({ stream, revision, data, requestId }) => [stream, revision, data, requestId]),
    )
  }
  assert.is(JSON.parse(there.stdout).copied, original.length)
  for (const store of [node.url, back]) assert.is((await runInProcess(['verify', store, ...keys])).code, 0)
})

test('a copy that was cut off goes on where it stopped, and a second one adds nothing', async () => {
  using small = await smallStore()
  await using node = await startNode()
  const original = await recordsOf(openSqliteStore({ path: small.path }))
  const begun = await onNode(node)
  for (const record of original.slice(0, 5)) {
    const { id, type, request } = JSON.parse(record.header)
    const requestId = request === undefined ? {} : { requestId: request.id }
    await begun.append({
      stream: record.stream,
      expectedRevision: record.revision - 1,
      records: [{ ...record, id, type, ...requestId }],
    })
  }
  await begun[Symbol.asyncDispose]()
  const ask = ['copy', '--from', small.path, '--to', node.url, '--json', '--keys', small.keysPath]
  const { copied, known } = JSON.parse((await runInProcess(ask)).stdout)
  assert.equal([copied, known], [original.length - 5, 5])
  assert.is(JSON.parse((await runInProcess(ask)).stdout).copied, 0)
  assert.equal(digests(await recordsOf(onNode(node))), digests(original))
})

test('a target that holds anything else is left as it is', async () => {
  using small = await smallStore()
  await using node = await startNode()
  const other = await onNode(node)
  await other.append(appendOf('run-acme.other', -1, 2))
  await other[Symbol.asyncDispose]()
  const { code, stderr } = await runInProcess([
    'copy',
    '--from',
    small.path,
    '--to',
    node.url,
    '--keys',
    small.keysPath,
  ])
  assert.is(code, 3, stderr)
  assert.is((await recordsOf(onNode(node))).length, 2)
})

test('an event that was tampered with ends the copy before it', async () => {
  using small = await smallStore()
  await using node = await startNode()
  const keys = ['--keys', small.keysPath]
  await runInProcess(['copy', '--from', small.path, '--to', node.url, ...keys])
  const { all } = node.log
  const at = all.length - 3
  const event = all[at]
  if (event !== undefined) all[at] = { ...event, data: Uint8Array.from(Buffer.from('{"forged":true}')) }
  const path = small.folder.file('stopped.db')
  assert.is((await runInProcess(['copy', '--from', node.url, '--to', path, ...keys])).code, 1)
  assert.ok((await recordsOf(openSqliteStore({ path }))).length <= at)
})

test('files of another kind of store in the data folder say nothing of the source', async () => {
  using small = await smallStore()
  await using node = await startNode()
  const ways = [
    [small.path, node.url],
    [node.url, small.folder.file('back.db')],
  ] as const
  for (const [from, to] of ways) {
    const { code, stderr } = await runInProcess(['copy', '--from', from, '--to', to, '--data', small.folder.path])
    assert.is(code, 0, stderr)
  }
  const ofCopy = ['--tenant', 'acme', '--store', node.url, '--data', small.folder.path]
  for (const command of ['replay', 'report']) {
    const { code, stdout, stderr } = await runInProcess([command, 'one', ...ofCopy])
    assert.is(code, 0, `${command}: ${stdout}${stderr}`)
  }
})

test('log.db that follows a ledger on PostgreSQL says nothing of a file in the same folder (LOG-49)', async () => {
  using small = await smallStore()
  const [data, url] = [small.folder.path, await newPostgresUrl()]
  const there = await runInProcess(['copy', '--from', small.path, '--to', url, '--data', data])
  assert.is(there.code, 0, there.stderr)
  {
    await using opened = await openLedger(readSettings({ data, store: url, 'checkpoint-seconds': '0' }, {}), silentLog)
    const start: Command = { kind: 'start', body: { id: 'three', name: 'try' } }
    assert.ok((await opened.ledger.execute(CALLER, 'three', start, {})).ok)
    await opened.ledger.logs?.catchUp()
  }
  const to = small.folder.file('other.db')
  const { code, stderr } = await runInProcess(['copy', '--from', small.path, '--to', to, '--data', data])
  assert.is(code, 0, stderr)
})

test.run()
