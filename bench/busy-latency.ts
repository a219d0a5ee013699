/** @module P9: the latency of appends from 64 clients while the server exports and signs checkpoints, and a verification reads the same store. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Bench, BenchGroup } from './bench.ts'
import { singleRequests, startRun } from './http-requests.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { CLI, makeToken, type ServerChild, START_FLAGS, serveLedger } from './server-child.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder, type TempFolder } from './temp-folder.ts'
import { hasWrk, type LoadResult, runWrk } from './wrk.ts'

const RUNS = 64
const CONNECTIONS = 64
const WARM_UP_SECONDS = 3
const SCOPES = 'runs:write audit:read audit:export'
/** Short, so that several checkpoints are signed in a round. */
const CHECKPOINTS = ['--checkpoint-seconds', '1']

export const busyLatency: BenchGroup = { name: 'appends beside other work', ids: ['P9', 'P9 alone'], open }

interface Place {
  readonly folder: TempFolder
  readonly data: string
  readonly server: ServerChild
  readonly token: string
}

async function open(options: BenchOptions): Promise<Bench | { readonly skipped: string }> {
  if (!hasWrk()) return { skipped: 'wrk is not installed (Debian: apt-get install wrk)' }
  const folder = makeTempFolder(options.folder)
  const place = await openPlace(folder, 'data', CHECKPOINTS)
  const alone = await openPlace(folder, 'alone', [])
  const samples = new Samples()
  return {
    round: async () => {
      add(samples, 'alone', await load(alone, options.seconds))
      add(samples, 'busy', await besides(place, () => load(place, options.seconds)))
    },
    rows: () => ROWS.map((row) => ratioRow(samples, { ...row, unit: 'us', bound: 'at-most' })),
    [Symbol.asyncDispose]: async () => {
      await place.server[Symbol.asyncDispose]()
      await alone.server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

const ROWS = [
  {
    id: 'P9',
    what: 'p99 ÷ p50 at 64 clients while an export, a verify and checkpoints run',
    over: ['busy p99', 'busy p50'],
    floor: 5,
    target: 3,
  },
  {
    id: 'P9 alone',
    what: 'p99 beside endless exports, verifies and a checkpoint each second ÷ p99 on a server with none of them',
    over: ['busy p99', 'alone p99'],
    floor: 4,
    target: 2,
  },
] as const

async function openPlace(folder: TempFolder, name: string, settings: readonly string[]): Promise<Place> {
  const data = folder.at(name)
  const server = await serveLedger(data, START_FLAGS, settings)
  const place: Place = { folder, data, server, token: makeToken(data, SCOPES) }
  for (let run = 0; run < RUNS; run += 1) await post(place, '/v1/runs', startRun(run))
  await load(place, WARM_UP_SECONDS)
  return place
}

function add(samples: Samples, state: string, { p50Us, p99Us }: LoadResult): void {
  samples.add(`${state} p50`, p50Us)
  samples.add(`${state} p99`, p99Us)
}

function load({ folder, server, token }: Place, seconds: number): Promise<LoadResult> {
  const requests = singleRequests(RUNS)
  return runWrk({ url: server.url, token, requests, connections: CONNECTIONS, seconds, script: folder.at('load.lua') })
}

/** Exports and verifications of the whole ledger, repeated for as long as the work takes. */
async function besides<T>(place: Place, work: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const exports = repeat(over.signal, () => exported(place))
  const verifies = repeat(over.signal, () => verified(place, over.signal))
  try {
    return await work()
  } finally {
    over.abort()
    await Promise.all([exports, verifies])
  }
}

async function repeat(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) await work()
}

async function exported({ server, token }: Place): Promise<void> {
  const answer = await fetch(`${server.url}/v1/export`, { headers: { authorization: `Bearer ${token}` } })
  if (!answer.ok) throw new Error(`the export was refused: ${answer.status}`)
  let bytes = 0
  for await (const chunk of answer.body ?? []) bytes += chunk.length
  if (bytes === 0) throw new Error('the export was empty')
}

/** Killed when the measurement is over; until then its exit code is checked. */
async function verified({ data }: Place, signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [CLI, 'verify', '--data', data], { stdio: 'ignore' })
  const stop = (): void => void child.kill('SIGKILL')
  signal.addEventListener('abort', stop)
  const [code] = (await once(child, 'exit')) as [number | null]
  signal.removeEventListener('abort', stop)
  if (!signal.aborted && code !== 0) throw new Error(`verify ended with ${code}`)
}

async function post({ server, token }: Place, path: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(server.url + path, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}
