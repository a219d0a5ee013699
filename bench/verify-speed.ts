/** @module P7 and P11: verification, folding, replay and the rebuild of the run list, compared with plain reading of the same rows. */
import { evolveRun } from '../projections/run.ts'
import type { RunState } from '../projections/run-state.ts'
import type { Header } from '../schemas/header.ts'
import { runStream } from '../schemas/names.ts'
import { verifyTarget } from '../src/cli/verify-target.ts'
import { recordedEvent } from '../src/ledger/read/parse-record.ts'
import { replayRecords } from '../src/ledger/read/replay.ts'
import { type CheckDepth, checkRecord, firstExpectation, nextExpectation } from '../src/signing/check.ts'
import { createRunKeys } from '../src/signing/key-ring.ts'
import type { RecordPages } from '../src/store/event-store.ts'
import { openSqliteReader } from '../src/store/sqlite/sqlite-reader.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import { CALLER, openLocalLedger, postEnvelopes, startRun, storeFile } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { iterateRaw } from './raw-sqlite.ts'
import { type Row, ratioRow } from './report.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

/** Above the size from which `verify` uses threads, whose start is included in its time. */
const RUNS = 150
/** Number of these that are read one after the other. */
const RUNS_READ = 40
const ENVELOPES_A_RUN = 1_000

interface Size {
  readonly runs: number
  readonly runsRead: number
  /** Per run: together with its start, one event per step. */
  readonly envelopes: number
}

const IDS = ['P7 fast', 'P7 full', 'P7 load', 'P11 fold', 'P11 rebuild', 'replay']

export const verifySpeed: BenchGroup = { name: 'verify and replay', ids: IDS, open }

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  const size = {
    runs: scaled(options, RUNS),
    runsRead: scaled(options, RUNS_READ),
    envelopes: scaled(options, ENVELOPES_A_RUN),
  }
  await fill(data, size)
  const samples = new Samples()
  return {
    round: async () => {
      samples.add('iterate', iterated(data))
      samples.add('fast', await verified(data, 'fast'))
      samples.add('full', await verified(data, 'full'))
      samples.add('load', await checked(data, size))
      samples.add('fold', await folded(data, size))
      samples.add('rebuild', await rebuilt(data, size))
      samples.add('replay', await replayed(data, size))
    },
    rows: () => SPECS.map((spec) => rowOf(samples, spec)),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

interface ReadSpec {
  readonly id: string
  readonly what: string
  /** Name of its samples. */
  readonly over: string
  readonly floor: number
  readonly target: number
  readonly note?: string
}

const SPECS: readonly ReadSpec[] = [
  { id: 'P7 fast', what: 'countersign verify --fast: macs, links and digests', over: 'fast', floor: 0.45, target: 0.6 },
  { id: 'P7 full', what: 'countersign verify', over: 'full', floor: 0.2, target: 0.3 },
  {
    id: 'P7 load',
    what: 'macs, links and digests in one thread, as loading a run checks them',
    over: 'load',
    floor: 0.45,
    target: 0.6,
    note: 'it checks what P7 fast checks, so it is held to the bounds of that',
  },
  { id: 'P11 fold', what: 'reading and folding every run anew', over: 'fold', floor: 0.3, target: 0.5 },
  { id: 'P11 rebuild', what: 'the run list made anew', over: 'rebuild', floor: 0.3, target: 0.5 },
  {
    id: 'replay',
    what: 'replay: full verification, fold and comparison of snapshots',
    over: 'replay',
    floor: 0.2,
    target: 0.3,
    note: 'it verifies in full, so it is held to the bounds of P7 full',
  },
]

function rowOf(samples: Samples, { over, ...spec }: ReadSpec): Row {
  return ratioRow(samples, {
    ...spec,
    what: `${spec.what} ÷ plain iterate`,
    unit: 'events/s',
    over: [over, 'iterate'],
  })
}

const runId = (run: number): string => `r${run}`

async function fill(data: string, { runs, envelopes }: Size): Promise<void> {
  await using local = await openLocalLedger(data)
  for (let run = 0; run < runs; run += 1) {
    await startRun(local.ledger, runId(run))
    await postEnvelopes(local.ledger, runId(run), envelopes)
  }
}

function iterated(data: string): number {
  const { events, seconds } = iterateRaw(storeFile(data))
  return events / seconds
}

/** The checks of the ledger for each record before it folds a run that is not in memory. */
async function checked(data: string, size: Size): Promise<number> {
  const { ring } = await keysOf(data)
  const keys = { ring, runKeys: createRunKeys(ring), depth: 'fast' } as const
  return perSecond(data, size, async (stream, pages) => {
    let expected = firstExpectation(stream)
    for await (const page of pages) {
      for (const record of page) {
        const result = checkRecord(record, expected, keys)
        if (!result.ok) throw new Error(`${stream} @ ${record.revision} does not verify`)
        expected = nextExpectation(result)
      }
    }
  })
}

async function folded(data: string, size: Size): Promise<number> {
  return perSecond(data, size, async (stream, pages) => {
    let state: RunState | undefined
    for await (const page of pages) {
      for (const record of page) {
        state = evolveRun(state, recordedEvent(JSON.parse(record.header) as Header, record.data))
      }
    }
    if (state?.step !== size.envelopes) throw new Error(`${stream} was not folded to its end`)
  })
}

async function replayed(data: string, size: Size): Promise<number> {
  const { ring } = await keysOf(data)
  const keys = { ring, runKeys: createRunKeys(ring) }
  return perSecond(data, size, async (stream, pages) => {
    let last: unknown
    for await (const line of replayRecords(pages, stream, keys)) last = line.verdict
    if (last !== 'VERIFIED') throw new Error(`${stream} is ${String(last)}`)
  })
}

/** Events per second over some runs, one after the other, with the reader that queries use. */
async function perSecond(
  data: string,
  { runsRead, envelopes }: Size,
  read: (stream: string, pages: RecordPages) => Promise<void>,
): Promise<number> {
  using reader = openSqliteReader({ path: storeFile(data) })
  const startedMs = performance.now()
  for (let run = 0; run < runsRead; run += 1) {
    const stream = runStream(CALLER.tenant, runId(run))
    await read(stream, reader.readStream(stream))
  }
  return (runsRead * (1 + envelopes) * 1000) / (performance.now() - startedMs)
}

/** Like `countersign verify`, without its report: with the usual number of threads, including their start. */
async function verified(data: string, depth: CheckDepth): Promise<number> {
  const { ring } = await keysOf(data)
  const startedMs = performance.now()
  const { result } = await verifyTarget(
    { kind: 'store', name: storeFile(data) },
    { depth, keys: { ring, runKeys: createRunKeys(ring) }, findKey: () => undefined, onFault: () => {} },
  )
  const seconds = (performance.now() - startedMs) / 1000
  if (result.verdict !== 'VERIFIED') throw new Error(`the store of the bench is ${result.verdict}`)
  return result.events / seconds
}

async function keysOf(data: string) {
  await using local = await openLocalLedger(data, { freshViews: true })
  return local.keys
}

/** Starts with an empty views file, as after `countersign rebuild`. */
async function rebuilt(data: string, { runs }: Size): Promise<number> {
  await using local = await openLocalLedger(data, { freshViews: true })
  const startedMs = performance.now()
  const { items } = await local.ledger.listRuns(CALLER, { limit: runs })
  const seconds = (performance.now() - startedMs) / 1000
  if (items.length !== runs) throw new Error(`the run list holds ${items.length} runs of ${runs}`)
  return Number(await local.store.end()) / seconds
}
