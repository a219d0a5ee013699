/**
 * @module S1 and S2: the processor time that an envelope takes of each thread of the server, with 0, 1, 2 and 4 threads that decide and seal. Counted, not
 * timed: it says the same however many processors there are. The thread that takes most bounds what enough processors could do.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { Bench, BenchGroup } from './bench.ts'
import { batchRequests, singleRequests } from './http-requests.ts'
import { appendedEvents, RUNS, startRuns } from './http-stage.ts'
import { type BenchOptions, isWanted } from './options.ts'
import { type Row, ratioRow } from './report.ts'
import { makeToken, type ServerChild, START_FLAGS, serveLedger } from './server-child.ts'
import { median, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'
import { hasWrk, type LoadRequest, runWrk } from './wrk.ts'

const THREADS = [0, 1, 2, 4] as const
const LOADS = [
  { id: 'S1', what: 'posts of 64', requests: batchRequests(RUNS), connections: 8 },
  { id: 'S2', what: 'single envelopes', requests: singleRequests('s', RUNS), connections: 64 },
] as const
type LoadOf = (typeof LOADS)[number]
const WARM_UP_SECONDS = 2
/** What a thread that seals calls itself. */
const SEALER = 'sealer'

export const sealWork: BenchGroup = {
  name: 'work by thread',
  ids: LOADS.flatMap((load) => THREADS.map((n) => idOf(load, n))),
  open,
}

function idOf({ id }: Pick<LoadOf, 'id'>, threads: number): string {
  return `${id} ${threads}`
}

interface Server {
  readonly threads: number
  readonly child: ServerChild
  readonly token: string
}

async function open(options: BenchOptions): Promise<Bench | { readonly skipped: string }> {
  if (!hasWrk()) return { skipped: 'wrk is not installed (Debian: apt-get install wrk)' }
  if (process.platform !== 'linux') return { skipped: 'only Linux says what each thread took' }
  const folder = makeTempFolder(options.folder)
  const samples = new Samples()
  const servers: Server[] = []
  const close = async (): Promise<void> => {
    for (const { child } of servers.splice(0)) await child[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  }
  const script = folder.at('load.lua')
  try {
    for (const threads of THREADS) {
      const data = folder.at(`data${threads}`)
      const flags = ['--seal-threads', String(threads), '--read-threads', '0', '--scrub-days', '0']
      const child = await serveLedger(data, START_FLAGS, flags)
      const server = { threads, child, token: makeToken(data, 'runs:write runs:read') }
      servers.push(server)
      await startRuns({ url: child.url, token: server.token }, ['s'])
      for (const load of LOADS) await loaded(server, { load, script, seconds: WARM_UP_SECONDS })
    }
  } catch (error) {
    await close()
    throw error
  }
  return {
    round: async () => {
      for (const load of LOADS) {
        for (const server of servers) {
          const { seconds } = options
          const work = await countedWork(server.child, () => loaded(server, { load, script, seconds }))
          for (const [name, microseconds] of Object.entries(work))
            samples.add(`${idOf(load, server.threads)} ${name}`, microseconds)
        }
      }
    },
    rows: () =>
      LOADS.flatMap((load) => THREADS.map((threads) => rowOf(samples, load, threads))).filter(({ id }) =>
        isWanted(options, [id]),
      ),
    [Symbol.asyncDispose]: close,
  }
}

async function loaded(
  { child, token }: Server,
  { load, script, seconds }: { readonly load: LoadOf; readonly script: string; readonly seconds: number },
): Promise<void> {
  const requests: readonly LoadRequest[] = load.requests
  await runWrk({ url: child.url, token, requests, connections: load.connections, seconds, script })
}

interface Work {
  readonly main: number
  /** The busiest of the others: the one that writes the store. */
  readonly writer: number
  readonly sealing: number
  readonly busiest: number
  readonly rest: number
}

/** Microseconds an event, of each. */
async function countedWork({ url, pid }: ServerChild, work: () => Promise<void>): Promise<Work> {
  const [eventsBefore, before] = [await appendedEvents({ url }), threadsOf(pid)]
  await work()
  const [after, eventsAfter] = [threadsOf(pid), await appendedEvents({ url })]
  const took = [...after].map(([id, { name, ns }]) => ({ id, name, us: (ns - (before.get(id)?.ns ?? 0)) / 1_000 }))
  const each = (us: number): number => us / (eventsAfter - eventsBefore)
  const sum = (of: readonly { readonly us: number }[]): number => of.reduce((total, { us }) => total + us, 0)
  const main = took.filter(({ id }) => id === pid)
  const sealers = took.filter(({ name }) => name === SEALER)
  const others = took.filter(({ id, name }) => id !== pid && name !== SEALER).sort((a, b) => b.us - a.us)
  const writer = others.slice(0, 1)
  return {
    main: each(sum(main)),
    writer: each(sum(writer)),
    sealing: each(sum(sealers)),
    busiest: each(Math.max(...[...main, ...sealers, ...writer].map(({ us }) => us))),
    rest: each(sum(others.slice(1))),
  }
}

/** Nanoseconds on a processor, by thread. */
function threadsOf(pid: number): ReadonlyMap<number, { readonly name: string; readonly ns: number }> {
  const folder = `/proc/${pid}/task`
  return new Map(
    readdirSync(folder).map((id) => {
      const name = readFileSync(`${folder}/${id}/comm`, 'utf8').trim()
      const [ns = ''] = readFileSync(`${folder}/${id}/schedstat`, 'utf8').split(' ')
      return [Number(id), { name, ns: Number(ns) }]
    }),
  )
}

function rowOf(samples: Samples, load: LoadOf, threads: number): Row {
  const id = idOf(load, threads)
  const of = (name: keyof Work): number => median(samples.of(`${id} ${name}`))
  const each = (name: keyof Work): string => of(name).toFixed(0)
  const most = Math.round(1_000_000 / of('busiest')).toLocaleString('en-GB')
  return ratioRow(samples, {
    id,
    what: `${load.what}, ${threads} threads that seal: the busiest thread ÷ the busiest without them`,
    unit: 'µs an event',
    over: [`${id} busiest`, `${idOf(load, 0)} busiest`],
    bound: 'at-most',
    note: `main ${each('main')}, writer ${each('writer')}, sealing in all ${each('sealing')}, engine ${each('rest')}: at most ${most} events/s`,
  })
}
