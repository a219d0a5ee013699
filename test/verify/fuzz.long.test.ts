import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type ExportTrailer, signedTrailerText, type TrailerFacts } from '../../schemas/export-trailer.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { exportTrailer } from '../../src/export/jsonl.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import { createLedgerKeys } from '../../src/signing/ledger-keys.ts'
import type { BundlePredicate } from '../../src/verify/bundle/predicate.ts'
import { verifyBundle } from '../../src/verify/bundle/verify-bundle.ts'
import { type HeldCheckpoint, readLogCheckpoint } from '../../src/verify/checkpoint-check.ts'
import { exportPages } from '../../src/verify/export-records.ts'
import { verifyRecords } from '../../src/verify/verify-records.ts'
import { AUDITOR, unpackTar, writeBundle } from '../support/bundles.ts'
import { type Forgery, forgedBundle, partsOf, recounted, textLines } from '../support/forged-bundle.ts'
import { type Files, headerOf, type LogKey, packedBundle, signedAgain, trailerLine } from '../support/forgery.ts'
import { pick, seededRandom, TEST_SEED, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { drive } from '../support/run-driver.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { testLogs } from '../support/test-logs.ts'

const EACH = rounds(1_000, 1_000, 5_000)
type Random = () => number

interface Context {
  log: LogKey
  /** The reader's: the key, and a checkpoint of the log as it was when the bundles and exports were made. */
  key: string
  note: string
  held: HeldCheckpoint
  bundles: readonly Files[]
  tars: readonly Buffer[]
  exports: readonly string[]
  /** Of the reader of exports, who has the key ring. */
  verdictOf: (text: string, checkpoint?: HeldCheckpoint) => Promise<string>
}

const test = suite<Context>('verify: 20,000 bundles and exports that were cut or signed again')

test.before(async (context) => {
  using folder = tempFolder()
  const keys = createLedgerKeys(new Date().toISOString(), randomBytes)
  await using home = await testLogs({ keys })
  for (const runId of ['one', 'two']) {
    const run = drive(home, runId, { tenant: 'acme', actor: runId === 'one' ? 'alice' : 'bob' })
    await run.start()
    await run.hand('researcher', { entities: ['Apple'] })
    await run.claimed('ship')
  }
  const exported: string[] = []
  for (const query of [{}, { run: 'one' }, {}]) {
    let text = ''
    for await (const part of exportText(home.ledger, AUDITOR, { format: 'jsonl', query })) text += part
    exported.push(text)
  }
  const tars: Buffer[] = []
  for (const query of [{ run: 'one' }, { actor: 'alice', types: ['EnvelopeAccepted', 'ToolCallClaimed'] }, {}]) {
    await writeBundle(home.ledger, folder.file('b.tar'), { query })
    tars.push(readFileSync(folder.file('b.tar')))
  }
  const log: LogKey = { name: 'ledger.example/acme', key: keys.checkpointKey }
  const verifier = noteVerifier(log.name, log.key)
  await home.logs.publish()
  const checkpoint = home.logs.checkpoint('acme')
  const note = checkpoint.ok ? checkpoint.value : ''
  const held = readLogCheckpoint(note, [verifier])
  if (!held.ok) throw new Error(held.message)
  const bundles = await Promise.all(tars.map(unpackTar))
  const runKeys = createRunKeys(keys.ring)
  const verdictOf = async (text: string, kept?: HeldCheckpoint): Promise<string> => {
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text)
    }
    const pages = exportPages(chunks(), { findKey: () => verifier, checkpoint: kept })
    return (await verifyRecords(pages, { keys: { ring: keys.ring, runKeys }, onFault: () => {} })).verdict
  }
  Object.assign(context, { log, key: verifier.text, note, held, bundles, tars, exports: exported, verdictOf })
})

const place = (random: Random, length: number): number => Math.floor(random() * length)

/** Lines with one left out, doubled, swapped or edited, or the end gone; never the same lines. */
function changedLines(lines: readonly string[], random: Random): readonly string[] {
  const at = place(random, lines.length)
  const line = lines[at] ?? ''
  const others = lines.filter((_, index) => index !== at)
  const kinds: readonly (() => readonly string[])[] = [
    () => others,
    () => others,
    () => lines.slice(0, at),
    () => [...lines.slice(0, at), line, ...lines.slice(at)],
    () => [line, ...others],
    () => [...others, line],
    () => lines.with(at, editedText(line, random)),
  ]
  const changed = pick(random, kinds)()
  return changed.length === lines.length && changed.every((each, index) => each === lines[index]) ? others : changed
}

/** One letter or digit within it is another one. */
function editedText(text: string, random: Random): string {
  for (;;) {
    const at = place(random, text.length - 1)
    const char = text[at] ?? ''
    if (!/[A-Za-z0-9]/.test(char)) continue
    return `${text.slice(0, at)}${char === '7' ? '8' : '7'}${text.slice(at + 1)}`
  }
}

const safely = <T>(make: () => T): T | undefined => {
  try {
    return make()
  } catch {
    // What is no JSON any more cannot be made a bundle of.
    return undefined
  }
}

/** Who holds the log's key, and not the checkpoint that the reader has: events, log, counts and texts are changed, and all is signed again. */
function forged(files: Files, log: LogKey, random: Random): Files | undefined {
  const parts = partsOf(files)
  const { counts, complete, query } = parts.predicate
  const kinds: readonly (() => Forgery)[] = [
    () => {
      const lines = changedLines(parts.lines, random)
      return { ...parts, lines, predicate: recounted(parts.predicate, parts.headers, lines) }
    },
    () => ({ ...parts, lines: changedLines(parts.lines, random) }),
    () => {
      const headers = changedLines(parts.headers, random)
      const lines = parts.lines.filter((line) => headers.includes(headerOf(line)))
      return { ...parts, headers, lines, predicate: recounted(parts.predicate, headers, lines) }
    },
    () =>
      saying(parts, {
        counts: { ...counts, [pick(random, ['events', 'matching', 'leaves'])]: place(random, 99) + 100 },
      }),
    () => saying(parts, { complete: { ...complete, until: '2000-01-01T00:00:00.000Z' } }),
    () => saying(parts, { complete: { ...complete, kid: 'k' }, query: { ...query, text: 'x' } }),
    () => {
      const said = pick(random, [
        { events: 0 },
        { treeSize: 1 },
        { run: 'two' },
        { asOf: null },
        { ledgerId: 'x' },
        { filter: { actor: 'x' } },
      ])
      return { ...parts, trailer: trailerLine(parts.lines, log, said) }
    },
  ]
  return safely(() => forgedBundle(files, pick(random, kinds)(), log))
}

function saying(parts: Forgery, more: Partial<BundlePredicate>): Forgery {
  return { ...parts, predicate: { ...parts.predicate, ...more } }
}

/** One letter of one file is another one, and the manifest names what came of it. */
function editedFile(files: Files, log: LogKey, random: Random): Files {
  const names = [...files.keys()].filter((name) => !name.startsWith('manifest.'))
  const name = pick(random, names)
  const text = files.get(name)?.toString() ?? ''
  return signedAgain(new Map(files).set(name, Buffer.from(editedText(text, random))), log)
}

async function count(
  what: string,
  one: (random: Random) => Promise<string | undefined> | string | undefined,
): Promise<void> {
  const random = seededRandom(testSeed(20261122))
  const verdicts: Record<string, number> = {}
  for (let tried = 0; tried < EACH; ) {
    const verdict = await one(random)
    if (verdict === undefined) continue
    tried += 1
    verdicts[verdict] = (verdicts[verdict] ?? 0) + 1
    assert.is.not(verdict, 'VERIFIED', `${what}, case ${tried} of COUNTERSIGN_TEST_SEED=${TEST_SEED}`)
  }
  console.log(`${what}: ${JSON.stringify(verdicts)}`)
}

test("what is not changed is VERIFIED under the reader's key and checkpoint", async ({
  tars,
  bundles,
  key,
  exports,
  verdictOf,
  held,
  note,
  log,
}) => {
  for (const [at, tar] of tars.entries()) {
    assert.is(verifyBundle(tar, { key }).verdict, 'VERIFIED')
    const files = bundles[at] ?? new Map()
    assert.equal(verifyBundle(await packedBundle(forgedBundle(files, partsOf(files), log)), { key }).faults, [])
  }
  assert.is(verifyBundle(tars[2] ?? '', { key, checkpoint: note }).verdict, 'INCOMPLETE', 'the log went on after it')
  assert.equal([await verdictOf(exports[0] ?? ''), await verdictOf(exports[1] ?? '')], ['VERIFIED', 'INCOMPLETE'])
  assert.is(await verdictOf(exports[2] ?? '', held), 'INCOMPLETE')
})

test('5,000 bundles that the holder of the log key changed and signed again, in their parts or in one letter of a file: none is VERIFIED (A80)', async ({
  bundles,
  log,
  key,
}) => {
  const sizes = new Map(bundles.map((files) => [files, partsOf(files).headers]))
  await count('signed again', async (random) => {
    const files = pick(random, bundles)
    const made = random() < 0.6 ? forged(files, log, random) : editedFile(files, log, random)
    if (made === undefined) return undefined
    // The reader has a checkpoint of the size that the bundle was made at: a shorter or another log is another one.
    const checkpoint = sizes.get(files) === undefined ? undefined : files.get('checkpoint')?.toString()
    return verifyBundle(await packedBundle(made), { key, checkpoint }).verdict
  })
})

test('5,000 bundles that somebody without a key cut or changed: none is VERIFIED (A80)', async ({ tars, key }) => {
  await count('cut or changed', (random) => {
    const tar = pick(random, tars)
    const at = place(random, tar.length)
    const length = 1 + place(random, 2_000)
    const kinds = [
      () => tar.subarray(0, at),
      () => Buffer.concat([tar.subarray(0, at), tar.subarray(at + length)]),
      () => Buffer.concat([tar.subarray(0, at), randomBytes(length), tar.subarray(at)]),
      () => {
        const flipped = Buffer.from(tar)
        flipped[at] = (flipped[at] ?? 0) ^ (1 + place(random, 255))
        return flipped
      },
      () => {
        const moved = Buffer.from(tar)
        moved.copyWithin(at, place(random, tar.length - 512), tar.length)
        return moved
      },
    ]
    const changed = pick(random, kinds)()
    return changed.equals(tar) ? undefined : verifyBundle(changed, { key }).verdict
  })
})

test('5,000 exports cut, changed and signed again by the holder of the log key: none is VERIFIED by whoever has a checkpoint (A80)', async ({
  exports,
  log,
  verdictOf,
}) => {
  const whole = textLines(new Map([['x', Buffer.from(exports[0] ?? '')]]), 'x').slice(0, -1)
  const part = textLines(new Map([['x', Buffer.from(exports[1] ?? '')]]), 'x').slice(0, -1)
  const verifier = noteVerifier(log.name, log.key)
  const { checkpointOf } = await import('../support/forgery.ts')
  const kept = readLogCheckpoint(checkpointOf(whole.map(headerOf), log), [verifier])
  if (!kept.ok) throw new Error(kept.message)
  await count('exports signed again', async (random) => {
    const [lines, run] = random() < 0.7 ? [whole, null] : [part, 'one']
    const changed = random() < 0.9 || run !== null ? changedLines(lines, random) : lines
    const said: Partial<TrailerFacts> =
      changed === lines ? pick(random, [{ events: 1 }, { treeSize: 1 }, { tenant: 'x' }]) : { run }
    const trailer = safely(() => trailerLine(changed, log, said))
    return trailer === undefined ? undefined : verdictOf(changed.join('') + trailer, kept)
  })
})

test('5,000 exports cut and counted anew by somebody without a key: none is VERIFIED, with or without a checkpoint (A80)', async ({
  exports,
  log,
  held,
  verdictOf,
}) => {
  const stranger: LogKey = { ...log, key: createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey }
  const own = noteVerifier(log.name, log.key)
  await count('exports counted anew', async (random) => {
    const text = pick(random, exports)
    const lines = textLines(new Map([['x', Buffer.from(text)]]), 'x').slice(0, -1)
    const changed = changedLines(lines, random)
    const kinds: readonly (() => string)[] = [
      () => text.slice(0, place(random, text.length - 1)),
      () => lines.join('') + editedText(textLines(new Map([['x', Buffer.from(text)]]), 'x').at(-1) ?? '', random),
      () => changed.join('') + trailerLine(changed, stranger),
      () =>
        changed.join('') + trailerLine(changed, stranger).replace(/"key":"[^"]*"/, `"key":"${log.name}+${own.keyId}"`),
      () => changed.join('') + unsigned(trailerLine(changed, stranger)),
    ]
    const made = safely(pick(random, kinds))
    return made === undefined ? undefined : verdictOf(made, random() < 0.3 ? held : undefined)
  })
})

/** As version 0.1.0 wrote it. */
function unsigned(trailer: string): string {
  const { signature: _, v: __, ...facts } = JSON.parse(trailer).trailer
  assert.ok(signedTrailerText(1, facts).includes('"v":1'))
  return exportTrailer({ ...facts, v: 1 } as ExportTrailer)
}

test.run()
