import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { assertOneLine, serveToEnd } from '../support/refused-start.ts'
import { startServer } from '../support/server-process.ts'
import { startLedgers } from '../support/shared-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('one data folder, one owner')
/** The tests that leave its data folder as it is share it. */
const first = await startServer()
test.after(() => first[Symbol.asyncDispose]())

test('a second server on a data folder ends at once and names the address of the first, which goes on (F12)', async () => {
  const client = await first.client()
  const second = await serveToEnd(first.data)
  assertOneLine(second, /in use/)
  assert.ok(second.stderr.includes(first.url), second.stderr)
  assert.ok(second.stderr.includes(String(first.pid)), second.stderr)
  assert.is((await client.post('/v1/runs', { id: 'r', name: 'r' })).status, 201)
})

test('the lock goes with a killed server: the next start needs no help (F12)', async () => {
  await first.kill()
  await first.start()
  assert.is((await (await first.client()).get('/readyz')).status, 200)
})

test('two servers started at once on one empty folder: one serves, the other names it (F12)', async () => {
  using folder = tempFolder()
  const both = await Promise.allSettled([
    startServer({ data: folder.file('d') }),
    startServer({ data: folder.file('d') }),
  ])
  const started = both.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  for (const server of started) await server[Symbol.asyncDispose]()
  assert.is(started.length, 1)
  const refused = both.find((each) => each.status === 'rejected')
  assert.match(String(refused?.reason), /in use|exists already/)
})

test('a second process on the data folder of a store on a server learns who has it; with a folder of its own it serves beside (F125)', async () => {
  await using node = await startNode()
  await using ledgers = await startLedgers({ url: node.url, processes: 2 })
  const [owner, beside] = ledgers.servers
  const said = [String(owner?.pid), owner?.url ?? '?', '--data', '--keys']
  const place = ['--store', node.url, '--data', owner?.data ?? '']
  for (const command of [['serve', '--port', '0'], ['export', '--tenant', 'acme'], ['rebuild']]) {
    const runs = command[0] === 'serve' ? countersign : runInProcess
    const refused = await runs([...command, ...place])
    assertOneLine(refused, /the data folder .* is in use by process/)
    for (const word of said) assert.ok(refused.stderr.includes(word), refused.stderr)
  }
  for (const [index, server] of [owner, beside].entries()) {
    const client = await server?.client()
    assert.is((await client?.post('/v1/runs', { id: `r${index}`, name: 'r' }))?.status, 201)
  }
  assert.is((await runInProcess(['verify', ...place])).code, 0)
  await owner?.kill()
  assert.is((await runInProcess(['export', '--tenant', 'acme', ...place])).code, 0)
})

test('another store does not take the data folder of a serving ledger along (F125)', async () => {
  using folder = tempFolder()
  const keys = ['--keys', join(first.data, 'keys.json')]
  const refused = await countersign([
    'serve',
    '--port',
    '0',
    '--data',
    first.data,
    '--store',
    folder.file('other.db'),
    ...keys,
  ])
  assertOneLine(refused, /the data folder .* is in use by process/)
})

test('a key file that others may read refuses the start and says how to mend it (A38)', async () => {
  await first.stop()
  chmodSync(join(first.data, 'keys.json'), 0o644)
  assertOneLine(await serveToEnd(first.data), /chmod 600/)
  const token = await runInProcess(['token', '--scope', 'runs:read', '--data', first.data])
  assertOneLine(token, /chmod 600/)

  chmodSync(join(first.data, 'keys.json'), 0o600)
  await first.start()
})

test.run()
