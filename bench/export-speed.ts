/**
 * @module Speed of exports, as `countersign export` makes them, compared with plain reading of the same rows by one thread. Both in wall-clock time, from the
 * start to the last byte: the start and end of an export's threads are included.
 */
import { join } from 'node:path'
import { openExportThreads } from '../src/compose/compose-readers.ts'
import { type ExportRequest, prepareExport } from '../src/export/issue-export.ts'
import { silentLog } from '../src/ledger/effects.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { KEY_FILE, LOG_FILE } from '../src/settings/places.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import { CALLER, openLocalLedger, postEnvelopes, startRun, storeFile } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { iterateRaw } from './raw-sqlite.ts'
import { ratioRow } from './report.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

/** Far above the number of events from which an export uses threads. */
const RUNS = 150
const ENVELOPES_A_RUN = 1_000
const FORMATS = ['jsonl', 'ocsf'] as const
const MIB = 1024 * 1024
const BOUNDS = {
  jsonl: { floor: 0.5, target: 0.7 },
  ocsf: { floor: 0.25, target: 0.4 },
} as const

export const exportSpeed: BenchGroup = {
  name: 'exports',
  ids: FORMATS.map((format) => `export ${format}`),
  open,
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  const samples = new Samples()
  const mibPerSecond = new Map<string, number>()
  await fill(data, options)
  return {
    round: async () => {
      const { events, seconds } = iterateRaw(storeFile(data))
      samples.add('iterate', events / seconds)
      await using local = await openLocalLedger(data, { logs: { path: join(data, LOG_FILE), maxDelayMs: 0 } })
      await local.ledger.logs?.publish()
      for (const format of FORMATS) {
        const made = await measured(exported(local.ledger, data, format))
        samples.add(format, events / made.seconds)
        mibPerSecond.set(format, made.bytes / MIB / made.seconds)
      }
    },
    rows: () =>
      FORMATS.map((format) =>
        ratioRow(samples, {
          id: `export ${format}`,
          what: `a tenant's events as ${format} ÷ plain iterate`,
          unit: 'events/s',
          over: [format, 'iterate'],
          ...BOUNDS[format],
          note: `${(mibPerSecond.get(format) ?? 0).toFixed(1)} MiB/s`,
        }),
      ),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

async function fill(data: string, options: BenchOptions): Promise<void> {
  await using local = await openLocalLedger(data)
  for (let run = 0; run < scaled(options, RUNS); run += 1) {
    await startRun(local.ledger, `r${run}`)
    await postEnvelopes(local.ledger, `r${run}`, scaled(options, ENVELOPES_A_RUN))
  }
}

async function* exported(
  ledger: Ledger,
  data: string,
  format: ExportRequest['format'],
): AsyncGenerator<Uint8Array, void> {
  const places = {
    data,
    store: { kind: 'sqlite', path: storeFile(data) },
    keys: { kind: 'file', path: join(data, KEY_FILE) },
  } as const
  await using threads = openExportThreads(places, { log: silentLog, ledger })
  const prepared = await prepareExport(ledger, CALLER, { format }, threads?.bodies)
  if (!prepared.ok) throw new Error(prepared.detail)
  await prepared.value.start()
  yield* prepared.value.chunks()
}

async function measured(chunks: AsyncIterable<Uint8Array>): Promise<{ bytes: number; seconds: number }> {
  const startedMs = performance.now()
  let bytes = 0
  for await (const chunk of chunks) bytes += chunk.length
  return { bytes, seconds: (performance.now() - startedMs) / 1000 }
}
