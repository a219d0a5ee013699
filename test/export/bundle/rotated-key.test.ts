/** @module A bundle of a log whose key was rotated: whoever holds an earlier key gets to the one that signed, and nobody else does. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { noteVerifier } from '../../../src/merkle/note-key.ts'
import type { LedgerKeys } from '../../../src/signing/ledger-keys.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { runCommand } from '../../support/command-line.ts'
import { type Files, type LogKey, packedBundle, signedAgain } from '../../support/forgery.ts'
import { rotatedLogKey } from '../../support/key-rotation.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'
import { ORIGIN } from '../../support/test-store.ts'
import { eventually } from '../../support/within.ts'

interface Context {
  /** Before the first rotation, and after the second. */
  before: Buffer
  after: Buffer
  files: Files
  checkpoint: string
  log: LogKey
  /** Verifier keys of the log, oldest first. */
  keys: readonly string[]
  chain: readonly LedgerKeys[]
}

const test = suite<Context>('export: a bundle behind a rotation of the log key')
const NAME = `${ORIGIN}/acme`
const SUCCESSIONS = 'key-successions.json'
const keyOf = ({ checkpointKey }: LedgerKeys): string => noteVerifier(NAME, checkpointKey).text

test.before(async (context) => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 2)
  await writeBundle(home.ledger, folder.file('before.tar'))
  const kept = home.logs.checkpoint('acme')
  context.checkpoint = kept.ok ? kept.value : ''
  const chain = [home.keys]
  for (let times = 0; times < 2; times += 1) {
    const rotated = rotatedLogKey(home.keys, ORIGIN)
    home.replaceKeys(rotated)
    await eventually(() => (home.logs.verifierKey('acme') === keyOf(rotated) ? true : undefined), 'the new key')
    chain.push(rotated)
  }
  await writeBundle(home.ledger, folder.file('after.tar'))
  context.chain = chain
  context.keys = chain.map(keyOf)
  context.before = readFileSync(folder.file('before.tar'))
  context.after = readFileSync(folder.file('after.tar'))
  context.files = await unpackTar(context.after)
  context.log = { name: NAME, key: home.keys.checkpointKey }
})

const found = (bundle: Buffer, options: object): readonly string[] => {
  const { verdict, faults } = verifyBundle(bundle, options)
  return [verdict, ...new Set(faults.map(({ code }) => code))]
}

test('each key that signed the log before leads to the one that signed the bundle, and the reader learns of it (LOG-29)', ({
  after,
  keys,
}) => {
  for (const key of keys.slice(0, -1)) {
    const { verdict, notes, keyGiven } = verifyBundle(after, { key })
    assert.equal([verdict, keyGiven], ['VERIFIED', true])
    assert.match(notes.join('\n'), /was rotated: .* keep that one from now on/)
  }
  const newest = verifyBundle(after, { key: keys.at(-1) })
  assert.is(newest.verdict, 'VERIFIED')
  assert.not.match(newest.notes.join('\n'), /rotated/)
})

test('a bundle from before the rotation verifies under the key of then, and says so to whoever brings the new one (LOG-29)', ({
  before,
  keys,
}) => {
  assert.equal(found(before, { key: keys[0] }), ['VERIFIED'])
  const { verdict, faults } = verifyBundle(before, { key: keys[2] })
  assert.is(verdict, 'TAMPERED')
  assert.match(faults.map(({ message }) => message).join('\n'), /give the key of that time/)
})

test('a checkpoint that was kept under an earlier key is held against the bundle (LOG-29)', ({
  after,
  keys,
  checkpoint,
}) => {
  for (const key of keys) assert.equal(found(after, { key, checkpoint }), ['VERIFIED'])
  const altered = checkpoint.replace(/\n\d+\n/, '\n1\n')
  assert.equal(found(after, { key: keys[0], checkpoint: altered }), ['UNVERIFIABLE', 'checkpoint'])
})

test('a key that is not in the chain leads nowhere, whatever the bundle says (A211)', ({ after, chain }) => {
  const stranger = rotatedLogKey(chain[0] as LedgerKeys, ORIGIN)
  assert.equal(found(after, { key: keyOf(stranger) }), ['TAMPERED', 'other-key', 'manifest-signature'])
})

test('a chain that was changed, cut or made by the new key alone does not lead to it (A211)', async (context) => {
  const notes = JSON.parse(context.files.get(SUCCESSIONS)?.toString() ?? '') as readonly string[]
  const [first = '', second = ''] = notes
  const text = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
  const other = rotatedLogKey(context.chain[0] as LedgerKeys, ORIGIN)
  const foreign = rotatedLogKey(context.chain[0] as LedgerKeys, 'other.example')
  for (const [what, changed] of [
    ['the first is gone', text([second])],
    ['the last is gone', text([first])],
    ['none is left', text([])],
    ['out of order', text([second, first])],
    ['no notes', text([1, 2])],
    ['no list', text({ first })],
    ['written otherwise', JSON.stringify(notes)],
    ['without the old signature', text([withoutLine(first, 0), second])],
    ['without the new signature', text([withoutLine(first, 1), second])],
    ['another time', text([first.replace(/\n\d{4}-/, '\n1999-'), second])],
    ['another successor', text([other.formerLogKeys[0]?.succession, second])],
    ['of another ledger', text([foreign.formerLogKeys[0]?.succession, second])],
  ] as const) {
    const files = new Map(context.files)
    files.set(SUCCESSIONS, Buffer.from(changed))
    const forged = await packedBundle(signedAgain(files, context.log))
    const [verdict, ...codes] = found(forged, { key: context.keys[0] })
    assert.is(verdict, 'TAMPERED', what)
    assert.ok(
      codes.some((code) => code === 'succession' || code === 'other-key'),
      `${what}: ${codes}`,
    )
  }
})

interface Note {
  readonly kind?: string
  readonly time?: string
  /** Between the text and the signatures. */
  readonly border?: string
  readonly lines: readonly string[]
}

test('a reader’s key that did not itself sign for the next one leads nowhere, however whole the note looks (A191)', async (context) => {
  const [readers, stranger] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey]
  const { key: own } = context.log
  const [from, to] = [noteVerifier(ORIGIN, readers), noteVerifier(ORIGIN, own)]
  const made = ({ kind = 'countersign/log-key-succession/v1', time = '2026-01-02T03:04:05.678Z', ...rest }: Note) =>
    `${kind}\n${from.text}\n${to.text}\n${time}\n${rest.border ?? '\n'}${rest.lines.join('')}`
  const line = (keyId: Uint8Array, key: KeyObject, text: string, name = ORIGIN): string => {
    const bytes = Buffer.concat([keyId, sign(null, Buffer.from(text), key)])
    return `\u2014 ${name} ${bytes.toString('base64')}\n`
  }
  const idOf = ({ text }: { text: string }): Buffer => Buffer.from(text.split('+')[1] ?? '', 'hex')
  const judged = async (note: Note): Promise<readonly string[]> => {
    const files = new Map(context.files)
    files.set(SUCCESSIONS, Buffer.from(`${JSON.stringify([made(note)], null, 2)}\n`))
    const bundle = await packedBundle(signedAgain(files, context.log))
    return found(bundle, { key: noteVerifier(NAME, readers).text })
  }
  const text = made({ border: '', lines: [] })
  const [byReader, byOwn] = [line(idOf(from), readers, text), line(idOf(to), own, text)]
  assert.equal(await judged({ lines: [byReader, byOwn] }), ['VERIFIED'], 'signed by both')
  const other = made({ kind: 'other/v1', border: '', lines: [] })
  const early = made({ time: 'today', border: '', lines: [] })
  for (const [what, note] of [
    ['signed by a stranger in the place of the reader', { lines: [line(idOf(from), stranger, text), byOwn] }],
    ['signed by the new key in the place of the reader', { lines: [line(idOf(from), own, text), byOwn] }],
    ['not agreed to by the new key', { lines: [byReader, line(idOf(to), stranger, text)] }],
    ['signed under another id', { lines: [line(idOf(to), readers, text), byOwn] }],
    ['signed under another name', { lines: [line(idOf(from), readers, text, 'other.example'), byOwn] }],
    ['a signature of another text', { lines: [line(idOf(from), readers, 'other'), byOwn] }],
    ['the signatures the other way round', { lines: [byOwn, byReader] }],
    ['one more signature', { lines: [byReader, byOwn, byOwn] }],
    ['no end', { lines: [byReader, byOwn.trimEnd()] }],
    ['no border', { border: 'x\n', lines: [byReader, byOwn] }],
    ['another kind', { kind: 'other/v1', lines: [line(idOf(from), readers, other), line(idOf(to), own, other)] }],
    ['no time', { time: 'today', lines: [line(idOf(from), readers, early), line(idOf(to), own, early)] }],
  ] as const) {
    const [verdict, ...codes] = await judged(note)
    assert.equal([verdict, codes.includes('succession')], ['TAMPERED', true], what)
  }
})

test('verify.mjs takes a file with the keys of both times', async ({ before, after, keys }) => {
  using folder = tempFolder()
  writeFileSync(folder.file('keys'), `${keys.join('\n')}\n`)
  for (const [name, bundle] of [
    ['before.tar', before],
    ['after.tar', after],
  ] as const) {
    writeFileSync(folder.file(name), bundle)
    const verifier = fileURLToPath(new URL('../../../src/verify/bundle/verify.mjs', import.meta.url))
    const { code, stdout } = await runCommand(['node', verifier, folder.file(name), '--key', folder.file('keys')])
    assert.is(code, 0, stdout)
  }
})

function withoutLine(note: string, at: number): string {
  const border = note.indexOf('\n\n') + 2
  const lines = note.slice(border).split('\n')
  return note.slice(0, border) + lines.filter((_, index) => index !== at).join('\n')
}

test.run()
