/**
 * @module Durable steps: calls of a tool with a result of 1 kB inside of runs of 20, in process, over plain HTTP and by the SDK over HTTP, with 1, 16 and 64
 * clients. A step with effects is two commits (its claim and its result), one without effects is one. Each is compared with raw commits of the same rows, one
 * a transaction, in the same round.
 */
import { Agent, request } from 'undici'
import { connect, open as openAgent } from '../src/agent/index.ts'
import type { Countersign } from '../src/agent/runtime/runtime.ts'
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { storeFile } from './local-ledger.ts'
import { type BenchOptions, matches } from './options.ts'
import { sampleRows, writeRaw } from './raw-sqlite.ts'
import { ratioRow } from './report.ts'
import { makeToken, START_FLAGS, serveLedger } from './server-child.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const STEPS = 20
const PAYLOAD = 'x'.repeat(900)
const CLIENTS = [1, 16, 64] as const
const CREATED = 300
/** A commit takes at most twice a raw one; the SDK costs at most a quarter more than the requests by themselves. */
const TWICE_RAW = 0.5
const SDK_COST = 1.25

/** Runs one run of 20 steps. */
type RunOne = (id: string) => Promise<unknown>

interface Load {
  readonly name: string
  readonly commits: number
  readonly run: RunOne
  /** Of the raw rate. */
  readonly target: number
}

const NAMES = ['in process', 'in process pure', 'http', 'sdk http', 'sdk http pure'] as const
const ids = NAMES.flatMap((name) => CLIENTS.map((clients) => `steps ${name} ${clients}`))

export const steps: BenchGroup = { name: 'durable steps', ids, open }

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const [here, there] = [folder.at('here'), folder.at('there')]
  const embedded = await openAgent({ path: here })
  const server = await serveLedger(there, START_FLAGS)
  const token = makeToken(there, 'runs:write runs:read')
  const remote = connect({ url: server.url, token })
  const agent = new Agent({ connections: Math.max(...CLIENTS) })
  const loads: readonly Load[] = [
    { name: 'in process', commits: 2, run: runsOf(embedded, false), target: TWICE_RAW },
    { name: 'in process pure', commits: 1, run: runsOf(embedded, true), target: TWICE_RAW },
    { name: 'http', commits: 2, run: plainRuns(agent, { url: server.url, token }), target: TWICE_RAW },
    { name: 'sdk http', commits: 2, run: runsOf(remote, false), target: TWICE_RAW / SDK_COST },
    { name: 'sdk http pure', commits: 1, run: runsOf(remote, true), target: TWICE_RAW / SDK_COST },
  ]
  const wanted = loads.flatMap((load) =>
    CLIENTS.map((clients) => ({ ...load, clients, id: `steps ${load.name} ${clients}` })).filter(
      ({ id }) => options.only.length === 0 || options.only.some((only) => matches(id, only)),
    ),
  )
  const samples = new Samples()
  await loads[0]?.run('sample')
  const rows = sampleRows(storeFile(here), 'run-default.sample', 'ToolCallSucceeded')
  const raw = {
    path: folder.at('raw.db'),
    rows,
    rowsPerTransaction: 1,
    milliseconds: directMs(options) / CLIENTS.length,
  }
  for (const { run } of wanted) await perSecond(run, 1, directMs(options))
  return {
    round: async () => {
      for (const { id, clients, commits, run } of wanted) {
        samples.add(`raw ${id}`, writeRaw(raw).transactionsPerSecond / commits)
        samples.add(id, await perSecond(run, clients, options.seconds * 1_000))
      }
    },
    rows: () =>
      wanted.map(({ id, name, clients, commits, target }) =>
        ratioRow(samples, {
          id,
          what: `steps ${name.replace('pure', 'without effects')}, ${clients} clients ÷ raw, ${commits} commits a step`,
          unit: 'steps/s',
          over: [id, `raw ${id}`],
          target,
        }),
      ),
    [Symbol.asyncDispose]: async () => {
      await remote.close()
      await embedded.close()
      await agent.close()
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function runsOf(cs: Countersign, isPure: boolean): RunOne {
  const effects = isPure ? ({ effects: 'none' } as const) : ({ compensate: 'not-needed' } as const)
  const step = cs.tool(async (i: number) => ({ i, payload: PAYLOAD }), { name: isPure ? 'look' : 'step', ...effects })
  return (id) =>
    cs.run({ id, name: 'bench' }, async () => {
      for (let i = 0; i < STEPS; i += 1) await step(i)
    })
}

/** The same requests without the SDK. */
function plainRuns(dispatcher: Agent, { url, token }: { readonly url: string; readonly token: string }): RunOne {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = async (path: string, body: object): Promise<{ readonly callId?: string }> => {
    const options = { dispatcher, headers, method: 'POST', body: JSON.stringify(body) } as const
    const answer = await request(`${url}/v1/${path}`, options)
    const text = await answer.body.text()
    if (answer.statusCode >= CREATED) throw new Error(`${answer.statusCode} ${text}`)
    return JSON.parse(text)
  }
  return async (id) => {
    await post('runs', { id, name: 'bench' })
    for (let i = 0; i < STEPS; i += 1) {
      const { callId } = await post(`runs/${id}/calls`, { tool: `s${i}`, args: { i } })
      await post(`runs/${id}/calls/${callId}/settle`, { fence: 1, result: { i, payload: PAYLOAD } })
    }
    await post(`runs/${id}/complete`, {})
  }
}

let runs = 0

async function perSecond(run: RunOne, clients: number, milliseconds: number): Promise<number> {
  const startedMs = performance.now()
  let done = 0
  const client = async (): Promise<void> => {
    while (performance.now() - startedMs < milliseconds) {
      runs += 1
      await run(`bench-${runs}`)
      done += STEPS
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return (done * 1_000) / (performance.now() - startedMs)
}
