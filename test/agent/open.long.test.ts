import { existsSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { connect } from '../../src/agent/connect.ts'
import { fromEnv, open } from '../../src/agent/open.ts'
import { BIN, runCommand } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { codeOf, rejection } from './homes.ts'

const opening = suite('opening a ledger')

opening('one handle per store: opened twice it is shared, and closed with its last user', async () => {
  using folder = tempFolder()
  const path = folder.file('data')
  const [first, second] = await Promise.all([open({ path }), open({ path })])
  const one = first.tool((n: number) => n + 1, { name: 'add' })
  const two = second.tool((n: number) => n + 1, { name: 'add' })
  assert.is(await first.run({ id: 'a' }, () => one(1)), 2)
  await first.close()
  await first.close()
  assert.is(codeOf(await rejection(first.run(() => one(1)))), 'closed')
  assert.is(await second.run({ id: 'b' }, () => two(2)), 3)
  await second.close()
  await using third = await open({ path })
  const again = third.tool((n: number) => n + 1, { name: 'add' })
  assert.is(await third.run({ id: 'a' }, () => again(1)), 2, 'what was recorded is there')
})

opening('a store that a server owns: refused, naming its URL; the same code connects to it', async () => {
  await using server = await startServer()
  const error = await rejection(open({ path: server.data }))
  assert.is(codeOf(error), 'store-locked')
  assert.match((error as Error).message, server.url)

  await using cs = connect({ url: server.url, token: await server.token() })
  const add = cs.tool((n: number) => n + 1, { name: 'add', compensate: 'not-needed' })
  assert.equal(await cs.run({ id: 'served' }, () => Promise.all([add(1), add(2)])), [2, 3])
  const lines = []
  for await (const text of cs.export('served')) lines.push(text)
  assert.match(lines.join(''), '"trailer"')
})

opening('the environment says which home; with nothing set it is ./.countersign', async () => {
  using folder = tempFolder()
  await using cs = await fromEnv({ COUNTERSIGN_DATA: folder.file('data') })
  assert.is(cs.place, folder.file('data'))
  assert.ok(existsSync(folder.file('data/store.db')))
  assert.is(codeOf(await rejection(fromEnv({ COUNTERSIGN_URL: 'http://127.0.0.1:1' }))), 'setting-missing')
  const remote = await fromEnv({ COUNTERSIGN_URL: 'http://127.0.0.1:1', COUNTERSIGN_TOKEN: 't' })
  assert.is(remote.place, 'http://127.0.0.1:1')
})

opening('in memory each opening is a ledger of its own', async () => {
  await using one = await open({ path: ':memory:' })
  await using two = await open({ path: ':memory:' })
  let effects = 0
  const tools = [one, two].map((cs) => cs.tool(() => ++effects, { name: 'effect' }))
  await one.run({ id: 'same' }, () => tools[0]?.())
  await two.run({ id: 'same' }, () => tools[1]?.())
  assert.is(effects, 2)
})

opening('served from the same process: its pages and its API show what it writes, until it is closed', async () => {
  using folder = tempFolder()
  const path = folder.file('data')
  const taken = await open({ path, serve: 0 })
  const url = taken.url ?? ''
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/, 'on loopback, unless asked')
  const { stdout: token } = await runCommand([process.execPath, BIN, 'token', '--scope', 'runs:read', '--data', path])
  await taken.run({ id: 'shown', name: 'shown' }, async (run) => run.once('draw', () => 7))
  const headers = { authorization: `Bearer ${token.trim()}` }
  const shown = (await (await fetch(`${url}/v1/runs/shown`, { headers })).json()) as { status?: string }
  assert.is(shown.status, 'completed')
  assert.is((await fetch(`${url}/v1/runs/shown`)).status, 401)
  assert.match(await (await fetch(`${url}/ui/sign-in`)).text(), /Countersign/)
  const locked = await runCommand([process.execPath, BIN, 'serve', '--data', path, '--port', '0'])
  assert.ok(locked.stderr.includes(url) || locked.stdout.includes(url), 'a second process learns where it is')

  const port = Number(new URL(url).port)
  const refused = await rejection(open({ path: folder.file('other'), serve: port }))
  assert.is(codeOf(refused), 'serve-failed')
  assert.match((refused as Error).message, new RegExp(`127\\.0\\.0\\.1:${port}: another program has this port`))
  await using other = await open({ path: folder.file('other') })
  assert.is(other.url, undefined, 'what could not be served was closed, too')
  for (const serve of [-1, 1.5, 65_536, { port: 1, host: '' }])
    assert.is(codeOf(await rejection(open({ path, serve }))), 'invalid-serve')
  assert.is(codeOf(await rejection(open({ path: ':memory:', serve: 0 }))), 'invalid-serve')
  await taken.close()
  assert.ok(await rejection(fetch(`${url}/healthz`)), 'it closes with the ledger')
})

opening.run()
