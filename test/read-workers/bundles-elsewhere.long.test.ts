import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream } from '../../schemas/names.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { type BundleOptions, prepareBundle } from '../../src/export/bundle/issue-bundle.ts'
import { type Portions, portionsOf } from '../../src/export/export-body.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { ReaderThreads } from '../../src/read-workers/reader-threads.ts'
import { type ReplayPortion, replayPortions } from '../../src/read-workers/replay-portions.ts'
import { readSettings } from '../../src/settings/config.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { verifyBundle } from '../../src/verify/bundle/verify-bundle.ts'
import { unpackTar } from '../support/bundles.ts'
import { NO_INDEX } from '../support/no-index.ts'
import { collect } from '../support/records.ts'
import { drive } from '../support/run-driver.ts'
import { rowsOf, setColumn } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'
import { eventually } from '../support/within.ts'

const test = suite('bundles and replays of threads that read')

const RUNS = 4
/** Larger than a portion. */
const LARGE = 'v'.repeat(300_000)

const settingsOf = (data: string) =>
  readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '1', 'scrub-days': '0' }, {})

async function seeded(data: string): Promise<OpenLedger> {
  const opened = await openLedger(settingsOf(data), silentLog)
  for (let n = 0; n < RUNS; n += 1) {
    const run = drive(opened, `r${n}`)
    await run.start()
    for (let step = 0; step < 5; step += 1) await run.hand('a', { note: `step ${step}`, text: 'ü'.repeat(9_000) })
    await run.claim('tool', { args: { large: `${LARGE}${n}` } })
  }
  return opened
}

interface Wanted extends BundleOptions {
  readonly run?: string
}

async function bundled(
  { ledger }: OpenLedger,
  { run, ...options }: Wanted,
  readers: ReaderThreads | undefined,
): Promise<Buffer> {
  const prepared = await prepareBundle(ledger, alice, run === undefined ? {} : { run }, options, readers)
  if (!prepared.ok) throw new TypeError(prepared.detail)
  await prepared.value.start()
  const parts: Uint8Array[] = []
  for await (const chunk of prepared.value.chunks()) parts.push(chunk)
  return Buffer.concat(parts)
}

async function issues({ store }: OpenLedger): Promise<readonly { outcome: string; bytes: number; digest: string }[]> {
  const records = await collect(store.readStream(ledgerStream(alice.tenant)))
  return records.flatMap(({ header, data }) => (JSON.parse(header).type === 'ExportIssued' ? [JSON.parse(data)] : []))
}

/** The log grows with every bundle, and its proofs with it. */
const SAME = (name: string): boolean => !name.startsWith('proofs/')

/** Events, without the trailer, which says when they were pinned. */
const linesIn = (files: ReadonlyMap<string, Buffer>): readonly string[] =>
  String(files.get('events.jsonl')).trimEnd().split('\n').slice(0, -1)

test('a bundle has the same files whichever thread makes it, and verifies: of a run and of the log, with large values and without (F182)', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  const { ledger, readers } = opened
  const wanted: readonly Wanted[] = [
    { run: 'r1' },
    { run: 'r1', values: true },
    { run: 'r1', proof: 'log' },
    { values: true },
    {},
  ]
  for (const each of wanted) {
    const [elsewhere, here] = [await bundled(opened, each, readers), await bundled(opened, each, undefined)]
    const key = ledger.logs?.verifierKey(alice.tenant)
    const { verdict, faults, events } = verifyBundle(elsewhere, { key })
    assert.equal([verdict, faults], ['VERIFIED', []], JSON.stringify(each))
    assert.ok(events > 0)
    const [there, own] = [await unpackTar(elsewhere), await unpackTar(here)]
    assert.equal([...there.keys()].filter(SAME), [...own.keys()].filter(SAME))
    // The log has grown by the record of the first bundle: its lines come before those of the second.
    const lines = linesIn(there)
    assert.equal(lines, linesIn(own).slice(0, lines.length))
    if (each.values === true) assert.ok(there.get('values.jsonl')?.equals(own.get('values.jsonl') ?? Buffer.alloc(0)))
    const { outcome, bytes } = (await issues(opened)).at(-2) ?? {}
    assert.equal([outcome, bytes], ['complete', elsewhere.length])
  }
  assert.equal([readers?.stats().bodies, readers?.stats().deaths], [0, 0])
})

test('a replay says the same, line by line, whichever thread makes it, and what it finds broken is on record (F182)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await (await seeded(data))[Symbol.asyncDispose]()
  const path = `${data}/store.db`
  const victim = rowsOf(path).find(({ stream, revision }) => stream === 'run-acme.r2' && revision === 3)
  assert.ok(victim)
  setColumn(path, victim.position, 'data', victim.data.replace('step', 'stop'))
  await using opened = await openLedger(settingsOf(data), silentLog)
  const { ledger, readers } = opened
  assert.ok(readers)
  const found = await ledger.replay(alice, 'r1')
  assert.ok(found.ok)
  const of = { tenant: alice.tenant, caller: alice.actor }
  const elsewhere = await replayed(readers.replay({ ...of, run: 'r1', to: found.revision }))
  const here = await replayed(portionsOf(replayPortions(found.value.lines, 0)))
  assert.is(elsewhere.text, here.text)
  assert.equal([elsewhere.last?.verdict, elsewhere.last?.events], ['VERIFIED', found.revision + 1])
  assert.is((await replayed(readers.replay({ ...of, run: 'r2', to: found.revision }))).last?.verdict, 'TAMPERED')
  const fault = await eventually(async () => {
    await ledger.integrity.settled()
    await ledger.listRuns(alice, { limit: 1 })
    return ledger.integrity.state(alice).faults[0]
  }, 'the fault on record')
  assert.equal([fault.stream, fault.revision], ['run-acme.r2', 3])
})

async function replayed(portions: Portions<ReplayPortion>): Promise<{ text: string; last: ReplayPortion | undefined }> {
  let [text, last]: [string, ReplayPortion | undefined] = ['', undefined]
  for (let portion = await portions.next(); portion !== undefined; portion = await portions.next()) {
    text += Buffer.from(portion.chunk).toString()
    last = portion
  }
  await portions.close()
  return { text, last }
}

/** Dies of the second request. */
const MORTAL = new URL(
  `data:text/javascript,import { parentPort } from 'node:worker_threads'; parentPort.on('message', ({ kind, name, args: [body] = [] }) => {
    if (name === 'open') parentPort.postMessage({ kind: 'call', id: 1, name: 'sign', args: [body, 't', new Uint8Array(3)] })
    else if (kind === 'done') process.exit(3)
  })`,
)

test('a thread that dies in the middle of a bundle, while it waits for a signature, cuts that bundle on record and nothing else (F182)', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  await using mortal = new ReaderThreads({
    ...{ count: 1, file: MORTAL, workerData: {}, log: silentLog, onFault: () => undefined, index: NO_INDEX },
  })
  const cut = await bundled(opened, { run: 'r1' }, mortal).catch((error: unknown) => error)
  assert.instance(cut, StoreUnavailableError)
  assert.is((await issues(opened)).at(-1)?.outcome, 'cut')
  assert.equal([mortal.stats().deaths, mortal.stats().bodies], [1, 0])
  await drive(opened, 'r0').hand('b', { note: 'all the same' })
  assert.is(verifyBundle(await bundled(opened, { run: 'r1' }, opened.readers)).verdict, 'CONSISTENT, NOT AUTHENTICATED')
})

test('a bundle that is left while its log is measured ends at the next record, and its thread goes on with others (F183)', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  const { ledger, readers } = opened
  assert.ok(readers)
  const prepared = await prepareBundle(ledger, alice, {}, {}, readers)
  assert.ok(prepared.ok)
  await prepared.value.start()
  const leaving = new AbortController()
  const chunks = prepared.value.chunks(leaving.signal)
  const first = chunks.next().catch((error: unknown) => error)
  leaving.abort(new Error('gone'))
  assert.instance(await first, Error)
  await chunks.return()
  assert.is((await issues(opened)).at(-1)?.outcome, 'cut')
  assert.is(readers.stats().bodies, 0)
  assert.ok((await bundled(opened, { run: 'r1' }, readers)).length > 0)
})

test('many who take one portion and no more hold a portion each, and others are served past them (F184)', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  const { ledger, readers } = opened
  assert.ok(readers)
  const stalled = []
  for (let n = 0; n < 40; n += 1) {
    const found = await ledger.replay(alice, 'r1')
    assert.ok(found.ok)
    const prepared = await prepareBundle(ledger, alice, { run: `r${n % RUNS}` }, { values: true }, readers)
    assert.ok(prepared.ok)
    const chunks = prepared.value.chunks()
    assert.is((await chunks.next()).done, false)
    stalled.push(chunks)
  }
  assert.is(readers.stats().bodies, stalled.length)
  assert.is(verifyBundle(await bundled(opened, { run: 'r2' }, readers)).verdict, 'CONSISTENT, NOT AUTHENTICATED')
  await Promise.all(stalled.map((chunks) => chunks.return()))
  assert.equal([readers.stats().bodies, readers.stats().deaths], [0, 0])
  assert.is((await issues(opened)).filter(({ outcome }) => outcome === 'cut').length, stalled.length)
})

test.run()
