/** @module The exit code of a command that verifies is its verdict, whether or not somebody reads what it prints. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { writeBundle } from '../support/bundles.ts'
import { BIN, cleanEnv, collected, endOf, spawnTracked } from '../support/command-line.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { type SmallStore, smallStore } from '../support/small-store.ts'
import { setColumn } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { testLogs } from '../support/test-logs.ts'
import { within } from '../support/within.ts'

const test = suite<{ store: SmallStore }>('cli: output that nobody reads')
test.before(async (context) => {
  context.store = await smallStore()
})
test.after(({ store }) => store[Symbol.dispose]())

/** The exit code with a reader that leaves before the first byte, and with one that reads all. */
async function codes(args: readonly string[], cwd: string): Promise<readonly [number | null, number]> {
  const child = spawnTracked([process.execPath, BIN, ...args], {
    cwd,
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collected(child)
  child.stdout?.destroy()
  const { code } = await within(endOf(child), args.join(' '), 60_000)
  const read = await runInProcess(args, { cwd })
  assert.is(output.stderr, '', args.join(' '))
  return [code, read.code]
}

async function holds(args: readonly string[], cwd: string, verdict: number): Promise<void> {
  for (const json of [[], ['--json']]) {
    assert.equal(await codes([...args, ...json], cwd), [verdict, verdict], [...args, ...json].join(' '))
  }
}

test('a store is VERIFIED, TAMPERED or not proven by exit code, though the reader of the text left at once (F106, LOG-18)', async ({
  store,
}) => {
  const cwd = store.folder.path
  const tampered = store.copy('tampered.db')
  setColumn(tampered, 4, 'data', '{"v":1}')
  using alone = tempFolder()
  await holds(['verify', store.path], cwd, 0)
  await holds(['verify', tampered], cwd, 1)
  copyFileSync(store.path, alone.file('unproven.db'))
  await holds(['verify', alone.file('unproven.db')], alone.path, 3)
  await holds(['replay', 'one', '--tenant', 'acme', '--store', store.path], cwd, 0)
})

test('bundles and exports are VERIFIED, TAMPERED or not proven by exit code, though nobody reads the text (F106, LOG-18)', async () => {
  using folder = tempFolder()
  await using home = await testLogs({ folder: folder.path })
  await home.fill('acme', 'one', 3)
  await home.logs.publish()
  const bundle = folder.file('one.tar')
  await writeBundle(home.ledger, bundle, { query: { run: 'one' } })
  await holds(['verify', bundle, '--key', home.logs.verifierKey('acme')], folder.path, 0)
  await holds(['verify', bundle], folder.path, 3)
  const bytes = readFileSync(bundle)
  const at = bytes.indexOf('"step 1"')
  assert.ok(at > 0)
  bytes[at + 1] = 'S'.charCodeAt(0)
  writeFileSync(folder.file('altered.tar'), bytes)
  await holds(['verify', folder.file('altered.tar'), '--key', home.logs.verifierKey('acme')], folder.path, 1)

  const line = '{"header":{},"salt":"","data":{}}\n'
  writeFileSync(folder.file('forged.jsonl'), line)
  await holds(['verify', folder.file('forged.jsonl')], folder.path, 1)
  writeFileSync(folder.file('empty.jsonl'), '')
  await holds(['verify', folder.file('empty.jsonl')], folder.path, 3)
})

test.run()
