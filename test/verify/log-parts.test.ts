import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ExportTrailer, TrailerFacts } from '../../schemas/export-trailer.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { partHead } from '../../src/export/jsonl.ts'
import { noteVerifier, parseVerifierKey } from '../../src/merkle/note-key.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import type { HeldCheckpoint } from '../../src/verify/checkpoint-check.ts'
import { judgeChain } from '../../src/verify/export-chain.ts'
import type { Completeness } from '../../src/verify/export-completeness.ts'
import { exportPages } from '../../src/verify/export-records.ts'
import { type VerifyKeys, verifyRecords } from '../../src/verify/verify-records.ts'
import { type LogKey, trailerLine, treeOf } from '../support/forgery.ts'
import { rounds } from '../support/rounds.ts'
import { type TestLogs, testLogs } from '../support/test-logs.ts'
import { ORIGIN } from '../support/test-store.ts'

const CALLER = { tenant: 'acme', actor: 'auditor' }

interface Site {
  readonly home: TestLogs
  /** Two parts, one after the other, and the headers of all their leaves. */
  readonly first: string
  readonly second: string
  readonly headers: readonly string[]
}

const test = suite<Site>('verify: parts of a log')

test.before(async (context) => {
  const home = await testLogs()
  await home.fill('acme', 'r1', 3)
  const first = await partOf(home, 0)
  await home.fill('acme', 'r2', 3)
  const second = await partOf(home, trailerIn(first).to ?? 0)
  const headers = [...linesOf(first), ...linesOf(second)].flatMap((line) => headerOf(line) ?? [])
  Object.assign(context, { home, first, second, headers })
})
test.after(async ({ home }) => {
  await home[Symbol.asyncDispose]()
})

async function partOf({ ledger }: TestLogs, from: number): Promise<string> {
  let text = ''
  for await (const chunk of exportText(ledger, CALLER, { format: 'jsonl', from })) text += chunk
  return text
}

const linesOf = (text: string): readonly string[] => text.split(/(?<=\n)/)
const trailerIn = (text: string): ExportTrailer => JSON.parse(linesOf(text).at(-1) ?? '').trailer
const headerOf = (line: string): string | undefined => /^\{"header":(\{.*?\}),"salt":"/s.exec(line)?.[1]

interface Seen {
  readonly verdict: string
  readonly codes: readonly string[]
  readonly trailer?: ExportTrailer
  readonly completeness?: Completeness
}

interface How {
  readonly checkpoint?: HeldCheckpoint
  readonly inChain?: boolean
  /** Without the key of the log. */
  readonly keyless?: boolean
}

async function look({ home }: Site, text: string, { keyless = false, ...how }: How = {}): Promise<Seen> {
  const codes: string[] = []
  let found: Pick<Seen, 'trailer' | 'completeness'> = {}
  const verifier = parseVerifierKey(home.logs.verifierKey('acme'))
  const keys: VerifyKeys = { ring: home.keys.ring, runKeys: createRunKeys(home.keys.ring) }
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < text.length; at += 999) yield Buffer.from(text.slice(at, at + 999))
  }
  const pages = exportPages(chunks(), {
    ...how,
    findKey: () => (keyless ? undefined : verifier),
    onTrailer: (trailer, completeness) => {
      found = { trailer, completeness }
    },
  })
  const { verdict } = await verifyRecords(pages, {
    keys,
    onFault: ({ code }) => void codes.push(code),
    mayBeEmpty: () => found.trailer?.from !== undefined && found.trailer.from === found.trailer.to,
  })
  return { verdict, codes, ...found }
}

/** Written anew by the holder of the log's key: right in all it says but what `said` names. */
function forged({ home, headers }: Site, lines: readonly string[], said: Partial<TrailerFacts> = {}): string {
  const log: LogKey = { name: `${ORIGIN}/acme`, key: home.keys.checkpointKey }
  const { from, root } = JSON.parse(lines[0] ?? '').part
  const { treeSize, root: whole } = treeOf(headers)
  const facts = { ledgerId: home.ledger.ledgerId, from, fromRoot: root, to: treeSize, treeSize, root: whole, ...said }
  return lines.join('') + trailerLine(lines, log, facts)
}

test('a part is VERIFIED by itself: its leaves make the tree that was signed, out of the one before them (FMT-7)', async (site) => {
  for (const text of [site.first, site.second]) {
    const { verdict, codes, completeness } = await look(site, text)
    assert.equal([verdict, codes, completeness?.proven], ['VERIFIED', [], true])
  }
  const { from = 0, to = 0 } = trailerIn(site.second)
  assert.match((await look(site, site.second)).completeness?.statement ?? '', `leaves ${from} to ${to - 1} of the log`)
  assert.ok(from > 0 && site.second.includes('"revision":0'), 'streams that begin in it and streams that do not')
})

test('without the key of the log a part proves nothing of what it leaves out: INCOMPLETE (FMT-7)', async (site) => {
  const { verdict, codes } = await look(site, site.second, { keyless: true })
  assert.equal([verdict, codes], ['INCOMPLETE', ['completeness-unproven']])
})

test('a part of which an event was dropped, whose tree before it or whose borders were changed, is TAMPERED, also where the log signed it anew (A235)', async (site) => {
  const lines = linesOf(site.second).slice(0, -1)
  const [head = '', ...events] = lines
  const { part } = JSON.parse(head)
  assert.is((await look(site, forged(site, lines))).verdict, 'VERIFIED', 'the forger can write what is true')
  const other = `sha256:${randomBytes(32).toString('hex')}`
  const cases: Readonly<Record<string, string>> = {
    'the first event': forged(site, [head, ...events.slice(1)]),
    'an event between': forged(site, [head, ...events.slice(0, 2), ...events.slice(3)]),
    'the last event': forged(site, [head, ...events.slice(0, -1)]),
    'an event twice': forged(site, [...lines, events.at(-1) ?? '']),
    'two in another order': forged(site, [head, ...events.slice(0, -2), ...events.slice(-2).reverse()]),
    'another beginning': forged(site, [partHead({ ...part, from: part.from + 1 }), ...events]),
    'another root before': forged(site, [partHead({ ...part, root: other }), ...events]),
    'another hash before': forged(site, [partHead({ ...part, edge: [other, ...part.edge.slice(1)] }), ...events]),
    'a beginning in the trailer alone': forged(site, lines, { from: part.from - 1 }),
    'a root in the trailer alone': forged(site, lines, { fromRoot: other }),
    'an end in the trailer alone': forged(site, lines, { to: part.from }),
    'no head': forged(site, lines).slice(head.length),
    'a trailer of no part': site.second.replace(/,"from":\d+,"fromRoot":"[^"]+","to":\d+/, ''),
  }
  for (const [name, text] of Object.entries(cases)) {
    const { verdict, codes } = await look(site, text)
    assert.is(verdict, 'TAMPERED', `${name}: ${codes}`)
  }
})

test('a head of any shape is read or named, and none makes a part of other events VERIFIED (A235)', async (site) => {
  const [head = '', ...rest] = linesOf(site.second)
  const { part } = JSON.parse(head)
  const digest = fc.constantFrom(part.root, part.edge[0], `sha256:${'0'.repeat(64)}`, 'sha256:', 7)
  const shape = fc.record({
    from: fc.oneof(fc.maxSafeNat(), fc.constantFrom(-1, 1e300, 0.5, '1', null, part.from)),
    root: digest,
    edge: fc.oneof(fc.array(digest, { maxLength: 70 }), fc.constant(part.edge), fc.constant(null)),
  })
  await fc.assert(
    fc.asyncProperty(shape, async (said) => {
      const text = `${JSON.stringify({ part: said })}\n${rest.join('')}`
      if (text === site.second) return
      assert.is((await look(site, text)).verdict, 'TAMPERED')
    }),
    { numRuns: rounds(60, 200) },
  )
})

test('parts that leave a gap, overlap, go on from another history or are of two logs are named, in whatever order they are passed (A236)', async (site) => {
  const [a, b] = [trailerIn(site.first), trailerIn(site.second)]
  const border = a.to ?? 0
  const codes = (...trailers: readonly (ExportTrailer | undefined)[]): readonly string[] => {
    const named = trailers.map((trailer, n) => ({ name: `part ${n}`, trailer }))
    const forward = judgeChain(named)?.faults.map(({ code }) => code) ?? ['none']
    const backward = judgeChain(named.reverse())?.faults.map(({ code }) => code) ?? ['none']
    assert.equal([...backward].sort(), [...forward].sort())
    return forward
  }
  const with_ = (trailer: ExportTrailer, said: object): ExportTrailer => ({ ...trailer, ...said }) as ExportTrailer
  assert.equal(codes(a, b), [])
  assert.equal(
    codes(with_(a, { from: undefined, fromRoot: undefined, to: undefined }), b),
    [],
    'a whole export begins a chain',
  )
  assert.equal(
    codes(a, with_(b, { from: border, to: border, treeSize: border, root: a.root }), b),
    [],
    'an empty part between',
  )
  assert.equal(codes(a, with_(b, { from: border + 1 })), ['part-gap'])
  assert.equal(codes(a, with_(b, { from: border - 1 })), ['part-overlap'])
  assert.equal(codes(a, a), ['part-overlap'])
  assert.equal(codes(with_(b, { from: 0 }), a, b), ['part-overlap', 'part-overlap'])
  assert.equal(codes(a, with_(b, { fromRoot: b.root })), ['part-root'])
  assert.equal(codes(a, with_(b, { ledgerId: 'another' })), ['part-scope'])
  assert.equal(codes(a, with_(b, { tenant: 'other' })), ['part-scope'])
  assert.equal(codes(a, b, undefined), ['part-scope'], 'a file that was cut')
  assert.equal(codes(a, b, with_(b, { run: 'r1' })), ['part-scope'])
  assert.equal(codes(with_(b, { run: 'r1' })), ['none'])
})

test('a checkpoint is held against the part that has its last leaf, and one that no part can be held against says so (A236)', async (site) => {
  const { home, headers, first, second } = site
  const border = trailerIn(first).to ?? 0
  const verifier = noteVerifier(`${ORIGIN}/acme`, home.keys.checkpointKey)
  const kept = (size: number, of = headers): HeldCheckpoint => {
    const root = Buffer.from(treeOf(of.slice(0, size)).root.slice(7), 'hex')
    return { ok: true, tenant: 'acme', checkpoint: { origin: verifier.name, size, root, extensions: [] } }
  }
  const inside = kept(border + 2)
  assert.is((await look(site, second, { checkpoint: inside })).verdict, 'VERIFIED')
  assert.equal((await look(site, second, { checkpoint: kept(border + 2, [...headers].reverse()) })).codes, [
    'checkpoint-mismatch',
  ])
  assert.equal((await look(site, second, { checkpoint: kept(border - 1) })).codes, ['completeness-unproven'])
  assert.equal((await look(site, first, { checkpoint: inside })).codes, ['log-behind-checkpoint'])
  const chained = async (checkpoint: HeldCheckpoint): Promise<readonly string[]> => {
    const seen = await Promise.all([first, second].map((text) => look(site, text, { checkpoint, inChain: true })))
    const parts = seen.map(({ trailer, completeness }, n) => ({ name: `${n}`, trailer, held: completeness?.held }))
    const faults = judgeChain(parts, checkpoint)?.faults ?? []
    return [...seen.flatMap(({ codes }) => codes), ...faults.map(({ code }) => code)]
  }
  assert.equal(await chained(inside), [])
  assert.equal(await chained(kept(border)), [])
  assert.equal(await chained(kept(1)), [])
  assert.equal(await chained({ ...inside, checkpoint: { ...inside.checkpoint, size: 10_000 } }), [
    'log-behind-checkpoint',
  ])
  const only = judgeChain([{ name: 'b', trailer: trailerIn(second) }], kept(1))
  assert.equal(
    only?.faults.map(({ code }) => code),
    ['completeness-unproven'],
  )
})

test.run()
