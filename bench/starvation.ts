/** @module S1 to S5: what a writer of one tenant waits while another tenant reads all it may: its p50 and p99 over those of an idle server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Bench, BenchGroup } from './bench.ts'
import { envelopeOf } from './envelopes.ts'
import { startRun as startBody } from './http-requests.ts'
import { openLocalLedger, postEnvelopes, startRun } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { type Row, ratioRow } from './report.ts'
import { makeToken, type ServerChild, START_FLAGS, serveLedger } from './server-child.ts'
import { percentile, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

/** Of the tenant that reads: one long run and many short ones, 56,000 events in all. */
const LONG_RUN = 'long'
const LONG_ENVELOPES = 14_000
const SHORT_RUNS = 500
const SHORT_ENVELOPES = 28
/** Readers begin, the index is made, before the writer is timed. */
const SETTLE_MS = 3_000
const WARM_UP_MS = 1_000

interface Load {
  readonly id: string
  readonly what: string
  readonly path: string
  readonly readers: number
}

const LOADS: readonly Load[] = [
  { id: 'S1', what: '8 exports', path: '/v1/export', readers: 8 },
  { id: 'S2', what: '8 bundles', path: '/v1/bundle', readers: 8 },
  { id: 'S3', what: '16 replays', path: `/v1/runs/${LONG_RUN}/replay`, readers: 16 },
  { id: 'S4', what: '16 findings', path: `/v1/runs/${LONG_RUN}/findings?limit=500`, readers: 16 },
  { id: 'S5', what: '8 samples', path: '/v1/audit/sample?seed=s&limit=500', readers: 8 },
]

const QUANTILES = [
  { name: 'p50', share: 0.5, floor: 3 },
  { name: 'p99', share: 0.99, floor: 5 },
] as const

export const starvation: BenchGroup = {
  name: 'a writer beside the readers of another tenant',
  ids: LOADS.flatMap(({ id }) => QUANTILES.map(({ name }) => `${id} ${name}`)),
  open,
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  await seed(data)
  const server = await serveLedger(data, START_FLAGS)
  const reader = makeToken(data, 'runs:read audit:read audit:export')
  const writer = makeToken(data, 'runs:write', 'writers')
  await post(server, writer, '/v1/runs', startBody('s', 0))
  await times(server, writer, WARM_UP_MS)
  const samples = new Samples()
  return {
    round: async () => {
      // Before any reader came: what one of them leaves behind must not count as idle.
      add(samples, 'idle', await times(server, writer, options.seconds * 1000))
      for (const load of LOADS.filter(({ id }) => isAsked(options, id))) {
        add(samples, `${load.id} busy`, await beside(server, { reader, writer, load }, options.seconds * 1000))
      }
    },
    rows: () => LOADS.filter(({ id }) => isAsked(options, id)).flatMap((load) => rowsOf(samples, load)),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

const isAsked = ({ only }: BenchOptions, id: string): boolean =>
  only.length === 0 || only.some((asked) => asked.split(' ')[0] === id)

function rowsOf(samples: Samples, { id, what }: Load): readonly Row[] {
  return QUANTILES.map(({ name, floor }) =>
    ratioRow(samples, {
      id: `${id} ${name}`,
      what: `${name} of a single envelope beside ${what} of another tenant's 56,000 events ÷ idle`,
      unit: 'ms',
      over: [`${id} busy ${name}`, `idle ${name}`],
      bound: 'at-most',
      floor,
    }),
  )
}

function add(samples: Samples, state: string, ms: readonly number[]): void {
  for (const { name, share } of QUANTILES) samples.add(`${state} ${name}`, percentile(ms, share))
}

async function seed(data: string): Promise<void> {
  await using local = await openLocalLedger(data)
  await startRun(local.ledger, LONG_RUN)
  await postEnvelopes(local.ledger, LONG_RUN, LONG_ENVELOPES)
  for (let run = 0; run < SHORT_RUNS; run += 1) {
    await startRun(local.ledger, `short${run}`)
    await postEnvelopes(local.ledger, `short${run}`, SHORT_ENVELOPES)
  }
}

async function beside(
  server: ServerChild,
  { reader, writer, load }: { readonly reader: string; readonly writer: string; readonly load: Load },
  ms: number,
): Promise<readonly number[]> {
  const script = fileURLToPath(new URL('reader-child.js', import.meta.url))
  const args = [script, server.url + load.path, reader, String(load.readers)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  try {
    await once(child.stdout, 'data')
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const found = await times(server, writer, ms)
    if (child.exitCode !== null) throw new Error(`the readers of ${load.path} ended with ${child.exitCode}`)
    return found
  } finally {
    child.kill('SIGKILL')
    await ended
    // What was begun for them has an end, too.
    await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS))
  }
}

/** Milliseconds of one envelope after the other over one connection. */
async function times(server: ServerChild, token: string, ms: number): Promise<readonly number[]> {
  const found: number[] = []
  const endMs = performance.now() + ms
  for (let n = 0; performance.now() < endMs; n += 1) {
    const startedMs = performance.now()
    await post(server, token, `/v1/runs/s0/envelopes`, JSON.stringify(envelopeOf(n)))
    found.push(performance.now() - startedMs)
  }
  return found
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

function post({ url }: ServerChild, token: string, path: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const asked = request(url + path, { method: 'POST', agent, headers }, (answer) => {
      answer.resume().on('end', () => {
        if (answer.statusCode === 201) resolve()
        else reject(new Error(`${path}: ${answer.statusCode}`))
      })
    })
    asked.on('error', reject).end(body)
  })
}
