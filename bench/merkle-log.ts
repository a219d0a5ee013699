/** @module P8: the cost of the Merkle log: its hashing, and its indexing during appends. */
import { hash } from 'node:crypto'
import { CompactTree } from '../src/merkle/compact-tree.ts'
import { leafHash } from '../src/merkle/hashes.ts'
import { type Bench, type BenchGroup, directMs, scaled } from './bench.ts'
import { IN_FLIGHT, load } from './in-process.ts'
import { openLocalLedger, postEnvelopes, startRun, storeFile } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { sampleEnvelopes } from './raw-sqlite.ts'
import { type RatioSpec, ratioRow } from './report.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const ENVELOPES = 1_000
/** Hashes per leaf: the leaf's own, and one node. */
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
    id: 'P8 indexing',
    what: 'envelopes, 64 in flight, with a log kept up beside ÷ without',
    unit: 'envelopes/s',
    over: ['with log', 'without log'],
    floor: 0.85,
    target: 0.92,
  },
]

export const merkleLog: BenchGroup = { name: 'the Merkle log', ids: SPECS.map(({ id }) => id), open }

/** Short enough that checkpoints are signed during the measurement. */
const UPKEEP_DELAY_MS = 1_000

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  await fill(data, options)
  const headers = sampleEnvelopes(storeFile(data), 'run-default.r0').map(({ header }) => header)
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
      for (const withLogs of [false, true])
        await indexing(folder.at(`indexing-${round}-${withLogs}`), withLogs, { samples, options })
    },
    rows: () => SPECS.map((spec) => ratioRow(samples, spec)),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

async function fill(data: string, options: BenchOptions): Promise<void> {
  await using local = await openLocalLedger(data)
  await startRun(local.ledger, 'r0')
  await postEnvelopes(local.ledger, 'r0', scaled(options, ENVELOPES))
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

async function indexing(
  data: string,
  withLogs: boolean,
  { samples, options }: { readonly samples: Samples; readonly options: BenchOptions },
): Promise<void> {
  const logs = { path: `${data}.log.db`, maxDelayMs: UPKEEP_DELAY_MS }
  await using local = await openLocalLedger(data, withLogs ? { logs } : {})
  for (let i = 0; i < IN_FLIGHT; i += 1) await startRun(local.ledger, `s${i}`)
  samples.add(withLogs ? 'with log' : 'without log', await load(local, 's', options.seconds * 1000))
}
