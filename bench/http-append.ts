/** @module P1 to P5: appends over HTTP, over raw commits, over an echo, over the disk, over the same without tokens. */
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { syncDisk } from './disk-sync.ts'
import { BATCH, batchRequests, singleRequests } from './http-requests.ts'
import { httpRows } from './http-rows.ts'
import { RUNS, type RunKind, type Stage, setStage, type Target } from './http-stage.ts'
import { type BenchOptions, isWanted } from './options.ts'
import { type RawRow, writeRaw } from './raw-sqlite.ts'
import { percentile, Samples } from './statistics.ts'
import { hasWrk, type LoadRequest, type LoadResult, runWrk } from './wrk.ts'

const IDS = [
  ...['P1', 'P2', 'P2 no snapshots', 'P3', 'P3 no snapshots', 'P4 p50', 'P4 p99'],
  ...['P4 p50 no snapshots', 'P4 p99 no snapshots', 'P5', 'memory'],
]
const MANY = 64
/** Clients that post batches. */
const FEW = 8
const WARM_UP_SECONDS = 1

export const httpAppend: BenchGroup = { name: 'appends over HTTP', ids: IDS, open }

async function open(options: BenchOptions): Promise<Bench | { readonly skipped: string }> {
  if (!hasWrk()) return { skipped: 'wrk is not installed (Debian: apt-get install wrk)' }
  const stage = await setStage(options.folder)
  const samples = new Samples()
  const steps = STEPS.filter(({ ids }) => isWanted(options, ids))
  try {
    await warmUp(stage)
  } catch (error) {
    await stage[Symbol.asyncDispose]()
    throw error
  }
  return {
    round: async () => {
      for (const { run } of steps) await run({ stage, samples, options })
      samples.add('resident', stage.residentMiB())
      samples.add('resident at rest', stage.residentMiBAtRest)
    },
    rows: () => httpRows(samples).filter(({ id }) => isWanted(options, [id])),
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  }
}

interface Place {
  readonly stage: Stage
  readonly samples: Samples
  readonly options: BenchOptions
}

interface Step {
  /** Rows that need it. */
  readonly ids: readonly string[]
  readonly run: (place: Place) => Promise<void>
}

const single = { s: singleRequests('s', RUNS), n: singleRequests('n', RUNS) }
const batches = batchRequests(RUNS)

/** In this order: what is compared stands close together. */
const STEPS: readonly Step[] = [
  { ids: ['P1'], run: batchLoad },
  { ids: ['P1'], run: (place) => rawRate(place, { name: 'raw batch', kind: 's', unitsPerTransaction: BATCH }) },
  { ids: ['P2', 'P3', 'P5'], run: (place) => singleLoad(place, 'single', 's') },
  { ids: ['P5'], run: openLoad },
  { ids: ['P3', 'P3 no snapshots'], run: echoLoad },
  { ids: ['P2', 'P4 p50'], run: (place) => rawRate(place, { name: 'raw one', kind: 's', unitsPerTransaction: 1 }) },
  { ids: ['P4 p50', 'P4 p99'], run: (place) => oneClient(place, 'one', 's') },
  { ids: ['P4 p99'], run: (place) => diskSync(place, 'sync', 's') },
  { ids: ['P2 no snapshots', 'P3 no snapshots'], run: (place) => singleLoad(place, 'single bare', 'n') },
  {
    ids: ['P2 no snapshots', 'P4 p50 no snapshots'],
    run: (place) => rawRate(place, { name: 'raw one bare', kind: 'n', unitsPerTransaction: 1 }),
  },
  { ids: ['P4 p50 no snapshots', 'P4 p99 no snapshots'], run: (place) => oneClient(place, 'one bare', 'n') },
  { ids: ['P4 p99 no snapshots'], run: (place) => diskSync(place, 'sync bare', 'n') },
]

async function warmUp(stage: Stage): Promise<void> {
  const load = (target: Target, requests: readonly LoadRequest[], connections: number) =>
    loadOf(stage, { target, requests, connections, seconds: WARM_UP_SECONDS })
  await load(stage.ledger, single.s, MANY)
  await load(stage.ledger, single.n, MANY)
  await load(stage.ledger, batches, FEW)
  await load(stage.open, single.s, MANY)
  await load(stage.echo, single.s, MANY)
}

interface Ask {
  readonly target: Target
  readonly requests: readonly LoadRequest[]
  readonly connections: number
  readonly seconds: number
}

function loadOf(stage: Stage, { target, ...rest }: Ask): Promise<LoadResult> {
  return runWrk({ ...target, ...rest, script: stage.folder.at('load.lua') })
}

/** What the server says it has made durable must be what was asked of it, but for requests cut at the end. */
async function countedLoad(stage: Stage, ask: Ask, eventsARequest: number): Promise<LoadResult> {
  const before = await stage.appendedEvents(ask.target)
  const result = await loadOf(stage, ask)
  const events = (await stage.appendedEvents(ask.target)) - before
  const least = result.requests * eventsARequest
  const most = (result.requests + ask.connections) * eventsARequest
  if (events < least || events > most + ask.connections + RUNS) {
    throw new Error(`${result.requests} requests made ${events} events durable, ${least} to ${most} were due`)
  }
  return result
}

async function batchLoad({ stage, samples, options }: Place): Promise<void> {
  const ask = { target: stage.ledger, requests: batches, connections: FEW, seconds: options.seconds }
  const { requests, seconds } = await countedLoad(stage, ask, BATCH)
  samples.add('batch', (requests * BATCH) / seconds)
}

async function singleLoad({ stage, samples, options }: Place, name: string, kind: RunKind): Promise<void> {
  const ask = { target: stage.ledger, requests: single[kind], connections: MANY, seconds: options.seconds }
  const { requests, seconds } = await countedLoad(stage, ask, 1)
  samples.add(name, requests / seconds)
}

async function openLoad({ stage, samples, options }: Place): Promise<void> {
  const ask = { target: stage.open, requests: single.s, connections: MANY, seconds: options.seconds }
  const { requests, seconds } = await countedLoad(stage, ask, 2)
  samples.add('open', requests / seconds)
}

async function echoLoad({ stage, samples, options }: Place): Promise<void> {
  const ask = { target: stage.echo, requests: single.s, connections: MANY, seconds: options.seconds }
  const { requests, seconds } = await loadOf(stage, ask)
  samples.add('echo', requests / seconds)
}

async function oneClient({ stage, samples, options }: Place, name: string, kind: RunKind): Promise<void> {
  const ask = { target: stage.ledger, requests: single[kind], connections: 1, seconds: options.seconds }
  const { p50Us, p99Us } = await countedLoad(stage, ask, kind === 's' ? 2 : 1)
  samples.add(`${name} p50`, p50Us)
  samples.add(`${name} p99`, p99Us)
}

async function rawRate(
  { stage, samples, options }: Place,
  { name, kind, unitsPerTransaction }: { name: string; kind: RunKind; unitsPerTransaction: number },
): Promise<void> {
  const units = stage.units(kind)
  const rate = writeRaw({
    path: stage.folder.at('raw.db'),
    units,
    unitsPerTransaction,
    milliseconds: directMs(options),
  })
  samples.add(name, rate.transactionsPerSecond * unitsPerTransaction)
  samples.add(`${name} p50`, percentile(rate.transactionUs, 0.5))
}

async function diskSync({ stage, samples, options }: Place, name: string, kind: RunKind): Promise<void> {
  const took = syncDisk(stage.folder.at('sync'), bytesOf(stage.units(kind)[0] ?? []), directMs(options))
  samples.add(`${name} p99`, percentile(took, 0.99))
}

function bytesOf(unit: readonly RawRow[]): number {
  return unit.reduce((sum, { header, salt, data }) => sum + header.length + salt.length + data.length, 0)
}
