import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { assertOneLine, serveToEnd } from '../support/refused-start.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('one data folder, one server')

test('a second server on a data folder ends at once and names the address of the first, which goes on (F12)', async () => {
  await using server = await startServer()
  const client = await server.client()
  const second = await serveToEnd(server.data)
  assertOneLine(second, /in use/)
  assert.ok(second.stderr.includes(server.url), second.stderr)
  assert.ok(second.stderr.includes(String(server.pid)), second.stderr)
  assert.is((await client.post('/v1/runs', { id: 'r', name: 'r' })).status, 201)
})

test('the lock goes with a killed server: the next start needs no help (F12)', async () => {
  await using server = await startServer()
  await server.kill()
  await server.start()
  assert.is((await (await server.client()).get('/readyz')).status, 200)
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

test('a key file that others may read refuses the start and says how to mend it (A38)', async () => {
  await using server = await startServer()
  await server.stop()
  chmodSync(join(server.data, 'keys.json'), 0o644)
  assertOneLine(await serveToEnd(server.data), /chmod 600/)
  const token = await countersign(['token', '--scope', 'runs:read', '--data', server.data])
  assertOneLine(token, /chmod 600/)

  chmodSync(join(server.data, 'keys.json'), 0o600)
  await server.start()
})

test.run()
