import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { firstSteps } from '../../src/cli/first-steps.ts'
import { startedInTime } from '../../src/cli/serve.ts'
import { BIN, countersign } from '../support/command-line.ts'
import { foundLedger, runInProcess } from '../support/in-process-command.ts'
import { startServer } from '../support/server-process.ts'
import { tamper } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const serve = suite('cli: serve')
/** By the first server, from its start to its end. */
let said = ''
const home = tempFolder()
/** The tests that leave its data folder as it is share it; its path has a blank. */
const server = await startServer({ data: home.file('my data') })
serve.after(async () => {
  await server[Symbol.asyncDispose]()
  home[Symbol.dispose]()
})

serve('the first start makes keys that only their owner may read, and a later one keeps them', async () => {
  using folder = tempFolder()
  const keyFile = folder.file('.countersign/keys.json')
  const first = await startServer({ data: folder.file('.countersign') })
  const made = statSync(keyFile)
  assert.is(made.mode & 0o777, 0o600)
  assert.is(statSync(folder.file('.countersign')).mode & 0o777, 0o700)
  assert.is((await first.stop()).code, 0)
  assert.not.ok(existsSync(folder.file('.countersign/store.db.owner')))
  said = first.output

  const second = await startServer({ data: folder.file('.countersign') })
  assert.is((await second.stop('SIGINT')).code, 0)
  assert.is(statSync(keyFile).ino, made.ino)
})

serve('a signal ends a start that reads a whole store, and waits for one that is nearly over', async () => {
  const never = new Promise<never>(() => {})
  assert.is(await startedInTime(never, Promise.resolve(), 0), undefined)
  const soon = new Promise((begun) => setImmediate(begun, 'begun'))
  assert.is(await startedInTime(soon, Promise.resolve(), 60_000), 'begun')
  assert.is(await startedInTime(Promise.resolve('begun'), never, 0), 'begun')
  const refused = await startedInTime(Promise.reject(new Error('no')), never, 0).catch(String)
  assert.is(refused, 'Error: no')
})

serve('without a terminal stdout is a log of JSON lines and nothing else', () => {
  const lines = said.trimEnd().split('\n')
  assert.equal(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['listening', 'closing', 'closed'],
  )
})

serve('the lines that a newcomer is shown work when they are pasted into a shell', async () => {
  using folder = tempFolder()
  const lines = firstSteps({ url: server.url, data: server.data }).join('\n')
  const script = lines.replaceAll('npx countersign', `"${process.execPath}" "${BIN}"`)
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script], { cwd: folder.path, encoding: 'utf8' })
  assert.is(status, 0, stderr)
  const [started = '', accepted = '', refused = '', verified = ''] = stdout.trimEnd().split('\n')
  assert.is(JSON.parse(started).runId, 'hello')
  assert.is(JSON.parse(accepted).step, 1)
  assert.is(JSON.parse(refused).code, 'contradiction')
  assert.match(verified, /^VERIFIED {2}\d+ events of \d streams/)
})

serve('a second process on the same store learns which process owns it, and where that one serves (F12)', async () => {
  for (const args of [['serve', '--port', '0'], ['rebuild'], ['import', '-', '--format', 'openai']]) {
    const runs = args[0] === 'serve' ? countersign : runInProcess
    const { code, stderr } = await runs([...args, '--data', server.data])
    assert.is(code, 1, args[0])
    assert.ok(stderr.includes(server.url), stderr)
    assert.ok(stderr.includes(String(server.pid)))
    assert.is(stderr.trimEnd().split('\n').length, 1)
  }
})

serve('what keeps the ledger from starting is said in one line, with exit code 1', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const refusals: Record<string, string> = {}
  const refusal = async (name: string, args: readonly string[]): Promise<void> => {
    const runs = name === 'port' ? countersign : runInProcess
    const port = args.includes('--port') ? [] : ['--port', '0']
    const { code, stdout, stderr } = await runs(['serve', ...port, ...args], { cwd })
    assert.is(code, 1, name)
    assert.is(stdout, '', name)
    assert.match(stderr, /^countersign: [^\n]+\n$/, name)
    refusals[name] = stderr
  }

  await refusal('port', ['--data', 'other', '--port', new URL(server.url).port])
  await foundLedger(folder.path)
  renameSync(folder.file('.countersign'), folder.file('stopped'))
  writeFileSync(folder.file('file'), '')
  await refusal('folder', ['--data', 'file/data'])
  writeFileSync(folder.file('foreign.db'), 'This is no SQLite file, and it is long enough to be looked at.'.repeat(20))
  await refusal('foreign', ['--store', 'foreign.db'])
  chmodSync(folder.file('stopped/keys.json'), 0o644)
  await refusal('mode', ['--data', 'stopped'])
  rmSync(folder.file('stopped/keys.json'))
  await refusal('keys', ['--data', 'stopped'])
  assert.not.ok(existsSync(folder.file('stopped/keys.json')), 'no keys are made beside a history')
  tamper(folder.file('other/store.db'), (db) => db.pragma('user_version = 99'))
  await refusal('newer', ['--data', 'other'])

  assert.match(refusals.port ?? '', /in use/)
  assert.match(refusals.mode ?? '', /chmod 600/)
  assert.match(refusals.keys ?? '', /restore the key file/)
  assert.match(refusals.newer ?? '', /99/)
})

serve('views that were dropped come back as they were', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const stdin = ['a', 'b'].map((id) => JSON.stringify({ id, messages: [{ role: 'user', content: 'hi' }] })).join('\n')
  await runInProcess(['import', '-', '--format', 'openai'], { cwd, stdin })
  const list = async (): Promise<unknown> => {
    await using server = await startServer({ data: folder.file('.countersign') })
    const token = (await runInProcess(['token', '--scope', 'runs:read'], { cwd })).stdout.trim()
    const answer = await fetch(`${server.url}/v1/runs`, { headers: { authorization: `Bearer ${token}` } })
    const { items } = (await answer.json()) as { items: readonly unknown[] }
    await server.stop()
    return items
  }
  const before = await list()
  assert.is((before as readonly unknown[]).length, 2)
  assert.is((await runInProcess(['rebuild'], { cwd })).code, 0)
  assert.equal(await list(), before)
})

serve('a store in memory leaves nothing behind', async () => {
  using folder = tempFolder()
  const server = await startServer({ data: folder.file('.countersign'), args: ['--store', 'memory:'] })
  await server.stop()
  assert.not.ok(existsSync(folder.file('.countersign/store.db')))
  assert.not.ok(existsSync(folder.file('.countersign/keys.json')))
})

serve.run()
