/** @module The ledger in this process with 64 concurrent envelopes, compared with raw commits of the same rows, 64 envelopes per transaction. */
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { type LocalLedger, openLocalLedger, postEnvelope, startRun, storeFile } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { sampleEnvelopes, writeRaw } from './raw-sqlite.ts'
import { ratioRow } from './report.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

export const IN_FLIGHT = 64

export const inProcess: BenchGroup = { name: 'in process', ids: ['inproc'], open }

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const local = await openLocalLedger(folder.at('data'))
  const samples = new Samples()
  for (let i = 0; i < IN_FLIGHT; i += 1) await startRun(local.ledger, `s${i}`)
  await load(local, 's', directMs(options))
  return {
    round: async () => {
      samples.add('ledger', await load(local, 's', options.seconds * 1000))
      const rows = sampleEnvelopes(storeFile(folder.at('data')), 'run-default.s0')
      const rate = writeRaw({
        ...{ path: folder.at('raw.db'), rows, rowsPerTransaction: IN_FLIGHT },
        milliseconds: directMs(options),
      })
      samples.add('raw', rate.transactionsPerSecond * IN_FLIGHT)
    },
    rows: () => [
      ratioRow(samples, {
        id: 'inproc',
        what: 'in process, 64 in flight ÷ raw, 64 envelopes a transaction',
        unit: 'envelopes/s',
        over: ['ledger', 'raw'],
        floor: 0.4,
        target: 0.6,
      }),
    ],
    [Symbol.asyncDispose]: async () => {
      await local[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

let posted = 0

/** Envelopes per second: each of 64 callers waits for its envelope before it posts the next. */
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
