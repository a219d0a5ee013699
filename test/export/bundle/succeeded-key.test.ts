/** @module A bundle under a key of the log that another one follows, as whoever stole the old key can make it. */
import type { KeyObject } from 'node:crypto'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { cosigner, NOTE_TYPES, noteSigner, noteVerifier } from '../../../src/merkle/note-key.ts'
import { parseNote, signNote } from '../../../src/merkle/signed-note.ts'
import { sha256 } from '../../../src/signing/digests.ts'
import { createLedgerKeys } from '../../../src/signing/ledger-keys.ts'
import { timestampRequest } from '../../../src/timestamps/timestamp-request.ts'
import type { BundleOptions } from '../../../src/verify/bundle/options.ts'
import { reportLines } from '../../../src/verify/bundle/report-lines.ts'
import { successionLineOf } from '../../../src/verify/bundle/verifier-keys.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { bundleOfLog, bundleOfRun, eventsOf, type History, resealed } from '../../support/auditee.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { runCommand } from '../../support/command-line.ts'
import { partsOf } from '../../support/forged-bundle.ts'
import { type Files, packedBundle } from '../../support/forgery.ts'
import { runInProcess } from '../../support/in-process-command.ts'
import { rotatedLogKey } from '../../support/key-rotation.ts'
import { stampingAuthority } from '../../support/stamping-authority.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'
import { ORIGIN } from '../../support/test-store.ts'
import { eventually } from '../../support/within.ts'

interface Context {
  /** Of before the rotation, and of after it, both to be signed by the old key. */
  before: History
  after: History
  keys: readonly [old: string, next: string]
  succession: string
  time: string
  /** The last checkpoint, under the new key. */
  later: string
}

const test = suite<Context>('export: a bundle under a key that was followed by another')
const NAME = `${ORIGIN}/acme`
const textOf = (note: string): string => parseNote(note)?.text ?? ''

test.before(async (context) => {
  using folder = tempFolder()
  await using home = await testLogs()
  const keyOf = (key: KeyObject) => noteVerifier(NAME, key).text
  const old = home.keys.checkpointKey
  const bundled = async (): Promise<History> => {
    await writeBundle(home.ledger, folder.file('b.tar'))
    const base = await unpackTar(readFileSync(folder.file('b.tar')))
    const { lines, predicate } = partsOf(base)
    return { base, lines, predicate, log: { name: NAME, key: old } }
  }
  await home.fill('acme', 'one', 2)
  context.before = await bundled()
  const rotated = rotatedLogKey(home.keys, ORIGIN)
  home.replaceKeys(rotated)
  await eventually(() => (home.logs.verifierKey('acme') === keyOf(rotated.checkpointKey) ? true : undefined), 'the key')
  await home.fill('acme', 'two', 1)
  context.after = await bundled()
  context.later = context.after.base.get('checkpoint')?.toString() ?? ''
  context.keys = [keyOf(old), keyOf(rotated.checkpointKey)]
  context.succession = rotated.formerLogKeys[0]?.succession ?? ''
  context.time = context.succession.split('\n')[3] ?? ''
})

async function judged({ keys, succession }: Context, files: Files, more: BundleOptions = {}) {
  const pins = { key: keys[0], pinned: keys, successions: [succession] }
  const found = verifyBundle(await packedBundle(files), { ...pins, ...more })
  const codes = [...new Set(found.faults.map(({ code }) => code))].join()
  return { verdict: `${found.verdict} ${codes}`.trim(), said: reportLines(found).join('\n'), about: found.about }
}

const NOTHING = /nothing shows that it was signed before the succession/

test('of before the succession it is VERIFIED, and nothing shows that it is of before (A372)', async (context) => {
  for (const files of [bundleOfLog(context.before), bundleOfRun(context.before, 'one')]) {
    const found = await judged(context, files)
    assert.is(found.verdict, 'VERIFIED')
    assert.match(found.said, NOTHING)
    assert.equal(found.about?.succession, {
      by: context.keys[1].split('+', 2).join('+'),
      time: context.time,
      shownBy: [],
    })
  }
  const newest = await judged(context, context.after.base, { key: context.keys[1] })
  assert.is(newest.verdict, 'VERIFIED')
  assert.not.match(newest.said, /succession/)
})

test('what a thief of the old key makes of events or at a time after the succession is not VERIFIED (A372)', async (context) => {
  const { before, after, time } = context
  const late = { ...before.predicate, time: new Date(Date.parse(time) + 1).toISOString() }
  const early = { ...after.predicate, time: before.predicate.time }
  for (const history of [after, { ...before, predicate: late }, { ...after, predicate: early }]) {
    assert.is((await judged(context, bundleOfLog(history))).verdict, 'UNVERIFIABLE succeeded-key')
    const run = history.lines === before.lines ? 'one' : 'two'
    assert.is((await judged(context, bundleOfRun(history, run))).verdict, 'UNVERIFIABLE succeeded-key')
  }
  const events = eventsOf(after.lines).map((each) => ({ ...each, header: { ...each.header, time: early.time } }))
  const dated = await judged(context, bundleOfLog({ ...after, lines: resealed(events), predicate: early }))
  assert.is(dated.verdict, 'VERIFIED', 'whoever has the key dates as they like')
  assert.match(dated.said, NOTHING)
})

test('a kept checkpoint, or a witness of before, shows that it is of before; of after, or of fewer events, they do not (A372)', async (context) => {
  const { before, time, later } = context
  const checkpoint = bundleOfLog(before).get('checkpoint')?.toString() ?? ''
  const kept = await judged(context, bundleOfLog(before), { checkpoint })
  assert.equal([kept.verdict, kept.about?.succession?.shownBy], ['VERIFIED', ['the checkpoint that was kept']])
  assert.not.match(kept.said, NOTHING)
  const fewer =
    bundleOfLog({ ...before, lines: before.lines.slice(0, -1) })
      .get('checkpoint')
      ?.toString() ?? ''
  assert.match((await judged(context, bundleOfLog(before), { checkpoint: fewer })).said, NOTHING)
  const behind = await judged(context, bundleOfLog(before), { checkpoint: later })
  assert.is(behind.verdict, 'INCOMPLETE log-behind-checkpoint', 'under the new key, which the reader has, too')

  const key = createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey
  const witnesses = [noteVerifier('w.example/w', key, NOTE_TYPES.cosignature).text]
  for (const [ms, shownBy] of [
    [-2_000, ['the witness w.example/w']],
    [2_000, []],
  ] as const) {
    const seconds = Math.floor((Date.parse(time) + ms) / 1_000)
    const signers = [noteSigner(NAME, before.log.key), cosigner('w.example/w', key, () => seconds)]
    const note = signNote(textOf(checkpoint), signers)
    const found = await judged(context, bundleOfLog({ ...before, note }), { witnesses })
    assert.equal([found.verdict, found.about?.succession?.shownBy], ['VERIFIED', shownBy])
  }
})

test('a reader who has both keys and no succession is told that there is one (A372)', async (context) => {
  const found = await judged(context, bundleOfLog(context.after), { successions: [] })
  assert.is(found.verdict, 'VERIFIED')
  assert.match(
    found.said,
    /follows the key that signed this \(you have no succession that says since when\); nothing shows/,
  )
  const alone = await judged(context, bundleOfLog(context.before), { successions: [], pinned: [context.keys[0]] })
  assert.not.match(alone.said, /succession/)
})

test('keys pin keeps the succession for countersign verify and for verify.mjs; a time-stamp of before shows it under --timestamp-ca (A372)', async (context) => {
  const { before, after, keys, succession, time } = context
  using folder = tempFolder()
  const place = (name: string, content: string | Uint8Array): string => {
    writeFileSync(folder.file(name), content, { mode: 0o600 })
    return folder.file(name)
  }
  const file = place('succession.json', JSON.stringify([succession]))
  const known = place('known', `${keys.join('\n')}\n`)
  const pins = ['--known-keys', known]
  const run = (...args: string[]) => runInProcess(args, { cwd: folder.path })
  const stolen = place('stolen.tar', await packedBundle(bundleOfLog(after)))
  assert.match((await run('verify', stolen, ...pins)).stdout, /you have no succession that says since when/)
  for (let times = 0; times < 2; times += 1) {
    assert.is((await run('keys', 'pin', keys[1], '--succession', file, ...pins)).code, 0)
    assert.is(readFileSync(known, 'utf8'), `${keys.join('\n')}\n${successionLineOf(succession)}\n`)
  }
  const refused = await run('verify', stolen, ...pins)
  assert.equal([refused.code, /UNVERIFIABLE {2}succeeded-key/.test(refused.stdout)], [3, true])
  const verifier = fileURLToPath(new URL('../../../src/verify/bundle/verify.mjs', import.meta.url))
  const alone = await runCommand(['node', verifier, stolen, '--key', known])
  assert.equal([alone.code, /UNVERIFIABLE {2}succeeded-key/.test(alone.stdout)], [3, true])

  const tsa = await stampingAuthority()
  const ca = place('ca.pem', tsa.ca)
  const text = textOf(bundleOfLog(before).get('checkpoint')?.toString() ?? '')
  for (const [ms, isShown] of [
    [-1_000, true],
    [1_000, false],
  ] as const) {
    const request = timestampRequest({ digest: sha256(Buffer.from(text)), nonce: randomBytes(8) })
    const reply = await tsa.answer(request, { time: new Date(Date.parse(time) + ms) })
    const more: Files = new Map([
      ['timestamp.json', Buffer.from('{"consistency":[]}\n')],
      ['timestamp.tsr', reply],
      ['timestamp.txt', Buffer.from(text)],
    ])
    const stamped = place('stamped.tar', await packedBundle(bundleOfLog({ ...before, more })))
    const unchecked = await run('verify', stamped, ...pins)
    assert.equal([unchecked.code, NOTHING.test(unchecked.stdout)], [0, true])
    const checked = await run('verify', stamped, '--timestamp-ca', ca, ...pins)
    assert.equal([checked.code, NOTHING.test(checked.stdout)], [0, !isShown], checked.stdout)
    assert.is(/is shown by the time-stamp of tsa\.test/.test(checked.stdout), isShown)
  }
})

test.run()
