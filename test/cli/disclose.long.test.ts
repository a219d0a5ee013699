import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { verifyBundle } from '../../src/verify/bundle/verify-bundle.ts'
import { type CommandAnswer, runInProcess } from '../support/in-process-command.ts'
import { startServer } from '../support/server-process.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const test = suite<{ folder: TempFolder }>('cli: disclosed keys')
const CALLER = { tenant: 'default', actor: 'tester' }

test.before(async (context) => {
  context.folder = tempFolder()
  await using opened = await openLedger(readSettings({ data: context.folder.path }, {}), silentLog)
  const { ledger } = opened
  for (const id of ['open', 'small', 'spoiled']) {
    await ledger.execute(CALLER, id, { kind: 'start', body: { id, name: 'try' } }, {})
    await ledger.execute(CALLER, id, { kind: 'envelope', body: { agent: 'writer', payload: { note: id } } }, {})
    if (id !== 'open') await ledger.execute(CALLER, id, { kind: 'complete', body: {} }, {})
  }
})
test.after(({ folder }) => folder[Symbol.dispose]())

const cli = ({ path }: TempFolder, ...args: readonly string[]): Promise<CommandAnswer> =>
  runInProcess([...args, '--data', path], { cwd: path })

test('disclosed keys check the macs of their run in an export and in a bundle, and of no other run', async ({
  folder,
}) => {
  const keyFile = folder.file('small.keys.json')
  const open = await cli(folder, 'keys', 'disclose', 'open')
  assert.equal([open.code, /after its end/.test(open.stderr)], [1, true])
  const given = await cli(folder, 'keys', 'disclose', 'small')
  assert.equal([given.code, /only a checkpoint proves it/.test(given.stderr)], [0, true])
  writeFileSync(keyFile, given.stdout)
  for (const [name, args] of [
    ['small.jsonl', ['--out']],
    ['small.tar', ['--bundle']],
  ] as const)
    assert.is((await cli(folder, 'export', '--run', 'small', ...args, folder.file(name))).code, 0)
  const elsewhere = tempFolder()
  const key = (await cli(folder, 'checkpoint', '--key')).stdout.trim()
  for (const [name, code] of [
    ['small.jsonl', 3],
    ['small.tar', 0],
  ] as const) {
    const found = await runInProcess(['verify', folder.file(name), '--run-key', keyFile, '--key', key], {
      cwd: elsewhere.path,
    })
    assert.is(found.code, code, found.stdout)
    assert.not.match(found.stdout, /TAMPERED|seals: |macs were not checked/)
  }
  const wrong = JSON.parse(given.stdout)
  wrong.keys[0].key = randomBytes(32).toString('base64url')
  const found = verifyBundle(folder.file('small.tar'), { runKey: wrong })
  assert.equal([found.verdict, found.faults.at(-1)?.code], ['TAMPERED', 'mac'])
  const others = verifyBundle(folder.file('small.tar'), { runKey: { ...wrong, stream: 'run-default.open' } })
  assert.ok(others.faults.some(({ code }) => code === 'run-key'))
  elsewhere[Symbol.dispose]()
})

test('beside a running ledger, bundles and keys come from it', async ({ folder }) => {
  await using server = await startServer({ data: folder.path })
  const locked = await cli(folder, 'keys', 'disclose', 'spoiled')
  assert.equal([locked.code, /http:\/\/127/.test(locked.stderr)], [1, true])
  const token = (await cli(folder, 'token', '--scope', 'admin audit:export')).stdout.trim()
  const env = { COUNTERSIGN_TOKEN: token }
  const asked = (...args: readonly string[]) => runInProcess([...args, '--url', server.url], { cwd: folder.path, env })
  const given = await asked('keys', 'disclose', 'spoiled')
  assert.is(JSON.parse(given.stdout).keys.length, 1)
  const bundle = folder.file('served.tar')
  assert.is((await asked('export', '--run', 'spoiled', '--bundle', bundle)).code, 0)
  assert.is(verifyBundle(bundle).verdict, 'CONSISTENT, NOT AUTHENTICATED')
})

test.run()
