import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { exportDigest, exportLine, exportTrailer } from '../../src/export/jsonl.ts'
import { exportPages } from '../../src/verify/export-records.ts'
import type { VerifyFault } from '../../src/verify/fault.ts'
import { type VerifyKeys, type VerifyResult, verifyRecords } from '../../src/verify/verify-records.ts'
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

function trailerFor(lines: readonly string[]): string {
  const digest = exportDigest()
  for (const line of lines) digest.update(line)
  const place = { ledgerId: 'x', tenant: 'acme', run: null, asOf: '20', treeSize: null, root: null }
  return exportTrailer({ v: 1, ...place, events: lines.length, digest: digest.text() })
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

interface Seen {
  readonly result: VerifyResult
  readonly codes: readonly string[]
  readonly faults: readonly VerifyFault[]
}

async function look(content: string | Uint8Array, keys: VerifyKeys | undefined, chunk = 1_000): Promise<Seen> {
  const faults: VerifyFault[] = []
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const again = () => exportPages(inChunks(bytes, 65_536))
  const onFault = (fault: VerifyFault): void => void faults.push(fault)
  const result = await verifyRecords(exportPages(inChunks(bytes, chunk)), { onFault, again, ...(keys && { keys }) })
  return { result, faults, codes: faults.map(({ code }) => code) }
}

exporting('a whole export is VERIFIED, in whatever portions its bytes come', async ({ store, text }) => {
  for (const chunk of [1, 7, 1_000, 1_000_000]) {
    const { result, faults } = await look(text, store.keys, chunk)
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
    const count = await look(
      text.replace(/"events":(\d+)/, (_, events) => `"events":${Number(events) + 1}`),
      store.keys,
    )
    assert.equal(count.codes, ['trailer-count'])
    const digest = await look(
      text.replace(/"digest":"sha256:./, (start) => `${start.slice(0, -1)}${start.endsWith('0') ? '1' : '0'}`),
      store.keys,
    )
    assert.equal(digest.codes, ['trailer-digest'])
    const scope = await look(text.replace('"tenant":"acme","run":null', '"tenant":"acme","run":"one"'), store.keys)
    assert.equal(scope.codes, ['trailer-scope'])
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

exporting.run()
