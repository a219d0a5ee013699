import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { valueStream } from '../../../schemas/names.ts'
import { prepareBundle } from '../../../src/export/bundle/issue-bundle.ts'
import type { EventStore } from '../../../src/store/event-store.ts'
import type { BundleProof } from '../../../src/verify/bundle/predicate.ts'
import { reportLines } from '../../../src/verify/bundle/report-lines.ts'
import type { BundleVerdict } from '../../../src/verify/bundle/verdict.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { AUDITOR, unpackTar } from '../../support/bundles.ts'
import { type Files, type LogKey, packedBundle, predicateOf, signedAgain } from '../../support/forgery.ts'
import { type TestLogs, testLogs } from '../../support/test-logs.ts'
import { openTestStore } from '../../support/test-store.ts'
import { wrapStore } from '../../support/wrap-store.ts'

const test = suite('export: bundles with the large values that events name')

const FILE = 'values.jsonl'
const [ARGS, RESULT] = [{ rows: 'é😀"'.repeat(90_000) }, { rows: 'y'.repeat(150_000) }]
const [INPUT, OUTPUT] = ['i'.repeat(140_000), 'o'.repeat(140_000)]
/** An input, two claims of the same arguments, a result, and an output. */
const NAMED = 5
const LINE_MAX_BYTES = 2 * 1024 * 1024

interface Site {
  readonly home: TestLogs
  readonly tar: Buffer
  readonly files: Files
  readonly key: string
  readonly log: LogKey
}
let site: Site

test.before(async () => {
  const home = await testLogs()
  await withValues(home)
  const tar = await bundled(home, { values: true })
  const key = home.logs.verifierKey('acme')
  const log = { name: key.slice(0, key.indexOf('+')), key: home.keys.checkpointKey }
  site = { home, tar, files: await unpackTar(tar), key, log }
})
test.after(() => site.home[Symbol.asyncDispose]() as Promise<void>)

async function withValues({ ledger }: Pick<TestLogs, 'ledger'>): Promise<void> {
  const alice = { tenant: 'acme', actor: 'alice' }
  const run = async (command: object): Promise<JsonObject> => {
    const outcome = await ledger.execute(alice, 'r', command as never, {})
    if (!outcome.ok) throw new Error(outcome.refusal.detail)
    return outcome.body
  }
  await run({ kind: 'start', body: { id: 'r', name: 'r', input: INPUT } })
  const { callId } = await run({ kind: 'claim', body: { tool: 't', args: ARGS, key: 'a' } })
  const { callId: second } = await run({ kind: 'claim', body: { tool: 't', args: ARGS, key: 'b' } })
  await run({ kind: 'settle', callId, body: { fence: 1, result: RESULT } })
  await run({ kind: 'settle', callId: second, body: { fence: 1, result: null } })
  await run({ kind: 'complete', body: { output: OUTPUT } })
}

async function bundled(
  { ledger }: Pick<TestLogs, 'ledger'>,
  options: { readonly values?: boolean; readonly proof?: BundleProof },
): Promise<Buffer> {
  const prepared = await prepareBundle(ledger, AUDITOR, { run: 'r' }, options)
  if (!prepared.ok) throw new Error(prepared.code)
  await prepared.value.start()
  const chunks: Uint8Array[] = []
  for await (const chunk of prepared.value.chunks()) {
    assert.ok(chunk.length < LINE_MAX_BYTES, `a portion of ${chunk.length} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const codesOf = ({ verdict, faults }: BundleVerdict): readonly string[] => [verdict, ...faults.map(({ code }) => code)]

/** Signed by whoever has the log's key: only what is wrong with the values is left to be found. */
async function changed(change: (lines: JsonObject[]) => readonly unknown[] | string): Promise<BundleVerdict> {
  const { files, log, key } = site
  const lines = `${files.get(FILE)}`.trim().split('\n')
  const made = change(lines.map((line) => JSON.parse(line) as JsonObject))
  const text = typeof made === 'string' ? made : made.map((line) => `${JSON.stringify(line)}\n`).join('')
  const forged = new Map(files).set(FILE, Buffer.from(text))
  return verifyBundle(await packedBundle(signedAgain(forged, log, predicateOf(files), 'stream')), { key })
}

test('on request a bundle holds every large value that its events name, and whoever has it checks each against the sealed digest (RUN-93)', async () => {
  const { home, tar, key, files } = site
  assert.equal(codesOf(verifyBundle(tar, { key })), ['VERIFIED'])
  for (const bundle of [tar, await bundled(home, { values: true, proof: 'log' })]) {
    const found = verifyBundle(bundle, { key })
    assert.equal([...codesOf(found), found.named, found.values], ['VERIFIED', NAMED, NAMED])
    assert.match(reportLines(found).join('\n'), /values: 5 that events name are here, whole/)
  }
  assert.match(`${files.get('README.txt')}`, /values\.jsonl/)
  const texts = `${files.get(FILE)}`
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; text: string })
  const [first] = texts
  const whole = texts.filter(({ event }) => event === first?.event).map(({ text }) => text)
  assert.ok(whole.length > 1, 'in parts')
  assert.equal(JSON.parse(whole.join('')), INPUT)
})

test('without the request a bundle says that values are named which it does not hold (RUN-93)', async () => {
  const tar = await bundled(site.home, {})
  const found = verifyBundle(tar, { key: site.key })
  assert.equal([...codesOf(found), found.named, found.values], ['VERIFIED', NAMED, 0])
  assert.match(found.notes.join(), /5 events name large values, which are not in this bundle/)
  assert.not.ok((await unpackTar(tar)).has(FILE))
})

test('a value that is missing, altered, cut, of another salt, order or event is named, though the bundle was signed again (RUN-93)', async () => {
  const [first = ''] = `${site.files.get(FILE)}`.split('\n')
  const { event } = JSON.parse(first) as JsonObject
  const altered = ['TAMPERED', 'value-altered']
  const cases: readonly (readonly [string, Parameters<typeof changed>[0], readonly string[]])[] = [
    ['all gone', () => '', ['INCOMPLETE', ...Array(NAMED).fill('value-missing')]],
    ['one gone', (lines) => lines.filter((line) => line.event !== event), ['INCOMPLETE', 'value-missing']],
    ['altered', ([first, ...rest]) => [{ ...first, text: `x${String(first?.text).slice(1)}` }, ...rest], altered],
    ['cut', ([, ...rest]) => rest, altered],
    ['a part twice', ([first, ...rest]) => [first, first, ...rest], altered],
    ['parts swapped', ([first, second, ...rest]) => [second, first, ...rest], altered],
    ['another salt', ([first, ...rest]) => [{ ...first, salt: 'A'.repeat(22) }, ...rest], altered],
    [
      'other order',
      (lines) => [...lines].reverse(),
      ['TAMPERED', ...Array(NAMED - 1).fill('value-missing'), 'value-altered', 'value-foreign'],
    ],
    ['one too many', (lines) => [...lines, { ...lines[0], event: 'nobody' }], ['TAMPERED', 'value-foreign']],
    ['no JSON', () => 'x\n', ['TAMPERED', 'not-json']],
    ['another form', ([first, ...rest]) => [{ ...first, more: 1 }, ...rest], ['TAMPERED', 'line']],
    ['a line that is cut', () => '{"event":', ['INCOMPLETE', 'file-cut', ...Array(NAMED).fill('value-missing')]],
  ]
  for (const [what, change, codes] of cases) assert.equal([what, codesOf(await changed(change))], [what, codes])
  const without = new Map(site.files)
  without.delete(FILE)
  const found = verifyBundle(await packedBundle(without), { key: site.key })
  assert.is(found.verdict, 'INCOMPLETE')
  assert.ok(codesOf(found).includes('file-missing'))
})

test('a value that the store lost or that was altered there does not keep the evidence from leaving: whoever checks it is told which (RUN-93)', async () => {
  for (const [code, change] of [
    ['value-missing', () => undefined],
    ['value-altered', (data: string) => data.replace('yyyy', 'yyyz')],
  ] as const) {
    const inner = await openTestStore()
    let isHit = false
    const readStream: EventStore['readStream'] = async function* (stream, options) {
      for await (const page of inner.readStream(stream, options)) {
        if (!isHit || !stream.startsWith(valueStream('acme', 'sha256:').slice(0, 6))) yield page
        else
          yield page.flatMap((record) => {
            const data = record.data.includes('yyyy') ? change(record.data) : record.data
            return data === undefined ? [] : [{ ...record, data }]
          })
      }
    }
    await using home = await testLogs({ store: wrapStore(inner, { readStream }) })
    await withValues(home)
    isHit = true
    const found = verifyBundle(await bundled(home, { values: true }), { key: home.logs.verifierKey('acme') })
    assert.equal(codesOf(found).slice(1), [code])
    assert.is(found.values, NAMED - 1)
  }
})

test.run()
