/** @module P1 to P5: appends over HTTP, compared with raw commits, an echo route, the disk, and a server that does not check tokens. */
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { syncDisk } from './disk-sync.ts'
import { BATCH, batchRequests, singleRequests } from './http-requests.ts'
import { httpRows } from './http-rows.ts'
import { RUNS, type Stage, setStage, type Target } from './http-stage.ts'
import { type BenchOptions, isWanted } from './options.ts'
import { writeRaw } from './raw-sqlite.ts'
import { percentile, Samples } from './statistics.ts'
import { hasWrk, type LoadRequest, type LoadResult, runWrk } from './wrk.ts'

const IDS = ['P1', 'P2', 'P3', 'P4 p50', 'P4 p99', 'P5']
const MANY = 64
/** Number of clients that post batches. */
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
  /** Rows that need this step. */
  readonly ids: readonly string[]
  readonly run: (place: Place) => Promise<void>
}

const single = singleRequests(RUNS)
const batches = batchRequests(RUNS)

/** In this order: steps that are compared run close together. */
const STEPS: readonly Step[] = [
  { ids: ['P1'], run: batchLoad },
  { ids: ['P1'], run: (place) => rawRate(place, 'raw batch', BATCH) },
  { ids: ['P2', 'P3', 'P5'], run: singleLoad },
  { ids: ['P5'], run: openLoad },
  { ids: ['P3'], run: echoLoad },
  { ids: ['P2', 'P4 p50'], run: (place) => rawRate(place, 'raw one', 1) },
  { ids: ['P4 p50', 'P4 p99'], run: oneClient },
  { ids: ['P4 p99'], run: diskSync },
]

async function warmUp(stage: Stage): Promise<void> {
  const load = (target: Target, requests: readonly LoadRequest[], connections: number) =>
    loadOf(stage, { target, requests, connections, seconds: WARM_UP_SECONDS })
  await load(stage.ledger, single, MANY)
  await load(stage.ledger, batches, FEW)
  await load(stage.open, single, MANY)
  await load(stage.echo, single, MANY)
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

/** The number of events that the server reports as durable must match the requests, except for requests that were cut off at the end. */
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

async function singleLoad({ stage, samples, options }: Place): Promise<void> {
  const ask = { target: stage.ledger, requests: single, connections: MANY, seconds: options.seconds }
  const { requests, seconds } = await countedLoad(stage, ask, 1)
  samples.add('single', requests / seconds)
}

async function openLoad({ stage, samples, options }: Place): Promise<void> {
  const ask = { target: stage.open, requests: single, connections: MANY, seconds: options.seconds }
  const { requests, seconds } = await countedLoad(stage, ask, 1)
  samples.add('open', requests / seconds)
}

async function echoLoad({ stage, samples, options }: Place): Promise<void> {
  const ask = { target: stage.echo, requests: single, connections: MANY, seconds: options.seconds }
  const { requests, seconds } = await loadOf(stage, ask)
  samples.add('echo', requests / seconds)
}

async function oneClient({ stage, samples, options }: Place): Promise<void> {
  const ask = { target: stage.ledger, requests: single, connections: 1, seconds: options.seconds }
  const { p50Us, p99Us } = await countedLoad(stage, ask, 1)
  samples.add('one p50', p50Us)
  samples.add('one p99', p99Us)
}

async function rawRate({ stage, samples, options }: Place, name: string, rowsPerTransaction: number): Promise<void> {
  const path = stage.folder.at('raw.db')
  const rate = writeRaw({ path, rows: stage.rows(), rowsPerTransaction, milliseconds: directMs(options) })
  samples.add(name, rate.transactionsPerSecond * rowsPerTransaction)
  samples.add(`${name} p50`, percentile(rate.transactionUs, 0.5))
}

async function diskSync({ stage, samples, options }: Place): Promise<void> {
  const [row] = stage.rows()
  const bytes = row === undefined ? 0 : row.header.length + row.salt.length + row.data.length
  samples.add('sync p99', percentile(syncDisk(stage.folder.at('sync'), bytes, directMs(options)), 0.99))
}
