import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { BIN, cleanEnv, countersign, endOf, spawnTracked } from '../support/command-line.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { contents, madeTranscripts, moveThereAndBack, onNode, recordsOf } from '../support/moved-ledger.ts'
import { startServer } from '../support/server-process.ts'
import { startLedgers } from '../support/shared-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('a ledger that moves between stores')

test('imported on a server, copied into a file and from there to another server: every digest, mac and body is the same, and the log has the same root', async () => {
  using folder = tempFolder()
  await moveThereAndBack(madeTranscripts(folder, 12))
})

test('a copy that is killed in the middle goes on where it stopped, and doubles nothing', async () => {
  using folder = tempFolder()
  await using other = await startNode()
  const from = folder.file('data/store.db')
  const { path } = madeTranscripts(folder, 25)
  await countersign(['import', path, '--format', 'openai', '--data', folder.file('data')])
  const original = contents(await recordsOf(openSqliteStore({ path: from })))
  other.faults.delayMs = 1
  const ask = ['copy', '--from', from, '--to', other.url, '--keys', folder.file('data/keys.json'), '--json']
  const child = spawnTracked([process.execPath, BIN, ...ask], { env: cleanEnv(), stdio: 'ignore' })
  const ended = endOf(child)
  await eventually(() => other.log.all.length >= 50 || undefined, '50 copied events')
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
  assert.equal(contents(await recordsOf(onNode(other))), original)
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
  // Its start is on record a moment after it serves.
  const started = () => (node.log.all.some(({ type }) => type === 'ServiceStarted') ? true : undefined)
  await eventually(started, 'the record of the start')
  const before = node.log.all.length
  const ontoServer = await countersign([...from, node.url])
  assert.is(ontoServer.code, 3, ontoServer.stderr)
  assert.match(ontoServer.stderr, /holds events that are not the beginning of the source/)
  // The ledger that serves it may have signed a checkpoint meanwhile.
  const since = node.log.all.slice(before).map(({ type }) => type)
  assert.equal(
    since.filter((type) => type !== 'CheckpointSigned'),
    [],
  )
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
