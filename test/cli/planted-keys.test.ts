import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { exportText } from '../../src/export/issue-export.ts'
import { readSettings } from '../../src/settings/config.ts'
import { createLedgerKeys, formatLedgerKeys } from '../../src/signing/ledger-keys.ts'
import { AUDITOR, unpackTar, writeBundle } from '../support/bundles.ts'
import { type CommandAnswer, runInProcess } from '../support/in-process-command.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { testLogs } from '../support/test-logs.ts'

interface Context {
  /** As somebody packed it: evidence, an unpacked bundle, and the keys that all of it was signed with, wherever they might be looked for. */
  folder: TempFolder
  home: TempFolder
  key: string
}

const test = suite<Context>('cli: keys planted beside the evidence')

test.before(async (context) => {
  const [folder, home] = [tempFolder(), tempFolder()]
  const data = folder.file('.countersign')
  mkdirSync(data, { recursive: true })
  const keys = createLedgerKeys(new Date().toISOString(), randomBytes)
  await using made = await testLogs({ folder: data, keys })
  await made.fill('acme', 'one', 3)
  await writeBundle(made.ledger, folder.file('one.tar'), { query: { run: 'one' } })
  let text = ''
  for await (const part of exportText(made.ledger, AUDITOR, { format: 'jsonl', query: {} })) text += part
  writeFileSync(folder.file('all.jsonl'), text)
  await made.logs.publish()
  const checkpoint = made.logs.checkpoint('acme')
  writeFileSync(folder.file('kept.txt'), checkpoint.ok ? checkpoint.value : '')
  for (const [name, content] of await unpackTar(readFileSync(folder.file('one.tar')))) {
    mkdirSync(join(folder.file('unpacked'), 'proofs'), { recursive: true })
    writeFileSync(join(folder.file('unpacked'), name), content)
  }
  const key = made.logs.verifierKey('acme')
  writeFileSync(join(data, 'keys.json'), formatLedgerKeys(keys), { mode: 0o600 })
  for (const place of ['.countersign', '.config/countersign', '.']) {
    mkdirSync(folder.file(place), { recursive: true, mode: 0o700 })
    for (const name of ['known-keys', 'known-keys.txt'])
      writeFileSync(join(folder.file(place), name), `${key}\n`, { mode: 0o600 })
  }
  Object.assign(context, { folder, home, key })
})
test.after(({ folder, home }) => {
  folder[Symbol.dispose]()
  home[Symbol.dispose]()
})

const EVIDENCE = ['one.tar', 'unpacked', 'all.jsonl']
const run = ({ folder, home }: Context, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandAnswer> =>
  runInProcess(['verify', ...args], { cwd: folder.path, env: { HOME: home.path, XDG_CONFIG_HOME: '', ...env } })

test('what the working directory holds authenticates no bundle and no export: not its key file, nor a file of pins (A77)', async (context) => {
  for (const name of EVIDENCE) {
    const found = await run(context, [name])
    assert.is(found.code, 3, found.stdout + found.stderr)
    assert.not.match(found.stdout, /^VERIFIED|^complete/m)
    assert.match(found.stdout, /note: the key file \.countersign\/keys\.json was not used.*--data \.countersign/)
  }
  for (const env of [{ XDG_CONFIG_HOME: '.config' }, { HOME: '.', XDG_CONFIG_HOME: '.config' }, { HOME: '' }])
    assert.is((await run(context, ['one.tar'], env)).code, 3, JSON.stringify(env))
  const held = await run(context, ['all.jsonl', '--checkpoint', 'kept.txt'])
  assert.equal([held.code, /you have none of the log/.test(held.stderr)], [2, true], held.stderr)
  const cwd = { cwd: context.folder.file('unpacked') }
  cpSync(context.folder.file('.countersign'), join(cwd.cwd, '.countersign'), { recursive: true })
  const within = await runInProcess(['verify', '.'], { ...cwd, env: { HOME: context.home.path, XDG_CONFIG_HOME: '' } })
  assert.is.not(within.code, 0, within.stdout)
  assert.not.match(within.stdout, /^VERIFIED|, yours/m)
})

test('a key that the reader names, by flag or variable, or has pinned at home, does (A77)', async (context) => {
  const { folder, home, key } = context
  const pins = join(home.path, '.config/countersign/known-keys')
  mkdirSync(join(pins, '..'), { recursive: true })
  const named: readonly (readonly [readonly string[], NodeJS.ProcessEnv])[] = [
    [['--data', '.countersign'], {}],
    [['--keys', '.countersign/keys.json'], {}],
    [['--key', key], {}],
    [['--known-keys', '.countersign/known-keys'], {}],
    [[], { COUNTERSIGN_DATA: folder.file('.countersign') }],
    [[], { COUNTERSIGN_KNOWN_KEYS: folder.file('known-keys') }],
    [[], { XDG_CONFIG_HOME: folder.file('.config') }],
  ]
  for (const [flags, env] of named) {
    const found = await run(context, ['one.tar', ...flags], env)
    assert.equal([found.code, /^key: .*, yours \(/m.test(found.stdout)], [0, true], found.stdout + found.stderr)
  }
  assert.is((await runInProcess(['keys', 'pin', key], { env: { HOME: home.path, XDG_CONFIG_HOME: '' } })).code, 0)
  assert.match((await run(context, ['one.tar'])).stdout, /^VERIFIED[\s\S]*\.config\/countersign\/known-keys\)/)
  // The key of the log proves an export complete; its seals are for who has the ring.
  assert.match((await run(context, ['all.jsonl'])).stdout, /^UNVERIFIABLE[\s\S]*^complete: all \d+ events/m)
  const own = await run(context, ['all.jsonl', '--data', '.countersign'])
  assert.match(own.stdout, /^VERIFIED[\s\S]*^complete: [\s\S]*^keys: \.countersign\/keys\.json$/m)
})

test("one's own store in the working directory needs no flag, and the answer names the key file (A77)", async (context) => {
  const found = await run(context, [])
  assert.equal([found.code, /^VERIFIED/.test(found.stdout)], [0, true], found.stdout + found.stderr)
  assert.match(found.stdout, /^keys: \.countersign\/keys\.json$/m)
  assert.is(JSON.parse((await run(context, ['--json'])).stdout).keys, '.countersign/keys.json')
})

test('where pinned keys are looked for: the place that was named, else that of the user, never a relative one (A77)', () => {
  const at = (env: NodeJS.ProcessEnv, flags = {}) => readSettings(flags, env).knownKeys
  assert.is(at({ XDG_CONFIG_HOME: '/c' }), '/c/countersign/known-keys')
  assert.ok(at({ XDG_CONFIG_HOME: 'c' })?.endsWith('/.config/countersign/known-keys'))
  assert.is(at({ XDG_CONFIG_HOME: '/c', COUNTERSIGN_KNOWN_KEYS: 'mine' }), 'mine')
  assert.is(at({ XDG_CONFIG_HOME: '/c', COUNTERSIGN_KNOWN_KEYS: 'mine' }, { 'known-keys': 'this' }), 'this')
})

test.run()
