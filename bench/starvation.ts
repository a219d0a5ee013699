/**
 * @module S1 to S5: the latency of a writer of one tenant while another tenant reads as much as it may: its p50 and p99 compared with those of an idle server.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import { envelopeOf } from './envelopes.ts'
import { openLocalLedger, postEnvelopes, startRun } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { type Row, ratioRow } from './report.ts'
import { makeToken, type ServerChild, START_FLAGS, serveLedger } from './server-child.ts'
import { percentile, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

/** Data of the tenant that reads: one long run and many short ones, 56,000 events in all. */
const LONG_RUN = 'long'
const LONG_ENVELOPES = 14_000
const SHORT_RUNS = 500
const SHORT_ENVELOPES = 28
/** Time for the readers to start, and for the index to be built, before the writer is measured. */
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

/** Policies under which the writer's handoffs are judged; each writer has a separate run. */
const WRITERS = [
  { run: 's0', label: '', what: '', policy: {} },
  { run: 's1', label: ' relay', what: ', policy relay', policy: { base: 'relay' } },
] as const

type Writer = (typeof WRITERS)[number]

export const starvation: BenchGroup = {
  name: 'a writer beside the readers of another tenant',
  ids: LOADS.flatMap(({ id }) => WRITERS.flatMap(({ label }) => QUANTILES.map(({ name }) => `${id}${label} ${name}`))),
  open,
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  await seed(data, options)
  const server = await serveLedger(data, START_FLAGS)
  const reader = makeToken(data, 'runs:read audit:read audit:export')
  const writer = makeToken(data, 'runs:write', { tenant: 'writers' })
  for (const { run, policy } of WRITERS) {
    await post(server, writer, { path: '/v1/runs', body: JSON.stringify({ id: run, name: 'bench', policy }) })
  }
  const samples = new Samples()
  /** One writer after the other: apart from the readers, each has the server to itself. */
  const timeEach = async (state: string): Promise<void> => {
    for (const { run, label } of WRITERS) {
      await times(server, { token: writer, run }, scaled(options, WARM_UP_MS))
      add(samples, `${state}${label}`, await times(server, { token: writer, run }, options.seconds * 1000))
    }
  }
  return {
    round: async () => {
      // Before any reader has started: work that readers leave behind must not count as idle.
      await timeEach('idle')
      for (const load of LOADS.filter(({ id }) => isSelected(options, id))) {
        await beside(server, { reader, load, options }, () => timeEach(`${load.id} busy`))
      }
    },
    rows: () => LOADS.filter(({ id }) => isSelected(options, id)).flatMap((load) => rowsOf(samples, load)),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

const isSelected = ({ only }: BenchOptions, id: string): boolean =>
  only.length === 0 || only.some((selected) => selected.split(' ')[0] === id)

function rowsOf(samples: Samples, load: Load): readonly Row[] {
  return WRITERS.flatMap((writer) => rowsOfWriter(samples, load, writer))
}

function rowsOfWriter(samples: Samples, { id, what }: Load, writer: Writer): readonly Row[] {
  return QUANTILES.map(({ name, floor }) =>
    ratioRow(samples, {
      id: `${id}${writer.label} ${name}`,
      what: `${name} of a single envelope${writer.what} beside ${what} of another tenant's 56,000 events ÷ idle`,
      unit: 'ms',
      over: [`${id} busy${writer.label} ${name}`, `idle${writer.label} ${name}`],
      bound: 'at-most',
      floor,
    }),
  )
}

function add(samples: Samples, state: string, ms: readonly number[]): void {
  for (const { name, share } of QUANTILES) samples.add(`${state} ${name}`, percentile(ms, share))
}

async function seed(data: string, options: BenchOptions): Promise<void> {
  await using local = await openLocalLedger(data)
  await startRun(local.ledger, LONG_RUN)
  await postEnvelopes(local.ledger, LONG_RUN, scaled(options, LONG_ENVELOPES))
  for (let run = 0; run < scaled(options, SHORT_RUNS); run += 1) {
    await startRun(local.ledger, `short${run}`)
    await postEnvelopes(local.ledger, `short${run}`, SHORT_ENVELOPES)
  }
}

async function beside(
  server: ServerChild,
  { reader, load, options }: { readonly reader: string; readonly load: Load; readonly options: BenchOptions },
  measure: () => Promise<void>,
): Promise<void> {
  const script = fileURLToPath(new URL('reader-child.js', import.meta.url))
  const args = [script, server.url + load.path, reader, String(load.readers)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  try {
    await once(child.stdout, 'data')
    await new Promise((resolve) => setTimeout(resolve, scaled(options, SETTLE_MS)))
    await measure()
    if (child.exitCode !== null) throw new Error(`the readers of ${load.path} ended with ${child.exitCode}`)
  } finally {
    child.kill('SIGKILL')
    await ended
    // Waits for the end of the work that was started for the readers.
    await new Promise((resolve) => setTimeout(resolve, scaled(options, WARM_UP_MS)))
  }
}

/** Milliseconds of each envelope, one after the other over one connection. */
async function times(
  server: ServerChild,
  { token, run }: { readonly token: string; readonly run: string },
  ms: number,
): Promise<readonly number[]> {
  const found: number[] = []
  const endMs = performance.now() + ms
  for (let n = 0; performance.now() < endMs; n += 1) {
    const startedMs = performance.now()
    await post(server, token, { path: `/v1/runs/${run}/envelopes`, body: JSON.stringify(envelopeOf(n)) })
    found.push(performance.now() - startedMs)
  }
  return found
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

function post(
  { url }: ServerChild,
  token: string,
  { path, body }: { readonly path: string; readonly body: string },
): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const clientRequest = request(url + path, { method: 'POST', agent, headers }, (answer) => {
      answer.resume().on('end', () => {
        if (answer.statusCode === 201) resolve()
        else reject(new Error(`${path}: ${answer.statusCode}`))
      })
    })
    clientRequest.on('error', reject).end(body)
  })
}
