import { randomBytes } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { prepareBundle } from '../../../src/export/bundle/issue-bundle.ts'
import { parseCheckpoint } from '../../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../../src/merkle/compact-tree.ts'
import { leafHash } from '../../../src/merkle/hashes.ts'
import { streamsLine } from '../../../src/merkle/stream-tree.ts'
import { StreamTreeBuilder } from '../../../src/merkle/stream-tree-builder.ts'
import { digestText } from '../../../src/signing/digests.ts'
import type { BundleOptions } from '../../../src/verify/bundle/options.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { AUDITOR, unpackTar } from '../../support/bundles.ts'
import {
  checkpointOf,
  type Files,
  type LogKey,
  packedBundle,
  predicateOf,
  signedAgain,
  trailerLine,
  treeOf,
} from '../../support/forgery.ts'
import { seededRandom, testSeed } from '../../support/random.ts'
import { openedCheckpoint, type TestLogs, testLogs } from '../../support/test-logs.ts'

const test = suite('export: bundle of one run under the tree of streams')

interface Site {
  readonly files: Files
  readonly tar: Buffer
  readonly key: string
  readonly log: LogKey
  readonly home: TestLogs
}
let site: Site

test.before(async () => {
  const home = await testLogs()
  await Promise.all(Array.from({ length: 12 }, (_, n) => home.fill('acme', `other-${n}`, 3)))
  await home.fill('acme', 'r1', 6)
  const tar = await bundled(home, { run: 'r1' })
  const key = home.logs.verifierKey('acme')
  const log = { name: key.slice(0, key.indexOf('+')), key: home.keys.checkpointKey }
  site = { files: await unpackTar(tar), tar, key, log, home }
})
test.after(async () => {
  await site.home[Symbol.asyncDispose]()
})

async function bundled(home: TestLogs, query: { run: string; types?: ['EnvelopeAccepted'] }): Promise<Buffer> {
  const prepared = await prepareBundle(home.ledger, AUDITOR, query)
  if (!prepared.ok) throw new Error(prepared.code)
  await prepared.value.start()
  const chunks: Uint8Array[] = []
  for await (const chunk of prepared.value.chunks()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const textOf = (files: Files, name: string): string => files.get(name)?.toString() ?? ''
const linesOf = (files: Files): string[] => textOf(files, 'events.jsonl').split(/(?<=\n)/)

/** What is found in the files as they are, packed and under the log's key. */
async function codesOf(files: Files, options: BundleOptions = {}): Promise<readonly string[]> {
  const found = verifyBundle(await packedBundle(files), { key: site.key, ...options })
  return [found.verdict, ...new Set(found.faults.map(({ code }) => code))]
}

/** The files with other contents, under a manifest that the log's key signed again, its counts as they are now. */
function signed(changes: Record<string, string | undefined>, said: object = {}): Files {
  const files = new Map(site.files)
  for (const [name, text] of Object.entries(changes))
    if (text === undefined) files.delete(name)
    else files.set(name, Buffer.from(text))
  return signedAgain(files, site.log, { ...predicateOf(site.files), ...said } as never, 'stream')
}

/** The same bundle with these event lines, counted, digested and signed as a ledger would that had no others. */
function withEvents(lines: readonly string[], more: Record<string, string | undefined> = {}): Files {
  const { ledgerId, checkpoint, counts, query } = predicateOf(site.files)
  const { asOf } = JSON.parse(linesOf(site.files).at(-1) ?? '').trailer as { asOf: string }
  const tree = { treeSize: checkpoint.size, root: checkpoint.root }
  const trailer = trailerLine(lines, site.log, { ledgerId, run: query.run ?? null, asOf, ...tree })
  const events = lines.length
  return signed(
    { 'events.jsonl': [...lines, trailer].join(''), ...more },
    { counts: { ...counts, events, matching: events } },
  )
}

test('it holds the events of the run and nothing of any other, and is VERIFIED under the key of the log (LOG-15)', () => {
  const found = verifyBundle(site.tar, { key: site.key })
  assert.equal(found.faults, [])
  assert.is(found.verdict, 'VERIFIED')
  assert.equal([found.proof, found.events, found.matching], ['stream', 13, 13])
  assert.not(site.files.has('log.jsonl'))
  for (const [name, content] of site.files) assert.not.match(content.toString(), /other-\d/, name)
  assert.is(verifyBundle(site.tar).verdict, 'CONSISTENT, NOT AUTHENTICATED')
})

test('what else the query asks for is answered from all events of the run (LOG-15)', async () => {
  const tar = await bundled(site.home, { run: 'r1', types: ['EnvelopeAccepted'] })
  const found = verifyBundle(tar, { key: site.key })
  assert.equal([found.verdict, found.events, found.matching], ['VERIFIED', 13, 6])
})

test('whoever holds the log key can leave out no event of the run: the checkpoint counts and digests them (A233)', async () => {
  const lines = linesOf(site.files).slice(0, -1)
  for (const left of [0, 5, lines.length - 1]) {
    const [verdict, ...codes] = await codesOf(withEvents(lines.filter((_, at) => at !== left)))
    assert.is.not(verdict, 'VERIFIED')
    assert.ok(codes.includes('event-missing'), `${left}: ${codes}`)
  }
  const twice = await codesOf(withEvents([...lines, lines.at(-1) ?? '']))
  assert.is(twice[0], 'TAMPERED')
  assert.ok(twice.includes('other-events') && twice.includes('chain'))
  const swapped = [...lines]
  swapped.splice(3, 2, lines[4] ?? '', lines[3] ?? '')
  assert.ok((await codesOf(withEvents(swapped))).includes('other-events'))
})

test('a shorter count, another digest or another way in stream.json is none that the checkpoint names (A233)', async () => {
  const { events, digest, path } = JSON.parse(textOf(site.files, 'stream.json')) as {
    events: number
    digest: string
    path: string[]
  }
  assert.ok(path.length > 1)
  const text = (value: object) => `${JSON.stringify(value)}\n`
  const forged = [
    { events: events - 1, digest, path },
    { events, digest: digestText(leafHash('other')), path },
    { events, digest, path: path.slice(1) },
    { events, digest, path: [...path].reverse() },
  ]
  for (const each of forged) {
    const codes = await codesOf(signed({ 'stream.json': text(each) }))
    assert.is(codes[0], 'TAMPERED')
    assert.ok(codes.includes('stream-path'), String(codes))
  }
  const malformed = [
    'null\n',
    '{}\n',
    text({ events, digest }),
    text({ events, digest, path, more: 1 }),
    text({ events: -1, digest, path }),
  ]
  for (const each of [...malformed, text({ events, digest, path: Array.from({ length: 257 }, () => path[0]) })]) {
    const [verdict] = await codesOf(signed({ 'stream.json': each }))
    assert.is(verdict, 'TAMPERED', each.slice(0, 60))
  }
  assert.equal((await codesOf(signed({ 'stream.json': undefined }))).slice(0, 2), ['INCOMPLETE', 'file-missing'])
})

test('with the files of the other kind, or a manifest that says less than the run, it is refused (A233)', async () => {
  assert.ok((await codesOf(signed({ 'log.jsonl': '{}\n' }))).includes('foreign-file'))
  assert.ok((await codesOf(signed({}, { complete: { run: 'other-1' } }))).includes('other-scope'))
  assert.ok((await codesOf(signed({}, { complete: {} }))).includes('other-scope'))
  assert.ok((await codesOf(signed({}, { query: {}, complete: {} }))).includes('manifest-form'))
  assert.is.not((await codesOf(signed({}, { query: { run: 'other-1' }, complete: { run: 'other-1' } })))[0], 'VERIFIED')
})

test('a kept checkpoint of the same size is held against it; of another size it says that this bundle cannot be (A233)', async () => {
  const own = textOf(site.files, 'checkpoint')
  assert.is((await codesOf(site.files, { checkpoint: own }))[0], 'VERIFIED')
  await site.home.fill('acme', 'later', 1)
  await site.home.logs.publish()
  const later = site.home.logs.checkpoint('acme')
  if (!later.ok) throw new Error(later.code)
  assert.equal(await codesOf(site.files, { checkpoint: later.value }), ['UNVERIFIABLE', 'kept-checkpoint'])
})

test('a bundle with the whole log makes the tree of streams again, and names a checkpoint that lies of it (A234)', async () => {
  const { home, key, log } = site
  const prepared = await prepareBundle(home.ledger, AUDITOR, { run: 'r1' }, { proof: 'log' })
  if (!prepared.ok) throw new Error(prepared.code)
  await prepared.value.start()
  const chunks: Uint8Array[] = []
  for await (const chunk of prepared.value.chunks()) chunks.push(chunk)
  const files = await unpackTar(Buffer.concat(chunks))
  assert.is(verifyBundle(Buffer.concat(chunks), { key }).verdict, 'VERIFIED')
  const headers = textOf(files, 'log.jsonl').split('\n').slice(0, -1)
  const [tree, streams] = [new CompactTree(), new StreamTreeBuilder()]
  for (const header of headers) {
    tree.append(leafHash(header))
    streams.take((JSON.parse(header) as { stream: string }).stream, leafHash(header))
  }
  const checkpoint = parseCheckpoint(openedCheckpoint(textOf(files, 'checkpoint'), key))
  assert.equal(checkpoint?.extensions, [streamsLine(streams.root())])
  assert.is(digestText(tree.root()), treeOf(headers).root)

  const lying = checkpointOf(headers, log, [streamsLine(leafHash('another tree'))])
  const forged = new Map(files).set('checkpoint', Buffer.from(lying))
  for (const [name, content] of files)
    if (name.startsWith('proofs/')) {
      const proof = content.toString()
      forged.set(name, Buffer.from(`${proof.slice(0, proof.indexOf('\n\n') + 2)}${lying}`))
    }
  assert.equal(await codesOf(signedAgain(forged, log)), ['TAMPERED', 'streams'])
})

/** What a bundle of a run holds right after: nothing is appended that a newer checkpoint would have to cover. */
async function bundledNow(home: TestLogs): Promise<Files> {
  const tar = await bundled(home, { run: 'r1' })
  const verdict = verifyBundle(tar, { key: home.logs.verifierKey('acme') })
  assert.equal([verdict.verdict, verdict.faults], ['VERIFIED', []])
  return unpackTar(tar)
}

test('a bundle of one run does not carry the whole log after the file of the logs was rebuilt, whatever was signed since (F162)', async () => {
  await using home = await testLogs()
  for (let n = 0; n < 5; n += 1) await home.fill('acme', `other-${n}`, 3)
  await home.fill('acme', 'r1', 6)
  await home.logs.publish()
  const signed = home.logs.checkpoint('acme')
  home.logStore.renew('requested')
  assert.not((await bundledNow(home)).has('log.jsonl'))
  assert.equal(home.logs.checkpoint('acme'), signed, 'nothing was signed for it')
})

test('nor in a process whose checkpoints another one signs (F162)', async () => {
  await using signer = await testLogs()
  await signer.fill('acme', 'other', 3)
  await signer.fill('acme', 'r1', 6)
  await signer.logs.publish()
  await using other = await testLogs({ store: signer.store, keys: signer.keys })
  assert.not((await bundledNow(other)).has('log.jsonl'))
})

test('no flipped bit of such a bundle is VERIFIED (A31)', () => {
  const random = seededRandom(testSeed(233))
  for (let each = 0; each < 150; each += 1) {
    const bytes = Buffer.from(site.tar)
    const at = Math.floor(random() * bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
    assert.is.not(verifyBundle(bytes, { key: site.key }).verdict, 'VERIFIED', `byte ${at}`)
  }
  assert.is.not(verifyBundle(randomBytes(2_048), { key: site.key }).verdict, 'VERIFIED')
})

test.run()
