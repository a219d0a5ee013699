import { type KeyObject, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { cosigner, NOTE_TYPES, type NoteSigner, noteSigner, noteVerifier } from '../../../src/merkle/note-key.ts'
import { signNote } from '../../../src/merkle/signed-note.ts'
import { createLedgerKeys } from '../../../src/signing/ledger-keys.ts'
import type { BundleOptions } from '../../../src/verify/bundle/options.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { runCommand } from '../../support/command-line.ts'
import { forgedBundle, partsOf } from '../../support/forged-bundle.ts'
import { type Files, type LogKey, packedBundle } from '../../support/forgery.ts'
import { runInProcess } from '../../support/in-process-command.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

interface Context {
  folder: TempFolder
  log: LogKey
  key: string
  files: Files
  /** Text of the bundle's checkpoint, and of an earlier one of the same log. */
  text: string
  earlier: string
}

const test = suite<Context>('export: witnesses of a bundle')
const SECONDS = 1_780_000_000
const VERIFIER = fileURLToPath(new URL('../../../src/verify/bundle/verify.mjs', import.meta.url))

const newKey = (): KeyObject => createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey
const keys = { ann: newKey(), ben: newKey(), eve: newKey() }
const witness = (name: string, key: KeyObject): string => noteVerifier(name, key, NOTE_TYPES.cosignature).text
const cosigned = (name: string, key: KeyObject): NoteSigner => cosigner(name, key, () => SECONDS)
const ANN = witness('ann.example/w', keys.ann)
const BEN = witness('ben.example/w', keys.ben)

test.before(async (context) => {
  context.folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 2)
  await home.logs.publish()
  const earlier = home.logs.checkpoint('acme')
  await home.fill('acme', 'two', 2)
  await writeBundle(home.ledger, context.folder.file('b.tar'), { query: { run: 'one' } })
  context.files = await unpackTar(readFileSync(context.folder.file('b.tar')))
  context.log = { name: 'ledger.example/acme', key: home.keys.checkpointKey }
  context.key = home.logs.verifierKey('acme')
  context.text = textOf(context.files.get('checkpoint')?.toString() ?? '')
  context.earlier = textOf(earlier.ok ? earlier.value : '')
})
test.after(({ folder }) => folder[Symbol.dispose]())

const textOf = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1)

/** The bundle with a checkpoint that these have signed, too. */
async function bundle({ files, log, text }: Context, signers: readonly NoteSigner[]): Promise<Buffer> {
  const note = signNote(text, [noteSigner(log.name, log.key), ...signers])
  return await packedBundle(forgedBundle(files, { ...partsOf(files), note }, log))
}

async function judged(context: Context, signers: readonly NoteSigner[], options: BundleOptions) {
  const found = verifyBundle(await bundle(context, signers), { key: context.key, ...options })
  return [found.verdict, found.faults.map(({ code }) => code).join()]
}

/** What a signer makes of another text, put under this one. */
function replayed(signer: NoteSigner, text: string): NoteSigner {
  return { ...signer, sign: () => signer.sign(text) }
}

test('a quorum is met by as many of the witnesses that the reader names, and by default by all of them (A90)', async (context) => {
  const both = [cosigned('ann.example/w', keys.ann), cosigned('ben.example/w', keys.ben)]
  assert.equal(await judged(context, both, { witnesses: [ANN, BEN] }), ['VERIFIED', ''])
  assert.equal(await judged(context, both.slice(0, 1), { witnesses: [ANN, BEN], quorum: 1 }), ['VERIFIED', ''])
  for (const [signers, options] of [
    [[], { witnesses: [ANN] }],
    [both.slice(0, 1), { witnesses: [ANN, BEN] }],
    [both.slice(0, 1), { witnesses: [BEN], quorum: 1 }],
    [both, { witnesses: [ANN, BEN], quorum: 3 }],
    [both, { quorum: 1 }],
    [both, { witnesses: [ANN], quorum: Number.NaN }],
  ] as const)
    assert.equal(await judged(context, signers, options), ['UNVERIFIABLE', 'quorum'], JSON.stringify(options))
})

test('a witness that the reader does not name, or another under its name, counts for nothing (A90)', async (context) => {
  const strangers = [cosigned('eve.example/w', keys.eve), cosigned('ann.example/w', keys.eve)]
  assert.equal(await judged(context, strangers, { witnesses: [ANN] }), ['UNVERIFIABLE', 'quorum'])
  assert.equal(await judged(context, strangers, { witnesses: [ANN], quorum: 1 }), ['UNVERIFIABLE', 'quorum'])
})

test('a cosignature over another checkpoint, another time, or without a time is TAMPERED (A90)', async (context) => {
  const own = cosigned('ann.example/w', keys.ann)
  const options = { witnesses: [ANN] }
  assert.equal(await judged(context, [replayed(own, context.earlier)], options), ['TAMPERED', 'cosignature,quorum'])
  const bytes = (change: (signature: Buffer) => Uint8Array): NoteSigner => ({
    ...own,
    sign: (text) => change(Buffer.from(own.sign(text))),
  })
  for (const change of [
    (signature: Buffer) => signature.fill(signature[7] === 0 ? 1 : 0, 7, 8),
    (signature: Buffer) => signature.fill(255, 0, 8),
    (signature: Buffer) => signature.subarray(8),
    (signature: Buffer) => signature.fill(0, 8),
  ])
    assert.equal(await judged(context, [bytes(change)], options), ['TAMPERED', 'cosignature,quorum'])
})

test('one witness counts once: named twice, signing twice, under two names or with two keys (A90)', async (context) => {
  const { ann, ben } = keys
  const one = [cosigned('ann.example/w', ann)]
  const unmet = ['UNVERIFIABLE', 'quorum']
  assert.equal(await judged(context, one, { witnesses: [ANN, ANN], quorum: 2 }), unmet)
  assert.equal(await judged(context, [...one, ...one], { witnesses: [ANN, ` ${ANN}`], quorum: 2 }), unmet)
  const names = [...one, cosigned('other.example/w', ann)]
  assert.equal(await judged(context, names, { witnesses: [ANN, witness('other.example/w', ann)], quorum: 2 }), unmet)
  const twoKeys = [...one, cosigned('ann.example/w', ben)]
  assert.equal(await judged(context, twoKeys, { witnesses: [ANN, witness('ann.example/w', ben)], quorum: 2 }), unmet)
})

test("the log's own key is no witness, under whatever name, nor is a key of another kind (A90)", async (context) => {
  const { log, key } = context
  const refused = ['UNVERIFIABLE', 'witness-key']
  for (const name of [log.name, 'ann.example/w'])
    assert.equal(await judged(context, [cosigned(name, log.key)], { witnesses: [witness(name, log.key)] }), refused)
  for (const text of [key, noteVerifier('ann.example/w', keys.ann).text, '', 'nonsense'])
    assert.equal(await judged(context, [noteSigner('ann.example/w', keys.ann)], { witnesses: [text] }), refused)
})

test('both command lines hold a bundle against --witness and --quorum, and refuse what they would pass over (A90)', async (context) => {
  const { folder, key } = context
  const file = folder.file('cosigned.tar')
  writeFileSync(file, await bundle(context, [cosigned('ann.example/w', keys.ann)]))
  for (const [ours, theirs, code] of [
    [['--witness', ANN], ['--witness', ANN], 0],
    [['--witness', `${ANN},${BEN}`], ['--witness', ANN, '--witness', BEN], 3],
    [['--witness', `${ANN},${BEN}`, '--quorum', '1'], ['--witness', ANN, '--witness', BEN, '--quorum', '1'], 0],
    [['--witness', BEN, '--quorum', '1'], ['--witness', BEN, '--quorum', '1'], 3],
    [['--quorum', '1'], ['--quorum', '1'], 3],
    [['--witness', ANN, '--quorum', '0'], ['--witness', ANN, '--quorum', '0'], 2],
    [['--witness', ANN, '--quorum', ''], ['--witness', ANN, '--quorum', ''], 2],
  ] as const) {
    const own = await runInProcess(['verify', file, '--key', key, ...ours])
    assert.is(own.code, code, `${ours.join(' ')}: ${own.stdout}${own.stderr}`)
    const alone = await runCommand([process.execPath, VERIFIER, file, '--key', key, ...theirs])
    assert.is(alone.code, code, `${theirs.join(' ')}: ${alone.stdout}${alone.stderr}`)
  }
  const twice = await runInProcess(['verify', file, '--key', key, '--witness', BEN, '--witness', ANN])
  assert.equal([twice.code, /--witness is there twice/.test(twice.stderr)], [2, true], twice.stderr)
  writeFileSync(folder.file('all.jsonl'), context.files.get('events.jsonl') ?? '')
  for (const flag of ['--witness', '--quorum']) {
    const passedOver = await runInProcess(['verify', folder.file('all.jsonl'), '--key', key, flag, '1'])
    assert.equal([passedOver.code, passedOver.stderr.includes(flag)], [2, true], passedOver.stderr)
  }
})

test.run()
