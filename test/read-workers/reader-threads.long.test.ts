import { renameSync, rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream } from '../../schemas/names.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import type { BodyMaker } from '../../src/export/export-body.ts'
import { FORMAT_NAMES } from '../../src/export/formats.ts'
import { type ExportRequest, prepareExport } from '../../src/export/issue-export.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { ReaderThreads } from '../../src/read-workers/reader-threads.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { NO_INDEX } from '../support/no-index.ts'
import { collect } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'
import { drive } from '../support/run-driver.ts'
import { rowsOf, setColumn } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'
import { eventually } from '../support/within.ts'

const test = suite('threads that read')

const settingsOf = (data: string, readThreads = '1'): Settings =>
  readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': readThreads }, {})

async function seeded(data: string, runs = 3): Promise<OpenLedger> {
  const opened = await openLedger(settingsOf(data), silentLog)
  for (let n = 0; n < runs; n += 1) {
    const run = drive(opened, `r${n}`)
    await run.start()
    for (let step = 0; step < 5; step += 1) await run.hand('a', { note: `step ${step}`, text: 'ü'.repeat(9_000) })
  }
  return opened
}

/** `between` is awaited after each portion. */
async function bytesOf(
  ledger: Ledger,
  request: ExportRequest,
  readers: BodyMaker | undefined,
  between: () => Promise<void> = async () => undefined,
): Promise<Buffer> {
  const prepared = await prepareExport(ledger, alice, request, readers)
  if (!prepared.ok) throw new TypeError(prepared.detail)
  const parts: Uint8Array[] = []
  for await (const chunk of prepared.value.chunks()) {
    parts.push(chunk)
    await between()
  }
  return Buffer.concat(parts)
}

const fileOf = async (...asked: Parameters<typeof bytesOf>): Promise<string> => String(await bytesOf(...asked))

async function issues({ store }: OpenLedger): Promise<readonly { outcome: string; events: number; digest: string }[]> {
  const records = await collect(store.readStream(ledgerStream(alice.tenant)))
  return records.flatMap(({ header, data }) => (JSON.parse(header).type === 'ExportIssued' ? [JSON.parse(data)] : []))
}

test('an export is the same, byte for byte, whichever thread makes it: in each format, of a tenant, of a run and of a part of the log, whole and from any offset', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  const { ledger, readers } = opened
  assert.ok(readers)
  const until = await ledger.end()
  for (const format of FORMAT_NAMES) {
    for (const what of [{}, { query: { run: 'r1' } }, { from: 7 }]) {
      const here = await fileOf(ledger, { format, ...what, resume: { until, offset: 0 } }, undefined)
      assert.is(await fileOf(ledger, { format, ...what, resume: { until, offset: 0 } }, readers), here, format)
      const bytes = Buffer.from(here)
      const middle = Math.floor(bytes.length / 2)
      for (const offset of rounds(0, 1) === 1 ? [1, middle, bytes.length - 1] : [middle]) {
        const rest = await bytesOf(ledger, { format, ...what, resume: { until, offset } }, readers)
        assert.ok(rest.equals(bytes.subarray(offset)), `${format} from ${offset}`)
      }
    }
  }
  const made = (await issues(opened)).filter(({ events }) => events > 0)
  assert.is(new Set(made.map(({ digest }) => digest)).size, 3 * FORMAT_NAMES.length, 'the same digests are on record')
  assert.is(readers.stats().bodies, 0, 'nothing stays open')
})

test('an export goes on where an event was appended meanwhile, and ends where it was pinned', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'), 10)
  const { ledger, readers } = opened
  const until = await ledger.end()
  const text = await fileOf(ledger, { format: 'jsonl', resume: { until, offset: 0 } }, readers, async () => {
    await drive(opened, 'r0').hand('b', { note: 'later' })
  })
  assert.is(text, await fileOf(ledger, { format: 'jsonl', resume: { until, offset: 0 } }, undefined))
})

/** Dies of whatever it is asked for. */
const MORTAL = new URL(
  `data:text/javascript,import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => process.exit(3))`,
)
/** Takes all the memory that it is given. */
const GREEDY = new URL(
  `data:text/javascript,import { parentPort } from 'node:worker_threads'; const all = []; parentPort.on('message', () => { for (;;) all.push(new Array(1e6).fill(1.5)) })`,
)

for (const [how, file] of [
  ['dies', MORTAL],
  ['takes more memory than it may', GREEDY],
] as const) {
  test(`a thread that ${how} while it reads cuts its export, on record as cut, and nothing else: writes go on (F159)`, async () => {
    using folder = tempFolder()
    await using opened = await seeded(folder.file('data'))
    const warned: string[] = []
    const log = { ...silentLog, warn: (_: object, message: string) => warned.push(message) }
    await using mortal = new ReaderThreads({
      count: 1,
      file,
      workerData: {},
      log,
      onFault: () => undefined,
      index: NO_INDEX,
    })
    const cut = await fileOf(opened.ledger, { format: 'jsonl' }, mortal).catch((error: unknown) => error)
    assert.instance(cut, StoreUnavailableError)
    assert.is((await issues(opened)).at(-1)?.outcome, 'cut')
    await drive(opened, 'r0').hand('b', { note: 'all the same' })
    assert.equal([mortal.stats().deaths, mortal.stats().bodies, warned.length], [1, 0, 1])
    await fileOf(opened.ledger, { format: 'jsonl' }, mortal).catch(() => undefined)
    assert.is(mortal.stats().deaths, 2, 'it was started again')
    assert.match(await fileOf(opened.ledger, { format: 'jsonl' }, opened.readers), /\{"trailer":.*\n$/)
  })
}

test('an event that does not verify is on record as broken when another thread reads it (F160)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await (await seeded(data))[Symbol.asyncDispose]()
  const path = `${data}/store.db`
  const victim = rowsOf(path).find(({ stream, revision }) => stream === 'run-acme.r1' && revision === 3)
  assert.ok(victim)
  setColumn(path, victim.position, 'data', victim.data.replace('step', 'stop'))
  await using opened = await openLedger({ ...settingsOf(data), scrubDays: 0 }, silentLog)
  assert.match(await fileOf(opened.ledger, { format: 'jsonl' }, opened.readers), /stop \d/)
  const found = await eventually(async () => {
    await opened.ledger.integrity.settled()
    await opened.ledger.listRuns(alice, { limit: 1 })
    return opened.ledger.integrity.state(alice).faults[0]
  }, 'the fault on record')
  assert.equal([found.stream, found.revision], ['run-acme.r1', 3])
})

test('a thread whose store ends before the place that an export is pinned to makes no short file (F161)', async () => {
  using folder = tempFolder()
  const [data, other] = [folder.file('data'), folder.file('other')]
  await (await seeded(other, 1))[Symbol.asyncDispose]()
  await using opened = await seeded(data)
  const { ledger, readers } = opened
  // What the thread opens is a file that somebody put there meanwhile; the ledger still holds its own.
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(`${data}/kept${suffix}`, { force: true })
    try {
      renameSync(`${data}/store.db${suffix}`, `${data}/kept${suffix}`)
    } catch {
      // There is none.
    }
  }
  renameSync(`${other}/store.db`, `${data}/store.db`)
  const made = await fileOf(ledger, { format: 'jsonl' }, readers).catch((error: unknown) => error)
  // The ledger itself finds the file away first, where it looks before the thread does (STR-55).
  assert.match(String(made), /ends before what the export is pinned to|was removed or replaced while in use/)
})

test('a thread ends with its ledger, in the middle of an export too, and keeps no process', async () => {
  using folder = tempFolder()
  const opened = await seeded(folder.file('data'), 10)
  const { ledger, readers } = opened
  const prepared = await prepareExport(ledger, alice, { format: 'jsonl' }, readers)
  assert.ok(prepared.ok)
  const chunks = prepared.value.chunks()
  assert.is((await chunks.next()).done, false)
  assert.is(readers?.stats().bodies, 1)
  await readers?.[Symbol.asyncDispose]()
  assert.is(readers?.stats().bodies, 0)
  assert.instance(await chunks.next().catch((error: unknown) => error), StoreUnavailableError)
  await opened[Symbol.asyncDispose]()
})

test('with --read-threads 0 nothing is read elsewhere', async () => {
  using folder = tempFolder()
  await using opened = await openLedger(settingsOf(folder.file('data'), '0'), silentLog)
  assert.is(opened.readers, undefined)
})

test.run()
