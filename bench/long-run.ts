/** @module Cost of a growing run: its 10,000th envelope compared with its 100th. */
import type { Ledger } from '../src/ledger/ledger.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import { openLocalLedger, postEnvelope, postEnvelopes, startRun } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { median, percentile, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const LATE = 10_000
const EARLY = 100
/** Number of envelopes that are timed before and after each of those two. */
const AROUND = 50
/** Early runs per round: each yields `2 * AROUND` samples, as many as the long run in the same time. */
const EARLY_RUNS = 4

export const longRun: BenchGroup = { name: 'long run', ids: ['long run'], open }

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  await fill(data, options)
  const samples = new Samples()
  const tails = { early: [] as number[], late: [] as number[] }
  let round = 0
  return {
    round: async () => {
      round += 1
      await comparePlaces(data, { round, samples, tails })
    },
    rows: () => [
      ratioRow(samples, {
        id: 'long run',
        what: 'the 10,000th envelope of a run ÷ its 100th, median time, one at a time',
        unit: 'µs',
        over: ['late', 'early'],
        target: 1.2,
        bound: 'at-most',
        note: `p99 ${percentile(tails.late, 0.99).toFixed(0)} µs against ${percentile(tails.early, 0.99).toFixed(0)} µs`,
      }),
    ],
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

async function fill(data: string, options: BenchOptions): Promise<void> {
  await using local = await openLocalLedger(data)
  await startRun(local.ledger, 'long')
  await postEnvelopes(local.ledger, 'long', scaled(options, LATE - AROUND))
}

interface Measured {
  readonly round: number
  readonly samples: Samples
  readonly tails: { readonly early: number[]; readonly late: number[] }
}

/** Alternating, so that both meet the same disk conditions; the long run grows by a few hundred envelopes per round. */
async function comparePlaces(data: string, { round, samples, tails }: Measured): Promise<void> {
  await using local = await openLocalLedger(data)
  await postEnvelopes(local.ledger, 'long', 1)
  const early: number[] = []
  const late: number[] = []
  for (let run = 0; run < EARLY_RUNS; run += 1) {
    const id = `early${round}.${run}`
    await startRun(local.ledger, id)
    await postEnvelopes(local.ledger, id, EARLY - AROUND)
    for (let n = 0; n < 2 * AROUND; n += 1) {
      late.push(await timedEnvelopeUs(local.ledger, 'long', n))
      early.push(await timedEnvelopeUs(local.ledger, id, n))
    }
  }
  tails.early.push(...early)
  tails.late.push(...late)
  samples.add('early', median(early))
  samples.add('late', median(late))
}

async function timedEnvelopeUs(ledger: Ledger, runId: string, n: number): Promise<number> {
  const startedMs = performance.now()
  await postEnvelope(ledger, runId, n)
  return (performance.now() - startedMs) * 1000
}
