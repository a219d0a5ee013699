/** @module A bundle of a log whose checkpoint was time-stamped: what its verifier makes of the token, and what it leaves to others. */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { sha256 } from '../../../src/signing/digests.ts'
import { timestampRequest } from '../../../src/timestamps/timestamp-request.ts'
import { reportLines } from '../../../src/verify/bundle/report-lines.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { type Files, type LogKey, packedBundle, signedAgain } from '../../support/forgery.ts'
import { runInProcess } from '../../support/in-process-command.ts'
import { stampedLogs } from '../../support/stamped-logs.ts'
import { type StampingAuthority, stampingAuthority } from '../../support/stamping-authority.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { ORIGIN } from '../../support/test-store.ts'

interface Context {
  log: Buffer
  run: Buffer
  files: Files
  key: string
  signer: LogKey
  tsa: StampingAuthority
}

const test = suite<Context>('export: the time-stamp in a bundle')
const [TEXT, REPLY, PROOF] = ['timestamp.txt', 'timestamp.tsr', 'timestamp.json'] as const

test.before(async (context) => {
  using folder = tempFolder()
  context.tsa = await stampingAuthority()
  await using at = await stampedLogs(context.tsa)
  await writeBundle(at.ledger, folder.file('log.tar'))
  await writeBundle(at.ledger, folder.file('run.tar'), { query: { run: 'one' }, proof: 'stream' })
  context.log = readFileSync(folder.file('log.tar'))
  context.run = readFileSync(folder.file('run.tar'))
  context.files = await unpackTar(context.log)
  context.key = at.logs.verifierKey('acme')
  context.signer = { name: `${ORIGIN}/acme`, key: at.keys.checkpointKey }
})

const replyTo = (tsa: StampingAuthority, text: Buffer): Promise<Buffer> =>
  tsa.answer(timestampRequest({ digest: sha256(text), nonce: randomBytes(8) }))

test('the verifier says by when which events existed, and that the signature is for openssl to check (LOG-34)', ({
  log,
  run,
  files,
  key,
}) => {
  const size = Number(files.get(TEXT)?.toString().split('\n')[1])
  for (const bundle of [log, run]) {
    const found = verifyBundle(bundle, { key })
    assert.is(found.verdict, 'VERIFIED', JSON.stringify(found.faults))
    assert.is(found.about?.timestamp?.size, size)
    assert.ok(size > 0 && size < (found.about?.size ?? 0))
    const said = reportLines(found).join('\n')
    assert.match(said, new RegExp(`time-stamp: the first ${size} events of the log existed by \\d{4}-`))
    assert.match(said, /its signature was not checked here: openssl ts -verify -data timestamp.txt -in timestamp.tsr/)
  }
  assert.match(files.get('README.txt')?.toString() ?? '', /timestamp\.tsr/)
})

test('a time-stamp for other bytes, of another log, of no beginning of this log, or of no form is found, whoever signed the bundle (A243)', async ({
  files,
  key,
  signer,
  tsa,
}) => {
  const text = files.get(TEXT) ?? Buffer.alloc(0)
  const lines = text.toString().split('\n')
  const textWith = (at: number, line: string): Buffer => Buffer.from(lines.with(at, line).join('\n'))
  const [otherLog, otherRoot] = [
    textWith(0, 'ledger.example/other'),
    textWith(2, Buffer.alloc(32, 1).toString('base64')),
  ]
  const otherSize = textWith(1, String(Number(lines[1]) + 1))
  const tooLarge = textWith(1, '999999')
  const reply = files.get(REPLY) ?? Buffer.alloc(0)
  const { consistency } = JSON.parse(files.get(PROOF)?.toString() ?? '')
  const proofOf = (hashes: unknown): Buffer => Buffer.from(`${JSON.stringify({ consistency: hashes })}\n`)
  const changes: readonly (readonly [string, Readonly<Record<string, Buffer>>])[] = [
    ['other bytes', { [REPLY]: await replyTo(tsa, Buffer.from('other')) }],
    ['another log', { [TEXT]: otherLog, [REPLY]: await replyTo(tsa, otherLog) }],
    ['another root', { [TEXT]: otherRoot, [REPLY]: await replyTo(tsa, otherRoot) }],
    ['another size', { [TEXT]: otherSize, [REPLY]: await replyTo(tsa, otherSize) }],
    ['a size beyond', { [TEXT]: tooLarge, [REPLY]: await replyTo(tsa, tooLarge) }],
    ['no checkpoint', { [TEXT]: Buffer.from('hello\n'), [REPLY]: await replyTo(tsa, Buffer.from('hello\n')) }],
    ['no token', { [REPLY]: Buffer.from('3000', 'hex') }],
    ['cut', { [REPLY]: reply.subarray(0, 100) }],
    [
      'rejected',
      { [REPLY]: await tsa.answer(timestampRequest({ digest: sha256(text), nonce: randomBytes(8) }), { status: 2 }) },
    ],
    ['too long', { [REPLY]: Buffer.concat([reply, Buffer.alloc(20_000)]) }],
    ['something behind', { [REPLY]: Buffer.concat([reply, Buffer.of(5, 0)]) }],
    ['no proof', { [PROOF]: proofOf([]) }],
    ['a proof cut', { [PROOF]: proofOf(consistency.slice(1)) }],
    ['a proof altered', { [PROOF]: proofOf([Buffer.alloc(32).toString('base64'), ...consistency.slice(1)]) }],
    ['a proof too long', { [PROOF]: proofOf([...consistency, ...consistency]) }],
    ['a proof of no form', { [PROOF]: proofOf([[consistency[0]], ...consistency.slice(1)]) }],
    ['no list', { [PROOF]: proofOf(5) }],
  ]
  for (const [what, changed] of changes) {
    const altered = signedAgain(new Map([...files, ...Object.entries(changed)]), signer)
    const { verdict, faults } = verifyBundle(await packedBundle(altered), { key })
    assert.is(verdict, 'TAMPERED', what)
    assert.match(faults.map(({ code }) => code).join(), /timestamp|malformed|not-json/, what)
  }
  for (const name of [TEXT, REPLY, PROOF]) {
    const without = signedAgain(new Map([...files].filter(([file]) => file !== name)), signer)
    assert.is(verifyBundle(await packedBundle(without), { key }).verdict, 'INCOMPLETE', name)
  }
  // Without all three the bundle is one of a log that nobody time-stamped, but its README says otherwise.
  const none = [...files].filter(([file]) => !file.startsWith('timestamp'))
  assert.is(verifyBundle(await packedBundle(signedAgain(new Map(none), signer)), { key }).verdict, 'TAMPERED')
})

test('countersign verify --timestamp-ca checks the signature, and proves nothing where the authority is another or none (LOG-34, A243)', async ({
  log,
  run,
  files,
  key,
  signer,
  tsa,
}) => {
  using folder = tempFolder()
  const place = (name: string, content: string | Uint8Array): string => {
    writeFileSync(folder.file(name), content)
    return folder.file(name)
  }
  const ca = place('ca.pem', tsa.ca)
  const strange = place('strange.pem', (await stampingAuthority()).ca)
  const verify = (bundle: string, file: string) =>
    runInProcess(['verify', bundle, '--key', key, '--timestamp-ca', file])
  for (const [name, bytes] of [
    ['log.tar', log],
    ['run.tar', run],
  ] as const) {
    const good = await verify(place(name, bytes), ca)
    assert.equal([good.code, good.stderr], [0, ''], good.stdout)
    assert.match(good.stdout, /existed by .*; signed by tsa.test, whom your authorities vouch for/)
  }
  const other = await verify(folder.file('log.tar'), strange)
  assert.is(other.code, 3)
  assert.match(other.stdout, /UNVERIFIABLE {2}timestamp-signature/)

  const text = files.get(TEXT) ?? Buffer.alloc(0)
  const request = timestampRequest({ digest: sha256(text), nonce: randomBytes(8) })
  const broken = await tsa.answer(request, { brokenSignature: true })
  const spoiled = place('spoiled.tar', await packedBundle(signedAgain(new Map([...files, [REPLY, broken]]), signer)))
  assert.is((await runInProcess(['verify', spoiled, '--key', key])).code, 0)
  assert.match((await verify(spoiled, ca)).stdout, /UNVERIFIABLE {2}timestamp-signature/)

  const noCa = await verify(folder.file('log.tar'), place('no.pem', 'nothing'))
  assert.is(noCa.code, 2)
  assert.match(noCa.stderr, /--timestamp-ca: .* no certificate in PEM/)
})

test.run()
