import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream } from '../../schemas/names.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import type { ReaderPlaces } from '../../src/compose/reader-worker.ts'
import type { BodyMaker, LinesPortion, LinesRequest, Portions } from '../../src/export/export-body.ts'
import { FORMAT_NAMES, FORMATS } from '../../src/export/formats.ts'
import { type ExportRequest, prepareExport } from '../../src/export/issue-export.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { ReaderThreads } from '../../src/read-workers/reader-threads.ts'
import { SideBySide } from '../../src/read-workers/side-by-side.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'
import { AUDIT_FILE, LOG_FILE } from '../../src/settings/places.ts'
import { NO_INDEX } from '../support/no-index.ts'
import { collect } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'
import { drive } from '../support/run-driver.ts'
import { rowsOf, setColumn } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('an export that several threads write side by side')

const settingsOf = (data: string): Settings =>
  readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0' }, {})

const PROGRAM = new URL('../../programs/reader-worker.js', import.meta.url)

function threadsOver(data: string, file = PROGRAM): ReaderThreads {
  const { keys } = settingsOf(data)
  const store = join(data, 'store.db')
  const workerData: ReaderPlaces = { store, keys, logs: join(data, LOG_FILE), audit: join(data, AUDIT_FILE) }
  return new ReaderThreads({ count: 2, file, workerData, log: silentLog, onFault: () => undefined, index: NO_INDEX })
}

/** The runs of two tenants, in turns, with bodies of very different lengths; where asked, a few rows were altered behind the ledger's back. */
async function seeded(data: string, isAltered = false): Promise<OpenLedger> {
  const other = { ...alice, tenant: 'other' }
  const opened = await openLedger(settingsOf(data), silentLog)
  for (let n = 0; n < 4; n += 1) {
    const run = drive(opened, `r${n}`)
    const beside = drive(opened, `r${n}`, other)
    await run.start()
    await beside.start()
    for (let step = 0; step < 6; step += 1) {
      await run.hand('a', { note: `step ${step}`, text: 'ü"\\'.repeat(step * step * 40) })
      await beside.hand('b', { note: `theirs ${step}` })
    }
  }
  if (!isAltered) return opened
  await opened[Symbol.asyncDispose]()
  const path = join(data, 'store.db')
  const own = rowsOf(path).filter(({ stream }) => stream.startsWith('run-acme.'))
  const [one, two, three] = [own[4], own[11], own[17]]
  assert.ok(one && two && three)
  setColumn(path, one.position, 'data', one.data.replace('step', 'stop'))
  setColumn(path, two.position, 'data', `${two.data.slice(0, -3)}\n`)
  setColumn(path, three.position, 'header', three.header.replace('"actor":"alice"', '"actor":"mallory"'))
  return await openLedger({ ...settingsOf(data), scrubDays: 0 }, silentLog)
}

async function chunksOf(ledger: Ledger, request: ExportRequest, bodies: BodyMaker | undefined, signal?: AbortSignal) {
  const prepared = await prepareExport(ledger, alice, request, bodies)
  if (!prepared.ok) throw new TypeError(prepared.detail)
  await prepared.value.start()
  return prepared.value.chunks(signal)
}

async function fileOf(...asked: Parameters<typeof chunksOf>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of await chunksOf(...asked)) parts.push(chunk)
  return Buffer.concat(parts)
}

async function issues({ store }: OpenLedger): Promise<readonly { outcome: string; events: number; digest: string }[]> {
  const records = await collect(store.readStream(ledgerStream(alice.tenant)))
  return records.flatMap(({ header, data }) => (JSON.parse(header).type === 'ExportIssued' ? [JSON.parse(data)] : []))
}

for (const isAltered of [false, true])
  test(`it is the same, byte for byte, as one thread writes it, of ${isAltered ? 'an altered' : 'a sound'} store: in each format, of a tenant and of a part of its log, whole and from any offset (LOG-13)`, async () => {
    using folder = tempFolder()
    const data = folder.file('data')
    await using opened = await seeded(data, isAltered)
    await using readers = threadsOver(data)
    await readers.ready()
    const { ledger } = opened
    const until = await ledger.end()
    let elsewhere = 0
    const counted = {
      count: 2,
      ready: () => readers.ready(),
      lines: (...asked: Parameters<ReaderThreads['lines']>) => {
        elsewhere += 1
        return readers.lines(...asked)
      },
    }
    for (const format of FORMAT_NAMES) {
      // A log that its store does not fit any more has no parts.
      for (const what of isAltered ? [{}] : [{}, { from: 7 }]) {
        const here = await fileOf(ledger, { format, ...what, resume: { until, offset: 0 } }, undefined)
        for (const stretchBytes of [1, 30_000]) {
          const bodies = new SideBySide({ readers: counted, positionsMin: 1, stretchBytes })
          const before = elsewhere
          const middle = Math.floor(here.length / 3)
          const quick = [stretchBytes === 1 ? middle : 0]
          for (const offset of rounds(0, 1) === 1 ? [0, 1, middle, here.length - 1] : quick) {
            const rest = await fileOf(ledger, { format, ...what, resume: { until, offset } }, bodies)
            assert.ok(rest.equals(here.subarray(offset)), `${format} from ${offset}, stretches of ${stretchBytes}`)
          }
          assert.is(elsewhere > before, FORMATS[format].isByEvent, format)
        }
      }
    }
    assert.is(readers.stats().bodies, 0, 'nothing stays open')
    assert.ok((await issues(opened)).every(({ outcome }) => outcome === 'complete'))
  })

test('beside one that is under way another is made in one thread: what waits to be taken is bounded over all', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await using opened = await seeded(data)
  await using readers = threadsOver(data)
  const bodies = new SideBySide({ readers, positionsMin: 1, stretchBytes: 1_000 })
  const resume = { until: await opened.ledger.end(), offset: 0 }
  const first = await chunksOf(opened.ledger, { format: 'jsonl', resume }, bodies)
  const parts = [(await first.next()).value as Uint8Array]
  const second = await fileOf(opened.ledger, { format: 'jsonl', resume }, bodies)
  for await (const chunk of first) parts.push(chunk)
  assert.ok(Buffer.concat(parts).equals(second))
})

/** Dies of whatever it is asked for, once it has begun. */
const MORTAL = new URL(
  `data:text/javascript,import { parentPort } from 'node:worker_threads'; parentPort.postMessage({ kind: 'ready' }); parentPort.on('message', () => process.exit(3))`,
)
const UNABLE = new URL(
  `data:text/javascript,import { parentPort } from 'node:worker_threads'; parentPort.postMessage({ kind: 'open-failed', failure: { message: 'no' } }); process.exit(1)`,
)

test('a thread that dies amid its work ends the export, on record as cut and without a trailer, never a shorter file (F159)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await using opened = await seeded(data)
  await using readers = threadsOver(data, MORTAL)
  const bodies = new SideBySide({ readers, positionsMin: 1, stretchBytes: 1_000 })
  for (let times = 0; times < 2; times += 1) {
    await readers.ready()
    const parts: Uint8Array[] = []
    const failed = await (async () => {
      for await (const chunk of await chunksOf(opened.ledger, { format: 'jsonl' }, bodies)) parts.push(chunk)
    })().catch((error: unknown) => error)
    assert.match(String(failed), /the thread that reads is gone/)
    assert.not.match(String(Buffer.concat(parts)), /"trailer"/)
    assert.is((await issues(opened)).at(-1)?.outcome, 'cut')
  }
})

test('where no thread can begin, this one writes all of it', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await using opened = await seeded(data)
  await using readers = threadsOver(data, UNABLE)
  const bodies = new SideBySide({ readers, positionsMin: 1, stretchBytes: 1_000 })
  const resume = { until: await opened.ledger.end(), offset: 0 }
  const here = await fileOf(opened.ledger, { format: 'ocsf', resume }, undefined)
  assert.ok((await fileOf(opened.ledger, { format: 'ocsf', resume }, bodies)).equals(here))
})

/** Threads that answer when they are told to; each stretch is one line. */
function heldThreads(portionOf: (request: LinesRequest) => LinesPortion | undefined) {
  const waiting: (() => void)[] = []
  let open = 0
  const lines = (request: LinesRequest): Portions<LinesPortion> => {
    open += 1
    return {
      next: async () => {
        await new Promise<void>((resolve) => waiting.push(resolve))
        return portionOf(request)
      },
      leave: () => {
        for (const resolve of waiting.splice(0)) resolve()
      },
      close: async () => {
        open -= 1
      },
    }
  }
  return { readers: { count: 2, ready: async () => undefined, lines }, waiting, open: () => open }
}

const lineOf = (size: number): LinesPortion => ({
  chunk: new Uint8Array(size).fill(0x61),
  events: 1,
  lastTime: undefined,
  isLast: true,
  losses: [],
})

const REQUEST = {
  format: 'jsonl',
  ledgerId: 'l',
  tenant: 'acme',
  caller: 'a',
  leaves: 0,
  hasTree: false,
  until: '1000000',
  offset: 0,
} as const
const MIB = 1024 * 1024

test('whoever takes nothing holds a bounded number of bytes, however large the store is, and leaving ends all that was begun', async () => {
  const held = heldThreads(() => lineOf(MIB))
  let here = 0
  const linesHere = (): Portions<LinesPortion> => {
    here += 1
    return { next: async () => lineOf(MIB), leave: () => undefined, close: async () => undefined }
  }
  const body = new SideBySide({ readers: held.readers, positionsMin: 1 }).body(REQUEST, linesHere)
  assert.ok(body)
  const next = () => body.next()
  await next()
  await nextTurn()
  // The first stretch of the other threads is not there: this one goes on until enough waits.
  const waits = next()
  for (let turns = 0; turns < 100; turns += 1) await nextTurn()
  assert.ok(here <= 12, `${here} stretches of a megabyte were begun here`)
  assert.is(held.open(), 4)
  for (const resolve of held.waiting.splice(0)) resolve()
  await waits
  for (let turns = 0; turns < 100; turns += 1) await nextTurn()
  assert.ok(here + held.open() <= 20)
  body.leave()
  assert.match(String(await next().catch((error: unknown) => error)), /the reader has left/)
  await body.close()
  assert.is(held.open(), 0)
})

test('a stretch that ends without its last portion is no part of a file', async () => {
  const held = heldThreads(() => undefined)
  const linesHere = (): Portions<LinesPortion> => ({
    next: async () => lineOf(10),
    leave: () => undefined,
    close: async () => undefined,
  })
  const body = new SideBySide({ readers: held.readers, positionsMin: 1 }).body(REQUEST, linesHere)
  assert.ok(body)
  const all = (async () => {
    for (;;) if ((await body.next()) === undefined) return 'whole'
  })().catch((error: unknown) => String(error))
  const answering = setInterval(() => {
    for (const resolve of held.waiting.splice(0)) resolve()
  }, 1)
  assert.match(await all, /ended without its last portion/)
  clearInterval(answering)
  const closed = body.close()
  for (const resolve of held.waiting.splice(0)) resolve()
  await closed
})

test.run()
