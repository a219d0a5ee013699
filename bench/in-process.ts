/** @module The ledger in this process with 64 envelopes in flight, over raw commits of the same rows, 64 envelopes a transaction. */
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { RARE_SNAPSHOTS } from './envelopes.ts'
import { type LocalLedger, openLocalLedger, postEnvelope, startRun, storeFile } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { type RawRow, sampleUnits, writeRaw } from './raw-sqlite.ts'
import { ratioRow } from './report.ts'
import { median, Samples } from './statistics.ts'
import { makeTempFolder, type TempFolder } from './temp-folder.ts'

export const IN_FLIGHT = 64
const KINDS = [
  { run: 's', name: 'snapshots', policy: {} },
  { run: 'n', name: 'no snapshots', policy: RARE_SNAPSHOTS },
] as const
const IDS = ['inproc', 'inproc no snapshots']

export const inProcess: BenchGroup = { name: 'in process', ids: IDS, open }

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const local = await openLocalLedger(folder.at('data'))
  const samples = new Samples()
  for (const { run, policy } of KINDS) {
    for (let i = 0; i < IN_FLIGHT; i += 1) await startRun(local.ledger, `${run}${i}`, policy)
    await load(local, run, directMs(options))
  }
  return {
    round: async () => {
      for (const { run, name } of KINDS) await measure({ local, folder, samples, options }, { run, name })
    },
    rows: () => [
      ratioRow(samples, {
        id: 'inproc',
        what: 'in process, 64 in flight ÷ raw, 64 envelopes a transaction',
        unit: 'envelopes/s',
        over: ['snapshots', 'raw snapshots'],
        floor: 0.4,
        target: 0.6,
        note: `${Math.round(median(samples.of('snapshots'))).toLocaleString('en-GB')} sealed events/s`,
      }),
      ratioRow(samples, {
        id: 'inproc no snapshots',
        what: 'the same without snapshots',
        unit: 'envelopes/s',
        over: ['no snapshots', 'raw no snapshots'],
      }),
    ],
    [Symbol.asyncDispose]: async () => {
      await local[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

interface Place {
  readonly local: LocalLedger
  readonly folder: TempFolder
  readonly samples: Samples
  readonly options: BenchOptions
}

async function measure(place: Place, { run, name }: { run: string; name: string }): Promise<void> {
  const { local, folder, samples, options } = place
  samples.add(name, await load(local, run, options.seconds * 1000))
  const units = sampleUnits(storeFile(folder.at('data')), `run-default.${run}0`)
  samples.add(`raw ${name}`, rawEnvelopesPerSecond(folder.at('raw.db'), units, directMs(options)))
}

function rawEnvelopesPerSecond(path: string, units: readonly (readonly RawRow[])[], milliseconds: number): number {
  const rate = writeRaw({ path, units, unitsPerTransaction: IN_FLIGHT, milliseconds })
  return rate.transactionsPerSecond * IN_FLIGHT
}

let posted = 0

/** Envelopes a second: each of 64 callers waits for its own before it posts the next. */
export async function load({ ledger }: LocalLedger, run: string, milliseconds: number): Promise<number> {
  const startedMs = performance.now()
  const before = posted
  const callers = Array.from({ length: IN_FLIGHT }, async (_, i) => {
    while (performance.now() - startedMs < milliseconds) {
      posted += 1
      await postEnvelope(ledger, `${run}${i}`, posted)
    }
  })
  await Promise.all(callers)
  return ((posted - before) * 1000) / (performance.now() - startedMs)
}
