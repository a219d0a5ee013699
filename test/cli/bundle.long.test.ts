import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { FORMATS, type FormatName } from '../../src/export/formats.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { readKeys } from '../../src/settings/key-source.ts'
import { deriveRunKey } from '../../src/signing/key-ring.ts'
import { unpackTar, writeBundle } from '../support/bundles.ts'
import { type CommandResult, countersign, runCommand } from '../support/command-line.ts'
import { formsOf } from '../support/secret-forms.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const test = suite<{ folder: TempFolder }>('cli: bundles')
const CALLER = { tenant: 'default', actor: 'tester' }
const STEPS = 10_000

/** A ledger of a large run that goes on and a small one that has ended: over 10,000 events. */
test.before(async (context) => {
  context.folder = tempFolder()
  await using opened = await openLedger(readSettings({ data: context.folder.path }, {}), silentLog)
  const { ledger } = opened
  for (const id of ['large', 'small', 'spoiled'])
    await ledger.execute(CALLER, id, { kind: 'start', body: { id, name: 'try' } }, {})
  const step = (runId: string, n: number) =>
    ({ runId, command: { kind: 'envelope', body: { agent: 'writer', payload: { note: `step ${n}` } } } }) as const
  for (let from = 0; from < STEPS; from += 400)
    await ledger.executeBatch(
      CALLER,
      Array.from({ length: 400 }, (_, n) => step('large', from + n)),
      {},
    )
  await ledger.executeBatch(
    CALLER,
    Array.from({ length: 300 }, (_, n) => step('small', n)),
    {},
  )
  for (const id of ['small', 'spoiled']) await ledger.execute(CALLER, id, { kind: 'complete', body: {} }, {})
})
test.after(({ folder }) => folder[Symbol.dispose]())

const cli = ({ path }: TempFolder, ...args: readonly string[]): Promise<CommandResult> =>
  countersign([...args, '--data', path], { cwd: path })

/** The bundle's own verifier, out of the bundle, in a process without anything of ours. */
async function byItself(folder: TempFolder, bundle: string, ...args: readonly string[]): Promise<CommandResult> {
  const files = await unpackTar(readFileSync(bundle))
  writeFileSync(folder.file('verify-alone.mjs'), files.get('verify.mjs') ?? '')
  const command = [process.execPath, folder.file('verify-alone.mjs'), bundle, ...args]
  return runCommand(command, { cwd: folder.path, env: { PATH: process.env.PATH } })
}

test('a bundle of 10,000 events verifies offline by its own verifier and on the command line; one altered byte does not', async ({
  folder,
}) => {
  const bundle = folder.file('all.tar')
  const made = await cli(folder, 'export', '--bundle', bundle)
  assert.is(made.code, 0, made.stderr)
  const key = (await cli(folder, 'checkpoint', '--key', '--tenant', 'default')).stdout.trim()
  const alone = await byItself(folder, bundle, '--key', key)
  assert.is(alone.code, 0, alone.stdout)
  const events = Number(/^VERIFIED {2}(\d+) events/.exec(alone.stdout)?.[1])
  assert.ok(events > 10_000, alone.stdout)
  const own = await cli(folder, 'verify', bundle)
  assert.is(own.code, 0)
  assert.match(own.stdout, new RegExp(`^VERIFIED {2}${events} events`))
  assert.not.match(own.stdout, /macs were not checked/)

  const files = new Map(await unpackTar(readFileSync(bundle)))
  for (const [name, content] of files) {
    const path = folder.file(`unpacked/${name}`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, name === 'events.jsonl' ? content.toString().replace('step 4000', 'step 4OOO') : content)
  }
  const spoiled = await cli(folder, 'verify', folder.file('unpacked'))
  assert.is(spoiled.code, 1)
  assert.match(spoiled.stdout, /data-digest {2}the body of "run-default\.large" @ 4001/)
})

test('wrong use of verify.mjs exits with 2, a cut bundle with 3', async ({ folder }) => {
  const bundle = folder.file('cut.tar')
  assert.is((await cli(folder, 'export', '--bundle', bundle, '--run', 'small')).code, 0)
  assert.is((await byItself(folder, bundle, '--nonsense')).code, 2)
  writeFileSync(bundle, readFileSync(bundle).subarray(0, -600))
  assert.is((await cli(folder, 'verify', bundle)).code, 3)
})

test('a query is exported in a line format and verified event by event', async ({ folder }) => {
  const file = folder.file('query.jsonl')
  const args = ['--types', 'RunStarted,RunCompleted', '--out', file]
  assert.is((await cli(folder, 'export', ...args)).code, 0)
  assert.is(readFileSync(file, 'utf8').trimEnd().split('\n').length, 1 + 5 + 1)
  const found = await cli(folder, 'verify', file)
  assert.is(found.code, 3, found.stdout)
  assert.match(found.stdout, /completeness-unproven[\s\S]*in 5 events[\s\S]*not checked: links between events/)
  writeFileSync(file, readFileSync(file, 'utf8').replace('"name":"try"', '"name":"tri"'))
  assert.is((await cli(folder, 'verify', file)).code, 1)
})

test('no secret is in any export or bundle (A37)', async ({ folder }) => {
  const keys = readKeys(readSettings({ data: folder.path }, {}).keys)
  if (keys === undefined) throw new Error('no keys')
  const seed = Buffer.from(keys.checkpointKey.export({ format: 'jwk' }).d ?? '', 'base64url')
  const secrets = [
    ...keys.ring.keys.flatMap(({ secret }) => [secret, deriveRunKey(secret, 'default', 'run-default.small')]),
    seed,
  ]
  await using opened = await openLedger(readSettings({ data: folder.path }, {}), silentLog)
  const bundle = folder.file('canary.tar')
  await writeBundle(opened.ledger, bundle, { query: { run: 'small' }, caller: CALLER })
  const texts = [readFileSync(bundle, 'latin1')]
  for (const format of Object.keys(FORMATS) as FormatName[]) {
    let text = ''
    for await (const part of exportText(opened.ledger, CALLER, { format, query: { run: 'small' } })) text += part
    texts.push(text)
  }
  for (const secret of secrets)
    for (const form of formsOf(secret)) assert.not.ok(texts.some((text) => text.includes(form)))
})

test.run()
