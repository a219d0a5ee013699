/** @module P8: what the Merkle log costs: its hashing, its upkeep beside appends, following the store, and a proof. */
import { hash } from 'node:crypto'
import type { LogAnswer } from '../src/ledger/log/tenant-logs.ts'
import { CompactTree } from '../src/merkle/compact-tree.ts'
import { leafHash } from '../src/merkle/hashes.ts'
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { IN_FLIGHT, load } from './in-process.ts'
import { CALLER, openLocalLedger, postEnvelopes, startRun, storeFile } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { iterateRaw, sampleUnits } from './raw-sqlite.ts'
import { type RatioSpec, ratioRow } from './report.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const RUNS = 10
const ENVELOPES_A_RUN = 1_000
const PROOFS = 500
/** Two hashes a leaf: its own, and one node. */
const HASHES_A_LEAF = 2

const SPECS: readonly RatioSpec[] = [
  {
    id: 'P8 hashes',
    what: 'hashes of a root made anew ÷ crypto.hash of the same headers',
    unit: 'hashes/s',
    over: ['tree', 'hash'],
    floor: 0.4,
    target: 0.55,
  },
  {
    id: 'P8 upkeep',
    what: 'envelopes, 64 in flight, with a log kept up beside ÷ without',
    unit: 'envelopes/s',
    over: ['with log', 'without log'],
    floor: 0.85,
    target: 0.92,
  },
  {
    id: 'P8 follow',
    what: 'events checked, put in the tree and signed ÷ plain iterate',
    unit: 'events/s',
    over: ['follow', 'iterate'],
  },
  {
    id: 'P8 proof',
    what: 'proof files by event id ÷ plain iterate of as many events',
    unit: 'proofs/s',
    over: ['proof', 'iterate'],
  },
]

export const merkleLog: BenchGroup = { name: 'the Merkle log', ids: SPECS.map(({ id }) => id), open }

/** Short enough that checkpoints fall into the measurement. */
const UPKEEP_DELAY_MS = 1_000

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  await fill(data)
  const headers = sampleUnits(storeFile(data), 'run-default.r0').flatMap((unit) => unit.map(({ header }) => header))
  const samples = new Samples()
  let round = 0
  return {
    round: async () => {
      round += 1
      samples.add(
        'tree',
        perSecond(() => HASHES_A_LEAF * treeOf(headers).size, directMs(options)),
      )
      samples.add(
        'hash',
        perSecond(() => hashed(headers), directMs(options)),
      )
      const { events, seconds } = iterateRaw(storeFile(data))
      samples.add('iterate', events / seconds)
      await follow(data, folder.at(`log-${round}.db`), samples)
      for (const withLogs of [false, true])
        await upkeep(folder.at(`upkeep-${round}-${withLogs}`), withLogs, { samples, options })
    },
    rows: () => SPECS.map((spec) => ratioRow(samples, spec)),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

async function fill(data: string): Promise<void> {
  await using local = await openLocalLedger(data)
  for (let run = 0; run < RUNS; run += 1) {
    await startRun(local.ledger, `r${run}`)
    await postEnvelopes(local.ledger, `r${run}`, ENVELOPES_A_RUN)
  }
}

function treeOf(headers: readonly string[]): CompactTree {
  const tree = new CompactTree()
  for (const header of headers) tree.append(leafHash(header))
  return tree
}

function hashed(headers: readonly string[]): number {
  for (const header of headers) hash('sha256', header, 'buffer')
  return headers.length
}

function perSecond(work: () => number, milliseconds: number): number {
  const startedMs = performance.now()
  let done = 0
  while (performance.now() - startedMs < milliseconds) done += work()
  return (done * 1000) / (performance.now() - startedMs)
}

/** From an empty log file to a signed checkpoint; then proofs against it. */
async function follow(data: string, path: string, samples: Samples): Promise<void> {
  await using local = await openLocalLedger(data, { freshViews: true, logs: { path, maxDelayMs: 0 } })
  const { logs } = local.ledger
  if (logs === undefined) throw new Error('the ledger keeps no logs')
  const startedMs = performance.now()
  await logs.publish()
  samples.add('follow', (Number(await local.store.end()) * 1000) / (performance.now() - startedMs))

  const { published } = logs.state(CALLER.tenant)
  const ids = Array.from({ length: PROOFS }, (_, i) => {
    const place = answered(logs.inclusion(CALLER.tenant, { index: Math.floor((i * published) / PROOFS) }))
    return place.eventId
  })
  const provedMs = performance.now()
  for (const id of ids) answered(logs.proofFile(CALLER.tenant, id))
  samples.add('proof', (PROOFS * 1000) / (performance.now() - provedMs))
}

function answered<T>(answer: LogAnswer<T>): T {
  if (answer.ok) return answer.value
  throw new Error(`the log refused: ${answer.code}`)
}

async function upkeep(
  data: string,
  withLogs: boolean,
  { samples, options }: { readonly samples: Samples; readonly options: BenchOptions },
): Promise<void> {
  const logs = { path: `${data}.log.db`, maxDelayMs: UPKEEP_DELAY_MS }
  await using local = await openLocalLedger(data, withLogs ? { logs } : {})
  for (let i = 0; i < IN_FLIGHT; i += 1) await startRun(local.ledger, `s${i}`)
  samples.add(withLogs ? 'with log' : 'without log', await load(local, 's', options.seconds * 1000))
}
