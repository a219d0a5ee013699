/** @module Evidence of a running ledger: `--url` prints what the command prints of the store that the ledger serves. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from '../../src/merkle/checkpoint.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { noteSigner, noteVerifier } from '../../src/merkle/note-key.ts'
import { parseNote, signNote } from '../../src/merkle/signed-note.ts'
import { readSettings } from '../../src/settings/config.ts'
import { requireKeys } from '../../src/settings/key-source.ts'
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
    eventually(
      async () => {
        const [local, served] = [await run(...args), await run(...args, '--url', server.url)]
        const isSame = local.code === served.code && local.stdout === served.stdout && local.code === 0
        return isSame ? local.stdout : undefined
      },
      `the same of ${args.join(' ')}`,
    )

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
  for (const args of [
    ['replay', 'nobody'],
    ['proof', '0190f0f0-0000-7000-8000-000000000000'],
  ]) {
    const [local, served] = [await run(...args), await run(...args, '--url', server.url)]
    assert.equal([local.code, served.code, served.stdout], [3, 3, ''], `${args.join(' ')}: ${served.stderr}`)
  }
})

test('two kept checkpoints are compared by the running ledger and over its store; a second history, signed with the key of the log, is found (HTTP-81, A451)', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const data = folder.file('.countersign')
  await inspectedLedger(data)
  await using server = await startServer({ data, args: ['--checkpoint-seconds', '1'] })
  const made = await runInProcess(['token', '--scope', 'audit:read runs:write'], { cwd })
  const env = { COUNTERSIGN_TOKEN: made.stdout.trim() }
  const run = (...args: readonly string[]) => runInProcess(args, { cwd, env })
  /** Keeps a checkpoint that covers more than `size` events. */
  const kept = (name: string, size: number): Promise<Checkpoint> =>
    eventually(async () => {
      const { stdout } = await run('checkpoint')
      const checkpoint = parseCheckpoint(parseNote(stdout)?.text ?? '')
      if (checkpoint === undefined || checkpoint.size <= size) return undefined
      writeFileSync(folder.file(name), stdout)
      return checkpoint
    }, `a checkpoint of more than ${size} events`)
  const older = await kept('old', 0)
  const headers = { authorization: `Bearer ${env.COUNTERSIGN_TOKEN}`, 'content-type': 'application/json' }
  const started = await fetch(`${server.url}/v1/runs`, { method: 'POST', headers, body: '{"id":"later","name":"n"}' })
  assert.is(started.status, 201)
  const newer = await kept('new', older.size)

  const { checkpointKey } = requireKeys(readSettings({ data }, {}).keys)
  const forge = (name: string, size: number): void => {
    const text = formatCheckpoint({ origin: newer.origin, size, root: leafHash('another history') })
    writeFileSync(folder.file(name), signNote(text, [noteSigner(newer.origin, checkpointKey)]))
  }
  forge('forked', older.size)
  forge('forked-4', 4)
  forge('ahead', newer.size + 100)
  const key = (await run('checkpoint', '--key')).stdout.trim()
  const ends: readonly (readonly [number, string, string])[] = [
    [0, 'old', 'new'],
    [0, 'new', 'old'],
    [0, 'old', 'old'],
    [1, 'forked', 'new'],
    [1, 'forked', 'old'],
    [1, 'forked-4', 'new'],
    [3, 'old', 'ahead'],
  ]
  for (const [expected, one, other] of ends) {
    for (const where of [[], ['--url', server.url, '--key', key]]) {
      const { code, stdout, stderr } = await run('consistency', one, other, '--json', ...where)
      assert.is(code, expected, `${one} ${other} ${where[0]}: ${stdout}${stderr}`)
      assert.is(JSON.parse(stdout).verdict, ['VERIFIED', 'TAMPERED', '', 'UNVERIFIABLE'][expected])
    }
  }
  assert.is((await run('consistency', 'old', 'new', '--url', server.url, '--known-keys', folder.file('none'))).code, 2)
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
