/** @module Two checkpoints of one size that differ in any byte are two histories, whatever their roots say. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatAddCheckpoint } from '../../../src/merkle/add-checkpoint.ts'
import { parseCheckpoint } from '../../../src/merkle/checkpoint.ts'
import { cosigner, NOTE_TYPES, noteSigner, noteVerifier } from '../../../src/merkle/note-key.ts'
import { parseNote, signNote } from '../../../src/merkle/signed-note.ts'
import { judgeAddCheckpoint, type Witnessed } from '../../../src/merkle/witness.ts'
import { sha256 } from '../../../src/signing/digests.ts'
import { createLedgerKeys } from '../../../src/signing/ledger-keys.ts'
import { timestampRequest } from '../../../src/timestamps/timestamp-request.ts'
import type { BundleOptions } from '../../../src/verify/bundle/options.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { bundleOfLog, bundleOfRun, checkpointOver, type History } from '../../support/auditee.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { partsOf } from '../../support/forged-bundle.ts'
import { checkpointOf, type Files, headerOf, packedBundle } from '../../support/forgery.ts'
import { stampingAuthority } from '../../support/stamping-authority.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

interface Context {
  history: History
  key: string
  headers: readonly string[]
  /** The log's own checkpoint of these headers, and one that names the streams without the last event of run two. */
  honest: string
  lying: string
  lastOfTwo: string
}

const test = suite<Context>('export: two checkpoints of one size')
const witnessKey = createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey
const WITNESS = noteVerifier('w.example/w', witnessKey, NOTE_TYPES.cosignature).text

test.before(async (context) => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 2)
  await home.fill('acme', 'two', 3)
  await writeBundle(home.ledger, folder.file('log.tar'))
  const base = await unpackTar(readFileSync(folder.file('log.tar')))
  const { lines, predicate } = partsOf(base)
  const log = { name: 'ledger.example/acme', key: home.keys.checkpointKey }
  context.history = { base, lines, predicate, log }
  context.key = home.logs.verifierKey('acme')
  context.headers = lines.map(headerOf)
  context.honest = base.get('checkpoint')?.toString() ?? ''
  context.lastOfTwo = context.headers.findLast((header) => header.includes('"stream":"run-acme.two"')) ?? ''
  const cut = context.headers.filter((header) => header !== context.lastOfTwo)
  context.lying = checkpointOver(context.headers, log, cut)
})

const textOf = (note: string): string => parseNote(note)?.text ?? ''

async function judged({ key }: Context, files: Files, options: BundleOptions = {}): Promise<readonly string[]> {
  const { verdict, faults } = verifyBundle(await packedBundle(files), { key, ...options })
  return [verdict, ...new Set(faults.map(({ code }) => code))]
}

test('a checkpoint that was kept is the very text of its size: another line beside size and root is a fork (A370)', async (context) => {
  const { history, honest, lying, headers } = context
  for (const files of [bundleOfLog(history), bundleOfRun(history, 'two')]) {
    assert.equal(await judged(context, files, { checkpoint: honest }), ['VERIFIED'])
    const bare = checkpointOf(headers, history.log)
    const more = checkpointOf(headers, history.log, [...(parseCheckpoint(textOf(honest))?.extensions ?? []), 'more'])
    for (const checkpoint of [lying, bare, more])
      assert.ok((await judged(context, files, { checkpoint })).join().startsWith('TAMPERED,fork'))
  }
})

test('a run whose last event was left out under such a checkpoint is told by the one that was kept (A370)', async (context) => {
  const { history, honest, lying, lastOfTwo } = context
  const files = bundleOfRun({ ...history, note: lying }, 'two', lastOfTwo)
  assert.equal(await judged(context, files), ['VERIFIED'], 'the word of the signer, where nothing was kept')
  assert.equal(await judged(context, files, { checkpoint: honest }), ['TAMPERED', 'fork'])
})

test('a checkpoint of another size that was kept has its own streams in a bundle with the whole log, and a bundle of one run cannot tell (A370)', async (context) => {
  const { history, headers } = context
  const some = headers.slice(0, -3)
  const [kept, lying] = [checkpointOver(some, history.log), checkpointOver(some, history.log, some.slice(0, -1))]
  assert.equal(await judged(context, bundleOfLog(history), { checkpoint: kept }), ['VERIFIED'])
  assert.equal(await judged(context, bundleOfLog(history), { checkpoint: lying }), ['TAMPERED', 'streams'])
  for (const checkpoint of [kept, lying])
    assert.equal(await judged(context, bundleOfRun(history, 'two'), { checkpoint }), [
      'UNVERIFIABLE',
      'kept-checkpoint',
    ])
})

test('a witness that cosigned one text of a size cosigns no other, files both, and a bundle of the other lacks its cosignature (A370, LOG-10)', async (context) => {
  const { history, honest, lying } = context
  const verifier = noteSigner(history.log.name, history.log.key).verifier
  const logs = new Map([[history.log.name, [[verifier]]]])
  const first = judgeAddCheckpoint(formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint: honest }), {
    logs,
    witnessed: new Map(),
  })
  if (first.status !== 200) throw new Error(first.body)
  const { size, root } = first.checkpoint
  const last: Witnessed = { size, root, note: first.note }
  for (const oldSize of [0, size]) {
    const again = (checkpoint: string) =>
      judgeAddCheckpoint(formatAddCheckpoint({ oldSize, proof: [], checkpoint }), {
        logs,
        witnessed: new Map([[history.log.name, last]]),
      })
    if (oldSize === size) assert.is(again(honest).status, 200, 'the same text again')
    const second = again(lying)
    assert.is(second.status, 409)
    const { evidence } = second as { evidence?: { kind: string; notes: readonly string[] } }
    assert.equal([evidence?.kind, evidence?.notes], ['same-size', [honest, lying]])
  }
  const witness = cosigner('w.example/w', witnessKey, () => 1_780_000_000)
  const note = signNote(textOf(honest), [noteSigner(history.log.name, history.log.key), witness])
  assert.equal(await judged(context, bundleOfRun({ ...history, note }, 'two'), { witnesses: [WITNESS] }), ['VERIFIED'])
  const replayed = signNote(textOf(lying), [
    noteSigner(history.log.name, history.log.key),
    { ...witness, sign: () => witness.sign(textOf(honest)) },
  ])
  assert.is(
    (await judged(context, bundleOfRun({ ...history, note: replayed }, 'two'), { witnesses: [WITNESS] }))[0],
    'TAMPERED',
  )
})

test('a checkpoint that was time-stamped is the very text of its size, and names the streams of its events (A370)', async (context) => {
  const { history, honest, lying, headers } = context
  const tsa = await stampingAuthority()
  const stamped = async (text: string): Promise<Files> => {
    const reply = await tsa.answer(timestampRequest({ digest: sha256(Buffer.from(text)), nonce: randomBytes(8) }))
    const files: readonly [string, Buffer][] = [
      ['timestamp.json', Buffer.from('{"consistency":[]}\n')],
      ['timestamp.tsr', reply],
      ['timestamp.txt', Buffer.from(text)],
    ]
    return new Map(files)
  }
  const bare = textOf(checkpointOf(headers, history.log))
  for (const make of [bundleOfLog, (of: History) => bundleOfRun(of, 'two')]) {
    assert.equal(await judged(context, make({ ...history, more: await stamped(textOf(honest)) })), ['VERIFIED'])
    for (const text of [textOf(lying), bare]) {
      const [verdict, code] = await judged(context, make({ ...history, more: await stamped(text) }))
      assert.equal([verdict, code], ['TAMPERED', 'fork'])
    }
  }
})

test.run()
