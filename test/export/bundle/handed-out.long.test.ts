/**
 * @module An auditee with all keys, who writes the history anew as seeded edits have it and signs everything, against what was handed out
 * before: two checkpoints, a witness that cosigned the last one, a time-stamp. The oracle compares headers, and knows nothing of the verifier.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatAddCheckpoint } from '../../../src/merkle/add-checkpoint.ts'
import { parseCheckpoint } from '../../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../../src/merkle/compact-tree.ts'
import { proveConsistency } from '../../../src/merkle/consistency.ts'
import { leafHash } from '../../../src/merkle/hashes.ts'
import { cosigner, NOTE_TYPES, noteSigner, noteVerifier } from '../../../src/merkle/note-key.ts'
import { parseNote, signNote } from '../../../src/merkle/signed-note.ts'
import { judgeAddCheckpoint, type Witnessed } from '../../../src/merkle/witness.ts'
import { sha256 } from '../../../src/signing/digests.ts'
import { createLedgerKeys } from '../../../src/signing/ledger-keys.ts'
import { timestampRequest } from '../../../src/timestamps/timestamp-request.ts'
import type { BundleOptions } from '../../../src/verify/bundle/options.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import {
  type AuditeeEvent,
  bundleOfLog,
  bundleOfRun,
  checkpointOver,
  eventsOf,
  type History,
  resealed,
} from '../../support/auditee.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { partsOf } from '../../support/forged-bundle.ts'
import { type Files, headerOf, packedBundle } from '../../support/forgery.ts'
import { pick, seededRandom, TEST_SEED } from '../../support/random.ts'
import { stampingAuthority } from '../../support/stamping-authority.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

const HISTORIES = 50
const RUNS = ['one', 'two', 'three'] as const

interface Context {
  honest: History
  key: string
  headers: readonly string[]
  /** Handed out: of the first events, and of all. */
  early: string
  full: string
  /** The token for the early one, as the authority gave it then. */
  reply: Buffer
}

const test = suite<Context>('export: forged histories against what was handed out before')
const NAME = 'ledger.example/acme'
const witnessKey = createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey
const WITNESS = noteVerifier('w.example/w', witnessKey, NOTE_TYPES.cosignature).text
const textOf = (note: string): string => parseNote(note)?.text ?? ''
const sizeOf = (note: string): number => parseCheckpoint(textOf(note))?.size ?? 0

test.before(async (context) => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 2)
  await home.fill('acme', 'two', 2)
  await home.logs.publish()
  const early = home.logs.checkpoint('acme')
  await home.fill('acme', 'three', 2)
  await writeBundle(home.ledger, folder.file('log.tar'))
  const base = await unpackTar(readFileSync(folder.file('log.tar')))
  const { lines, predicate } = partsOf(base)
  context.honest = { base, lines, predicate, log: { name: NAME, key: home.keys.checkpointKey } }
  context.key = home.logs.verifierKey('acme')
  context.headers = lines.map(headerOf)
  context.early = early.ok ? early.value : ''
  context.full = base.get('checkpoint')?.toString() ?? ''
  const digest = sha256(Buffer.from(textOf(context.early)))
  context.reply = await (await stampingAuthority()).answer(timestampRequest({ digest, nonce: randomBytes(8) }))
})

type Edit = (events: readonly AuditeeEvent[], random: () => number) => readonly AuditeeEvent[]

const streamOf = (run: string): string => `run-acme.${run}`
const changed = (each: AuditeeEvent, header: object): AuditeeEvent => ({
  ...each,
  header: { ...each.header, ...header },
})
const anyOf = (events: readonly AuditeeEvent[], random: () => number): number => Math.floor(random() * events.length)

const EDITS: Readonly<Record<string, Edit>> = {
  none: (events) => events,
  body: (events, random) => {
    const at = anyOf(events, random)
    return events.map((each, index) =>
      index === at ? { ...each, data: { ...(each.data as object), forged: random() } } : each,
    )
  },
  actor: (events, random) => {
    const at = anyOf(events, random)
    return events.map((each, index) => (index === at ? changed(each, { actor: 'mallory' }) : each))
  },
  cut: (events, random) => {
    const stream = streamOf(pick(random, RUNS))
    const last = events.findLastIndex(({ header }) => header.stream === stream)
    return events.filter((_, index) => index !== last)
  },
  'run gone': (events, random) => {
    const stream = streamOf(pick(random, RUNS))
    return events.filter(({ header }) => header.stream !== stream)
  },
  'dated back': (events, random) => {
    const at = random() < 0.5 ? events.length : anyOf(events, random)
    const time = new Date(Date.parse(events[0]?.header.time ?? '') - 86_400_000).toISOString()
    const own = events.filter(({ header }) => header.stream === streamOf('one'))
    const forged = own.map((each) => changed(each, { stream: streamOf('forged'), time, id: crypto.randomUUID() }))
    return [...events.slice(0, at), ...forged, ...events.slice(at)]
  },
  swapped: (events, random) => {
    const at = 1 + Math.floor(random() * (events.length - 1))
    return [
      ...events.slice(0, at - 1),
      ...events.slice(at, at + 1),
      ...events.slice(at - 1, at),
      ...events.slice(at + 1),
    ]
  },
  'end gone': (events, random) => events.slice(0, 1 + anyOf(events, random)),
}

/** What the witness, which cosigned the honest log, says of another checkpoint with the best proof that there is. */
function cosigned({ full, honest }: Context, headers: readonly string[], note: string): string {
  const { log } = honest
  const [known, size] = [sizeOf(full), headers.length]
  const [tree, nodes] = [new CompactTree(), new Map<string, Uint8Array>()]
  for (const header of headers)
    tree.append(leafHash(header), (level, index, hash) => void nodes.set(`${level}/${index}`, hash))
  const read = ({ level, index }: { level: number; index: number }) =>
    nodes.get(`${level}/${index}`) ?? new Uint8Array(32)
  const proof = known < size ? proveConsistency(known, size, read) : []
  const last: Witnessed = { size: known, root: parseCheckpoint(textOf(full))?.root ?? new Uint8Array(0), note: full }
  const logs = new Map([[NAME, [[noteSigner(NAME, log.key).verifier]]]])
  const request = formatAddCheckpoint({ oldSize: known, proof, checkpoint: note })
  const verdict = judgeAddCheckpoint(request, { logs, witnessed: new Map([[NAME, last]]) })
  const witness = cosigner('w.example/w', witnessKey, () => 1_780_000_000)
  // Where it refuses, what it cosigned before is put under the note instead.
  const signer = verdict.status === 200 ? witness : { ...witness, sign: () => witness.sign(textOf(full)) }
  return signNote(textOf(note), [noteSigner(NAME, log.key), signer])
}

/** The early checkpoint with its token, and the way from there, as far as there is one. */
function stampFiles({ early, reply }: Context, headers: readonly string[]): Files {
  const [tree, nodes] = [new CompactTree(), new Map<string, Uint8Array>()]
  for (const header of headers)
    tree.append(leafHash(header), (level, index, hash) => void nodes.set(`${level}/${index}`, hash))
  const read = ({ level, index }: { level: number; index: number }) =>
    nodes.get(`${level}/${index}`) ?? new Uint8Array(32)
  const proof = sizeOf(early) <= headers.length ? proveConsistency(sizeOf(early), headers.length, read) : []
  const consistency = proof.map((hash) => Buffer.from(hash).toString('base64'))
  return new Map([
    ['timestamp.json', Buffer.from(`${JSON.stringify({ consistency })}\n`)],
    ['timestamp.tsr', reply],
    ['timestamp.txt', Buffer.from(textOf(early))],
  ])
}

const counts = { verified: 0, found: 0, untold: 0 }

async function judged({ key }: Context, files: Files, options: BundleOptions = {}): Promise<string> {
  return verifyBundle(await packedBundle(files), { key, ...options }).verdict
}

/** `isHonest`: the history agrees with all that was handed out of it. */
function compare(verdict: string, isHonest: boolean, what: string): void {
  if (!isHonest) assert.is.not(verdict, 'VERIFIED', what)
  counts[verdict === 'VERIFIED' ? 'verified' : 'found'] += 1
}

test('no history that differs from what was handed out is VERIFIED against it, though all keys signed it again: seeded edits (A373)', async (context) => {
  const { honest, headers: own, early, full } = context
  const random = seededRandom(TEST_SEED)
  const begins = (headers: readonly string[], size: number): boolean =>
    headers.length >= size && own.slice(0, size).every((header, at) => headers[at] === header)
  for (let each = 0; each < HISTORIES; each += 1) {
    const name = pick(random, Object.keys(EDITS))
    const edited = EDITS[name]?.(eventsOf(honest.lines), random) ?? []
    const lines = name === 'none' ? honest.lines : resealed(edited)
    const headers = lines.map(headerOf)
    const history = { ...honest, lines }
    const what = `${each}: ${name}`
    const log = bundleOfLog(history)
    compare(await judged(context, log, { checkpoint: early }), begins(headers, sizeOf(early)), `${what}, early`)
    compare(await judged(context, log, { checkpoint: full }), begins(headers, own.length), `${what}, full`)
    const more = stampFiles(context, headers)
    compare(await judged(context, bundleOfLog({ ...history, more })), begins(headers, sizeOf(early)), `${what}, stamp`)
    const note = cosigned(context, headers, checkpointOver(headers, honest.log))
    const witnesses = [WITNESS]
    const isExtension = begins(headers, own.length)
    compare(await judged(context, bundleOfLog({ ...history, note }), { witnesses }), isExtension, `${what}, witness`)
    const run = pick(random, RUNS)
    if (!headers.some((header) => header.includes(`"stream":"${streamOf(run)}"`))) continue
    const isEarly = begins(headers, sizeOf(early)) && headers.length === sizeOf(early)
    compare(await judged(context, bundleOfRun(history, run), { checkpoint: early }), isEarly, `${what}, run, early`)
    const isSame = isExtension && headers.length === own.length
    compare(await judged(context, bundleOfRun(history, run), { checkpoint: full }), isSame, `${what}, run, full`)
    compare(await judged(context, bundleOfRun({ ...history, note }, run), { witnesses }), isExtension, `${what}, run`)
  }
  assert.ok(counts.verified > 20 && counts.found > 100, JSON.stringify(counts))
})

test('nor is a run that lacks an event by a tree of streams that lies of the very events that were handed out (A373)', async (context) => {
  const { honest, headers, full } = context
  for (const run of RUNS) {
    const own = headers.filter((header) => header.includes(`"stream":"${streamOf(run)}"`))
    for (const left of [own[1], own.at(-1)]) {
      const lying = checkpointOver(
        headers,
        honest.log,
        headers.filter((header) => header !== left),
      )
      const files = (note: string) => bundleOfRun({ ...honest, note }, run, left)
      compare(await judged(context, files(lying), { checkpoint: full }), false, `${run}, kept`)
      const note = cosigned(context, headers, lying)
      compare(await judged(context, files(note), { witnesses: [WITNESS] }), false, `${run}, witness`)
      compare(await judged(context, bundleOfLog({ ...honest, note: lying })), false, `${run}, whole log`)
      // Nothing was handed out of a later size, and a bundle of one run has no log: the tree of streams is the signer's word, as README.txt says.
      const more = stampFiles(context, headers)
      const found = verifyBundle(await packedBundle(bundleOfRun({ ...honest, note: lying, more }, run, left)), {
        key: context.key,
      })
      if (found.verdict === 'VERIFIED') counts.untold += 1
    }
  }
  console.log(
    `forged histories: ${counts.found} found, ${counts.verified} agree with what was handed out, ${counts.untold} that a bundle of one run cannot tell`,
  )
})

test.run()
