import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type ExportTrailer, TRAILER_PAYLOAD_TYPE, type TrailerFacts } from '../../schemas/export-trailer.ts'
import { exportLine, exportTrailer } from '../../src/export/jsonl.ts'
import { type NoteVerifier, noteVerifier } from '../../src/merkle/note-key.ts'
import { createLedgerKeys } from '../../src/signing/ledger-keys.ts'
import { type HeldCheckpoint, readLogCheckpoint } from '../../src/verify/checkpoint-check.ts'
import { type ExportOptions, exportPages } from '../../src/verify/export-records.ts'
import type { VerifyFault } from '../../src/verify/fault.ts'
import { type VerifyKeys, type VerifyResult, verifyRecords } from '../../src/verify/verify-records.ts'
import { checkpointOf, headerOf, type LogKey, trailerLine } from '../support/forgery.ts'
import { type SmallStore, smallStore } from '../support/small-store.ts'
import { rowsOf } from '../support/tamper.ts'

const exporting = suite<{ store: SmallStore; text: string }>('verify: exports')

exporting.before(async (context) => {
  context.store = await smallStore()
  context.text = exportOf(context.store)
})
exporting.after(({ store }) => store[Symbol.dispose]())

function exportOf(store: SmallStore): string {
  const rows = rowsOf(store.path).filter(({ stream }) => stream.startsWith('run-acme.'))
  const lines = rows.map(({ header, salt, data }) => exportLine({ header, salt: salt.toString('base64url'), data }))
  return lines.join('') + trailerFor(lines)
}

const LOG: LogKey = {
  name: 'ledger.example/acme',
  key: createLedgerKeys('2026-01-01T00:00:00.000Z', randomBytes).checkpointKey,
}
const trailerFor = (lines: readonly string[], said: Partial<TrailerFacts> = {}): string => trailerLine(lines, LOG, said)
const findKey = (): NoteVerifier => noteVerifier(LOG.name, LOG.key)

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

interface Seen {
  readonly result: VerifyResult
  readonly codes: readonly string[]
  readonly faults: readonly VerifyFault[]
}

interface How extends ExportOptions {
  readonly chunk?: number
}

async function look(
  content: string | Uint8Array,
  keys: VerifyKeys | undefined,
  { chunk = 1_000, ...how }: How = {},
): Promise<Seen> {
  const faults: VerifyFault[] = []
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const again = () => exportPages(inChunks(bytes, 65_536))
  const onFault = (fault: VerifyFault): void => void faults.push(fault)
  const pages = exportPages(inChunks(bytes, chunk), { findKey, ...how })
  const result = await verifyRecords(pages, { onFault, again, ...(keys && { keys }) })
  return { result, faults, codes: faults.map(({ code }) => code) }
}

exporting('a whole export is VERIFIED, in whatever portions its bytes come', async ({ store, text }) => {
  for (const chunk of [1, 7, 1_000, 1_000_000]) {
    const { result, faults } = await look(text, store.keys, { chunk })
    assert.is(result.verdict, 'VERIFIED', JSON.stringify(faults))
    assert.is(result.streams, 2)
  }
})

exporting('an export that was cut anywhere is INCOMPLETE (F30)', async ({ store, text }) => {
  const end = text.length - 2
  for (const at of [0, 1, 500, text.indexOf('\n'), text.indexOf('\n') + 1, text.lastIndexOf('\n', end) + 1, end]) {
    const { result, codes } = await look(text.slice(0, at), store.keys)
    assert.is(result.verdict, 'INCOMPLETE', `cut at ${at}: ${codes}`)
    assert.ok(codes.includes('no-trailer'))
  }
})

exporting('any one bit that changes in a line of an event is noticed', async ({ store, text }) => {
  const whole = Buffer.from(text)
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.lastIndexOf('{"trailer"') - 1), fc.nat(7), async (at, bit) => {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
      const { result } = await look(bytes, store.keys)
      assert.is.not(result.verdict, 'VERIFIED')
    }),
    { numRuns: 150 },
  )
})

exporting('a line that was dropped under a new trailer is named by its revision', async ({ store, text }) => {
  const lines = text
    .trimEnd()
    .split('\n')
    .slice(0, -1)
    .map((line) => `${line}\n`)
  const kept = lines.filter((line) => !(line.includes('"revision":2,') && line.includes('run-acme.one"')))
  assert.is(kept.length, lines.length - 1)
  const { result, faults } = await look(kept.join('') + trailerFor(kept), store.keys)
  assert.is(result.verdict, 'TAMPERED')
  assert.equal(
    faults.map(({ code, stream, revision }) => [code, stream, revision]),
    [['missing', 'run-acme.one', 2]],
  )
})

exporting('a header that was altered under a new trailer is the one that is named', async ({ store, text }) => {
  const lines = text
    .trimEnd()
    .split('\n')
    .slice(0, -1)
    .map((line) => `${line}\n`)
  const at = lines.findIndex((line) => line.includes('"revision":2,') && line.includes('run-acme.one"'))
  for (const [from, to] of [
    ['"revision":2,', '"revision":9,'],
    ['"v":1', '"v":2'],
    ['"actor":"tester"', '"actor":"mallory"'],
  ] as const) {
    const altered = lines.map((line, index) => (index === at ? line.replace(from, to) : line))
    const { result, faults } = await look(altered.join('') + trailerFor(altered), store.keys)
    assert.is(result.verdict, 'TAMPERED', to)
    const places = new Set(faults.map(({ stream, revision }) => `${stream}@${revision}`))
    assert.equal([...places], ['run-acme.one@2'], JSON.stringify(faults))
  }
})

exporting('another spelling of the same JSON is not the line that was exported', async ({ store, text }) => {
  const lines = text
    .trimEnd()
    .split('\n')
    .slice(0, -1)
    .map((line) => `${line}\n`)
  const spellings = [
    (line: string) => line.replace('{"header":', '{ "header":'),
    (line: string) => line.replace('"header":', '"\\u0068eader":'),
    (line: string) => line.replace(/\}\n$/, ',"data":{}}\n'),
    (line: string) => line.replace('"salt":"', '"salt": "'),
  ]
  for (const spell of spellings) {
    const altered = lines.map((line, index) => (index === 1 ? spell(line) : line))
    const { result, codes } = await look(altered.join('') + trailerFor(altered), store.keys)
    assert.is(result.verdict, 'TAMPERED')
    assert.ok(codes.includes('line-not-canonical'), codes.join())
  }
})

exporting(
  'a trailer that counts or digests other lines is noticed, and so is what stands behind it',
  async (context) => {
    const { store, text } = context
    const lines = text.split('\n')
    const events = lines.slice(0, -2).map((line) => `${line}\n`)
    const said = (other: Partial<TrailerFacts>) => look(events.join('') + trailerFor(events, other), store.keys)
    assert.equal((await said({ events: events.length + 1 })).codes, ['trailer-count'])
    assert.equal((await said({ digest: `sha256:${'0'.repeat(64)}` })).codes, ['trailer-digest'])
    assert.equal((await said({ run: 'one' })).codes, ['trailer-scope', 'completeness-unproven'])
    assert.equal((await said({ root: `sha256:${'0'.repeat(64)}` })).codes, ['trailer-root'])
    assert.equal((await said({ treeSize: events.length - 1 })).codes, ['trailer-root'])
    assert.equal((await said({ treeSize: null, root: null })).codes, ['completeness-unproven'])
    assert.equal((await said({ filter: { actor: 'x' } })).codes, ['trailer-scope', 'completeness-unproven'])
    const behind = await look(`${text}${lines[0]}\n`, store.keys)
    assert.equal(behind.codes, ['after-trailer'])
  },
)

exporting('without keys an export shows its links and digests, and is UNVERIFIABLE', async ({ text }) => {
  const { result, codes } = await look(text, undefined)
  assert.is(result.verdict, 'UNVERIFIABLE')
  assert.equal(codes, ['no-keys'])
  assert.is(result.unchecked.length, 1)
})

/** The lines of the export without its trailer, and one of its run alone. */
function linesIn(text: string): { all: readonly string[]; one: readonly string[] } {
  const all = text
    .split('\n')
    .slice(0, -2)
    .map((line) => `${line}\n`)
  return { all, one: all.filter((line) => line.includes('run-acme.one"')) }
}

exporting(
  'an export of a query is held to the query of its first line: digested, in its own form, and the one that the trailer names',
  async ({ store, text }) => {
    const { all } = linesIn(text)
    const filter = { types: ['EnvelopeAccepted'] }
    const head = `${JSON.stringify({ filter })}\n`
    const some = all.filter((line) => line.includes('"type":"EnvelopeAccepted"'))
    assert.ok(some.length > 1 && some.length < all.length)
    const seen = async (first: string, said: Partial<TrailerFacts> = {}, digested = first) =>
      (
        await look(
          [first, ...some].join('') + trailerFor([digested, ...some], { filter, treeSize: null, root: null, ...said }),
          store.keys,
        )
      ).codes
    const whole = await seen(head)
    assert.equal(whole, ['completeness-unproven'], 'what lies between the events is not missing')
    assert.ok((await look(some.join('') + trailerFor(some), store.keys)).codes.includes('missing'))
    assert.equal(await seen(head, { filter: { types: ['RunStarted'] } }), ['trailer-scope', ...whole])
    assert.equal(await seen(head, { filter: undefined } as Partial<TrailerFacts>), ['trailer-scope', ...whole])
    assert.equal(await seen(`${JSON.stringify({ filter: {} })}\n`, { filter: {} }, head), ['trailer-digest', ...whole])
    for (const other of [
      '{ "filter":{"types":["EnvelopeAccepted"]}}\n',
      '{"filter":{"types":["EnvelopeAccepted"]},"more":1}\n',
    ])
      assert.equal(await seen(other), ['line-not-canonical', ...whole], other)
    const second = [...some.slice(0, 1), head, ...some.slice(1)]
    assert.ok(
      (await look(second.join('') + trailerFor(second), store.keys)).codes.includes('line-not-canonical'),
      'a query stands on the first line alone',
    )
  },
)

exporting('a trailer in another spelling, with more in it, or on two lines is none', async ({ store, text }) => {
  const { all } = linesIn(text)
  const trailer = trailerFor(all)
  const spellings = [
    trailer.replace('{"trailer":', '{ "trailer":'),
    trailer.replace(/\}\n$/, ',"more":1}\n'),
    trailer.replace('"events":', '"more":1,"events":'),
    trailer.replace(/"tenant":"[^"]*",/, ''),
  ]
  for (const other of spellings) {
    const { result, codes } = await look(all.join('') + other, store.keys)
    assert.is(result.verdict, 'TAMPERED', other)
    assert.equal(codes, ['line-not-canonical', 'no-trailer'], other)
  }
  assert.ok((await look(all.join('') + trailer + trailer, store.keys)).codes.includes('after-trailer'))
})

/** As version 0.1.0 wrote it. */
function unsigned(signed: string): string {
  const { signature: _, ...facts } = JSON.parse(signed).trailer
  return exportTrailer({ ...facts, v: 1 } as ExportTrailer)
}

exporting(
  'an export that was cut and counted anew is not VERIFIED without the key of the log (A73)',
  async ({ store, text }) => {
    const { all } = linesIn(text)
    const mallory: LogKey = { ...LOG, key: createLedgerKeys('2026-01-01T00:00:00.000Z', randomBytes).checkpointKey }
    for (let cut = 1; cut < 6; cut += 1) {
      const kept = all.slice(0, -cut)
      const counted = await look(kept.join('') + unsigned(trailerFor(kept)), store.keys)
      assert.equal([counted.result.verdict, counted.codes], ['INCOMPLETE', ['completeness-unproven']])
      const stranger = await look(kept.join('') + trailerLine(kept, mallory), store.keys)
      assert.equal([stranger.result.verdict, stranger.codes], ['INCOMPLETE', ['completeness-unproven']])
      const claimed = trailerLine(kept, mallory).replace(/"key":"[^"]*"/, `"key":"${LOG.name}+${findKey().keyId}"`)
      const forged = await look(kept.join('') + claimed, store.keys)
      assert.equal([forged.result.verdict, forged.codes], ['TAMPERED', ['trailer-signature']])
    }
  },
)

exporting(
  'a signature is of all that a trailer says, of a trailer alone, and of its own log (A73)',
  async ({ store, text }) => {
    const { all } = linesIn(text)
    const trailer = trailerFor(all)
    for (const [from, to] of [
      ['"asOf":"20"', '"asOf":"21"'],
      ['"ledgerId":"x"', '"ledgerId":"y"'],
      [/"sig":"./, (found: string) => `${found.slice(0, -1)}${found.endsWith('A') ? 'B' : 'A'}`],
    ] as const) {
      const { codes } = await look(all.join('') + trailer.replace(from, to as string), store.keys)
      assert.equal(codes, ['trailer-signature'], String(from))
    }
    const renamed = trailer.replace('"key":"ledger', '"key":"7edger')
    assert.equal((await look(all.join('') + renamed, store.keys)).codes, ['trailer-signature'])
    const other: LogKey = { ...LOG, name: 'ledger.example/other' }
    const foreign = await look(all.join('') + trailerLine(all, other, { tenant: 'acme' }), store.keys)
    assert.equal(foreign.codes, ['trailer-signature'])
    assert.match(trailer, new RegExp(`"type":"${TRAILER_PAYLOAD_TYPE.replace('+', '\\+')}"`))
  },
)

exporting(
  'what a part leaves out at its end nobody can prove: an export of a run is never VERIFIED, not even under the key of the log (A73)',
  async ({ store, text }) => {
    const { one } = linesIn(text)
    for (const lines of [one, one.slice(0, -2)]) {
      const { result, codes, faults } = await look(lines.join('') + trailerFor(lines, { run: 'one' }), store.keys)
      assert.equal([result.verdict, codes], ['INCOMPLETE', ['completeness-unproven']])
      assert.match(faults[0]?.message ?? '', /bundle proves it/)
    }
  },
)

exporting(
  'a checkpoint proves an export of 0.1.0, shows a cut that the key of the log signed, and is no loss for the export of a run (A74)',
  async ({ store, text }) => {
    const { all, one } = linesIn(text)
    const kept = (count: number): HeldCheckpoint => {
      const read = readLogCheckpoint(checkpointOf(all.slice(0, count).map(headerOf), LOG), [findKey()])
      if (!read.ok) throw new Error(read.message)
      return read
    }
    const codesOf = async (lines: readonly string[], trailer: string, checkpoint: HeldCheckpoint) =>
      (await look(lines.join('') + trailer, store.keys, { checkpoint })).codes
    const old = unsigned(trailerFor(all))
    assert.equal(await codesOf(all, old, kept(all.length)), [])
    assert.equal(await codesOf(all, old, kept(all.length - 1)), ['completeness-unproven'])
    assert.equal(await codesOf(all, trailerFor(all), kept(3)), [])
    const cut = all.slice(0, -1)
    assert.equal(await codesOf(cut, trailerFor(cut), kept(all.length)), ['log-behind-checkpoint'])
    assert.equal(await codesOf(all, trailerFor(all), { ...kept(3), checkpoint: kept(4).checkpoint }), [])
    const other = { ...kept(3).checkpoint, root: kept(4).checkpoint.root }
    assert.equal(await codesOf(all, trailerFor(all), { ...kept(3), checkpoint: other }), ['checkpoint-mismatch'])
    assert.equal(await codesOf(one, trailerFor(one, { run: 'one' }), kept(all.length)), ['completeness-unproven'])
    assert.equal(await codesOf(all, old, { ...kept(all.length), tenant: 'other' }), ['completeness-unproven'])
  },
)

exporting.run()
