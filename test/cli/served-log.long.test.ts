/** @module Evidence of a running ledger: `--url` prints what the command prints of the store that the ledger serves. */
import { generateKeyPairSync } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { inspectedLedger } from '../support/inspected-ledger.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('cli: evidence of a running ledger')

test('checkpoint, proof and replay print of a running ledger what they print of its store, with the same exit code (HTTP-80)', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const data = folder.file('.countersign')
  await inspectedLedger(data)
  await using server = await startServer({ data, args: ['--checkpoint-seconds', '1'] })
  const made = await runInProcess(['token', '--scope', 'audit:read'], { cwd })
  const env = { COUNTERSIGN_TOKEN: made.stdout.trim() }
  const run = (...args: readonly string[]) => runInProcess(args, { cwd, env })
  /** The log may grow meanwhile: looks until both are of one moment. A difference that stays is named by the last look. */
  const same = (...args: readonly string[]): Promise<string> =>
    eventually(async () => {
      const [local, served] = [await run(...args), await run(...args, '--url', server.url)]
      const isSame = local.code === served.code && local.stdout === served.stdout && local.code === 0
      return isSame ? local.stdout : undefined
    }, `the same of ${args.join(' ')}`)

  assert.match(await same('checkpoint'), /\n\n— /)
  assert.is(JSON.parse(await same('checkpoint', '--json')).tenant, 'default')
  const key = (await same('checkpoint', '--key')).trim()
  await same('checkpoint', '--key', '--json')
  await same('checkpoint', '--successions')

  const { stdout } = await run('events', '--run', 'r', '--limit', '1', '--json')
  const { event } = JSON.parse(stdout) as { event: string }
  const file = await same('proof', event)
  assert.is(JSON.parse(await same('proof', event, '--json')).event, event)
  const checked = await run('proof', event, '--key', key, '--url', server.url)
  assert.equal([checked.code, checked.stdout.split('\n')[0]], [0, file.split('\n')[0]])
  const foreign = noteVerifier('example.com/default', generateKeyPairSync('ed25519').publicKey).text
  const other = await run('proof', event, '--key', foreign, '--url', server.url)
  assert.equal([other.code, other.stdout], [3, ''])

  for (const json of [[], ['--json']]) assert.match(await same('replay', 'r', ...json), /VERIFIED/)
  for (const args of [['replay', 'nobody'], ['proof', '0190f0f0-0000-7000-8000-000000000000']]) {
    const [local, served] = [await run(...args), await run(...args, '--url', server.url)]
    assert.equal([local.code, served.code, served.stdout], [3, 3, ''], `${args.join(' ')}: ${served.stderr}`)
  }
})

test('holds, reviews and losses of a running ledger and of its store can be listed', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const data = folder.file('.countersign')
  await inspectedLedger(data)
  const lists = [
    ['holds', 'list'],
    ['reviews', 'list'],
    ['losses', 'list'],
  ]
  for (const args of lists) assert.is((await runInProcess(args, { cwd })).code, 0, args.join(' '))
  await using server = await startServer({ data })
  const made = await runInProcess(['token', '--scope', 'audit:read holds:write'], { cwd })
  const env = { COUNTERSIGN_TOKEN: made.stdout.trim() }
  const place = ['holds', 'place', '--run', 'r', '--reason', 'a claim is pending', '--url', server.url]
  assert.is((await runInProcess(place, { cwd, env })).code, 0)
  for (const args of lists) {
    const { code, stderr } = await runInProcess([...args, '--url', server.url], { cwd, env })
    assert.is(code, 0, `${args.join(' ')}: ${stderr}`)
  }
})

test.run()
