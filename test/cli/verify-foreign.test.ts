import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { jsonLine, oneLine, visible } from '../../src/cli/shown.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { createLedgerKeys } from '../../src/signing/ledger-keys.ts'
import { writeBundle } from '../support/bundles.ts'
import { textLines } from '../support/forged-bundle.ts'
import { type LogKey, trailerLine } from '../support/forgery.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { tamper } from '../support/tamper.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { testLogs } from '../support/test-logs.ts'

interface Context {
  /** A ledger's own data folder, with its key file, its checkpoints, and what it exported. */
  own: TempFolder
  /** Of somebody who has nothing of it. */
  other: TempFolder
  key: string
  log: LogKey
}

const test = suite<Context>('cli: verify, of what others made')
/** Everything that a terminal would obey or that would turn or hide text, but for the line feed. */
const OBEYED = /[^\P{C}\n]|[\u2028\u2029]/u
const HOSTILE = 'x\u001b[2K\u001b[32mVERIFIED\u001b[0m\u009b31m\u0085\u2028\u2029\u202e\u2066\u200b\u{e0041}\r\n\u0007'
const CUT = `DELETE FROM events WHERE position > (SELECT max(position) FROM events) - 60;
  DELETE FROM streams WHERE id NOT IN (SELECT stream_id FROM events)`
const NO_KEY = 'CONSISTENT, NOT AUTHENTICATED'

test.before(async (context) => {
  context.own = tempFolder()
  context.other = tempFolder()
  const ledgerKeys = createLedgerKeys(new Date().toISOString(), randomBytes)
  const { formatLedgerKeys } = await import('../../src/signing/ledger-keys.ts')
  writeFileSync(context.own.file('keys.json'), formatLedgerKeys(ledgerKeys), { mode: 0o600 })
  await using home = await testLogs({ folder: context.own.path, keys: ledgerKeys })
  const run = drive(home, 'one', { tenant: 'acme', actor: `eve ${HOSTILE}`.slice(0, 60) })
  await run.start({ name: HOSTILE })
  await run.hand(HOSTILE.slice(0, 40), { entities: [HOSTILE] })
  await home.fill('acme', 'two', 40)
  await writeBundle(home.ledger, context.own.file('one.tar'), { query: { run: 'one' } })
  await home.logs.publish()
  context.key = home.logs.verifierKey('acme')
  context.log = { name: 'ledger.example/acme', key: ledgerKeys.checkpointKey }
})
test.after(({ own, other }) => {
  own[Symbol.dispose]()
  other[Symbol.dispose]()
})

const asked = (folder: TempFolder, ...args: readonly string[]) =>
  runInProcess(['verify', ...args, '--data', folder.path])

test('text of what is checked is shown escaped, in lines and as JSON, whatever it holds (A76)', async ({
  own,
  other,
  log,
  key,
}) => {
  const lines = ['{"header":{},"salt":"","data":{}}\n']
  const hostile = HOSTILE.replace(/[\r\n]/g, '')
  const forged = [
    trailerLine(lines, log, { run: hostile, asOf: hostile, ledgerId: hostile }),
    trailerLine(lines, { ...log, name: 'ledger.example/acme' }, { tenant: hostile, filter: { actor: hostile } }),
  ]
  for (const [at, trailer] of forged.entries()) {
    writeFileSync(other.file(`forged-${at}.jsonl`), lines.join('') + trailer)
    for (const json of [[], ['--json']]) {
      const { code, stdout, stderr } = await asked(other, other.file(`forged-${at}.jsonl`), ...json)
      assert.is(code, 1)
      assert.not.match(stdout + stderr, OBEYED)
      assert.ok(stdout.split('\n').every((line) => !line.startsWith('VERIFIED')))
    }
  }
  for (const json of [[], ['--json']]) {
    const bundle = await asked(other, own.file('one.tar'), '--key', key, ...json)
    assert.is(bundle.code, 0, bundle.stdout)
    assert.not.match(bundle.stdout, OBEYED)
    const replayed = await runInProcess(['replay', 'one', '--tenant', 'acme', '--data', own.path, ...json])
    assert.is(replayed.code, 0)
    assert.match(replayed.stdout, json.length > 0 ? /\\u202e/ : /\\u\{202e\}/)
    assert.not.match(replayed.stdout, OBEYED)
  }
  const missing = await asked(other, `/nowhere/${HOSTILE}`)
  assert.not.match(missing.stderr.trimEnd(), OBEYED)
})

test('escaped text says what it was: every hidden code point by its number, JSON that parses to the same (A76)', () => {
  let all = ''
  for (let code = 0; code < 0x11_0000; code += code < 0x1_0000 ? 1 : 257)
    if (code < 0xd800 || code > 0xdfff) all += String.fromCodePoint(code)
  for (const text of [all, HOSTILE]) {
    assert.not.match(visible(text), /\p{C}|[\u2028\u2029]/u)
    assert.not.match(oneLine(text), /\p{C}|[\u2028\u2029]/u)
    const line = jsonLine({ [text]: text })
    assert.not.match(line.slice(0, -1), /\p{C}|[\u2028\u2029]/u)
    assert.equal(JSON.parse(line), { [text]: text })
  }
  assert.is(visible('a\u009b\u202e'), 'a\\u{9b}\\u{202e}')
})

test('an export is not shown on a terminal: it holds what others wrote, byte for byte (A76)', async ({ own }) => {
  const before = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY')
  Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true })
  try {
    const refused = await runInProcess(['export', '--data', own.path, '--tenant', 'acme'])
    assert.equal([refused.code, refused.stdout], [2, ''])
    assert.match(refused.stderr, /--out/)
  } finally {
    if (before === undefined) Reflect.deleteProperty(process.stdout, 'isTTY')
    else Object.defineProperty(process.stdout, 'isTTY', before)
  }
})

test('events that were cut off under a checkpoint beside the store are missed; a checkpoint that was altered, or is of others, is named, and so is a log that has none (A74, A263)', async ({
  own,
}) => {
  assert.is((await asked(own)).code, 0)
  using copy = tempFolder()
  const path = copy.file('store.db')
  const beside = `${path}.checkpoints`
  const keep = (text: string): void => writeFileSync(beside, text)
  writeFileSync(copy.file('keys.json'), readFileSync(own.file('keys.json')), { mode: 0o600 })
  const db = new Sqlite(own.file('store.db'), { readonly: true })
  await db.backup(path)
  db.close()
  const kept = readFileSync(own.file('store.db.checkpoints'), 'utf8')
  keep(kept)
  assert.is((await asked(copy)).code, 0)
  tamper(path, (cut) => void cut.exec(CUT))
  const found = await asked(copy)
  assert.equal([found.code, /INCOMPLETE {2}log-behind-checkpoint/.test(found.stdout)], [3, true], found.stdout)
  const file = JSON.parse(kept)
  const note = file.checkpoints.acme as string
  for (const [text, code, fault] of [
    [kept.replace('"v"', '"w"'), 1, 'kept-checkpoint '],
    [JSON.stringify({ ...file, checkpoints: { other: note } }), 1, 'kept-checkpoint '],
    [JSON.stringify({ ...file, checkpoints: { acme: note.replace(/\n\d+\n/, '\n1\n') } }), 1, 'kept-checkpoint '],
    [
      JSON.stringify({ ...file, checkpoints: { acme: `${note.slice(0, -20)}AAAA${note.slice(-16)}` } }),
      1,
      'kept-checkpoint ',
    ],
  ] as const) {
    keep(text)
    const other = await asked(copy)
    assert.equal([other.code, other.stdout.includes(fault)], [code, true], other.stdout)
  }
  keep(JSON.stringify({ ...file, checkpoints: {} }))
  const open = await asked(copy)
  assert.match(
    open.stdout,
    /not checked: whether events were cut off at the end: .*checkpoints has no checkpoint of .*acme/,
  )
  const stranger = createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey
  const { checkpointOf } = await import('../support/forgery.ts')
  keep(
    JSON.stringify({
      ...file,
      checkpoints: { acme: checkpointOf([], { name: 'ledger.example/acme', key: stranger }) },
    }),
  )
  const strange = await asked(copy)
  assert.equal([strange.code, /kept-checkpoint-key/.test(strange.stdout)], [3, true], strange.stdout)
})

test('without a key that the reader brings or has pinned nothing that others made is VERIFIED (A79, LOG-16)', async ({
  own,
  other,
  key,
}) => {
  const tar = own.file('one.tar')
  const bare = await asked(other, tar)
  assert.equal([bare.code, bare.stdout.includes(`\n${NO_KEY}  `)], [3, true], bare.stdout)
  assert.not.match(bare.stdout, /^VERIFIED/m)
  assert.match(
    (await asked(own, tar)).stdout,
    /^VERIFIED[\s\S]*key: ledger\.example\/acme\+[0-9a-f]{8}, yours \(.*keys\.json\)/,
  )
  writeFileSync(other.file('keys.txt'), `# of the ledger\n\n${key}\n`)
  assert.is((await asked(other, tar, '--key', other.file('keys.txt'))).code, 0)
  assert.is((await asked(other, tar, '--key', key)).code, 0)
  assert.is((await asked(other, tar, '--key', 'nonsense')).code, 2)

  const wrong = noteVerifier(
    'ledger.example/acme',
    createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey,
  ).text
  assert.is((await asked(other, tar, '--key', wrong)).code, 1)
  writeFileSync(other.file('others.txt'), `${wrong.replace(/\/acme/, '/acme')}\n`)
  assert.is((await asked(other, tar, '--key', other.file('others.txt'))).code, 1)
  const pins = other.file('config/countersign/known-keys')
  const pin = (text: string) => runInProcess(['keys', 'pin', text, '--known-keys', pins])
  assert.is((await pin('nonsense')).code, 2)
  assert.is((await pin(key)).code, 0)
  assert.is((await pin(key)).code, 0)
  assert.equal([readFileSync(pins, 'utf8'), statSync(pins).mode & 0o777], [`${key}\n`, 0o600])
  const pinned = await asked(other, tar, '--known-keys', pins)
  assert.equal(
    [pinned.code, /^VERIFIED/.test(pinned.stdout), /yours \(.*known-keys\)/.test(pinned.stdout)],
    [0, true, true],
  )
  assert.equal([(await pin(wrong)).code, readFileSync(pins, 'utf8')], [1, `${key}\n`])
  chmodSync(pins, 0o620)
  const shared = await asked(other, tar, '--known-keys', pins)
  assert.equal([shared.code, /others may write/.test(shared.stderr)], [2, true], shared.stderr)
  writeFileSync(pins, `${wrong}\n`)
  chmodSync(pins, 0o600)
  assert.is((await asked(other, tar, '--known-keys', pins)).code, 1, 'another key under a pinned name')
  assert.ok(existsSync(tar))
})

test('an export of a tenant is complete under a key that the reader has, and INCOMPLETE without (A79, LOG-14)', async ({
  own,
  other,
  key,
}) => {
  const file = own.file('all.jsonl')
  const made = await runInProcess(['export', '--data', own.path, '--tenant', 'acme', '--out', file])
  assert.is(made.code, 0, made.stderr)
  const whole = await asked(own, file)
  assert.match(whole.stdout, /^VERIFIED[\s\S]*\ncomplete: all \d+ events/, whole.stdout)
  const ring = ['--keys', own.file('keys.json')]
  assert.is((await asked(other, file, ...ring)).code, 0)
  const stranger = await asked(other, file, '--key', key.replace('/acme+', '/other+'))
  assert.is.not(stranger.code, 0)
  const bare = await asked(other, file)
  assert.equal([bare.code, /completeness-unproven/.test(bare.stdout)], [3, true])
  assert.ok(textLines(new Map([['x', readFileSync(file)]]), 'x').length > 80)
})

test.run()
