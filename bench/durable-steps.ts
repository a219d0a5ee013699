/**
 * @module dbos append, dbos: recording by runs on a ledger compared with DBOS steps of a workflow, both on one PostgreSQL server, 16 clients each. A step is
 * one row, its result. The equivalent in a run is a handoff with one completed action and its result, one event (`dbos append`). A call is more (`dbos`): two
 * events, a claim before the function runs, and its result after it. Each is durable before the next one begins. Runs and workflows have 25 of them, around a
 * function that does nothing, and are started and ended within the measured time. Each side is a separate process; they are measured one directly after the
 * other. The SDK is installed for the bench into a temporary folder.
 */
import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type PostgresServer, startPostgres } from '../test/support/postgres-server.ts'
import { newPostgresUrl } from '../test/support/postgres-store.ts'
import type { Bench, BenchGroup } from './bench.ts'
import type { Load, LoadKind } from './durable-steps-child.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder, type TempFolder } from './temp-folder.ts'

const SDK = '@dbos-inc/dbos-sdk@4'
const INSTALL_MS = 120_000
const CLIENTS = 16
const CHILD = fileURLToPath(new URL('./durable-steps-child.js', import.meta.url))

export const durableSteps: BenchGroup = { name: 'steps of DBOS', ids: ['dbos', 'dbos append'], open }

async function open(options: BenchOptions): Promise<Bench | { readonly skipped: string }> {
  if (options.quick) return { skipped: 'it installs a package' }
  const folder = makeTempFolder(options.folder)
  const why = await install(folder)
  if (why !== undefined) {
    folder[Symbol.dispose]()
    return { skipped: `npm has no ${SDK} here: ${why}` }
  }
  const server = await startPostgres()
  const sides = {
    ledger: await startSide('ledger', [await newPostgresUrl(server), folder.at('data')]),
    dbos: await startSide('dbos', [databaseOf(server), folder.path]),
  }
  const samples = new Samples()
  const loads = {
    calls: () => sides.ledger.rate('steps', options.seconds * 1_000),
    steps: () => sides.dbos.rate('steps', options.seconds * 1_000),
    handoffs: () => sides.ledger.rate('handoffs', options.seconds * 1_000),
  }
  const names = ['calls', 'steps', 'handoffs'] as const
  for (const name of names) await loads[name]()
  return {
    round: async () => {
      for (const name of names) samples.add(name, await loads[name]())
    },
    rows: () => [
      ratioRow(samples, {
        id: 'dbos append',
        what: `handoffs of one completed action and its result (one event) ÷ DBOS steps (result recorded), ${CLIENTS} clients, the same PostgreSQL server`,
        unit: 'a second',
        over: ['handoffs', 'steps'],
        floor: 3,
        note: 'one event beside one row: what is recorded once the function has run, as a step is; of what a call claims before it runs, dbos has the figure',
      }),
      ratioRow(samples, {
        id: 'dbos',
        what: `calls of runs (claim and result recorded) ÷ DBOS steps (result recorded), ${CLIENTS} clients, the same PostgreSQL server`,
        unit: 'a second',
        over: ['calls', 'steps'],
        target: 3,
        note: `${SDK} as it comes, but for a pool of connections as large as there are clients; both in process, 25 to a run or workflow; the server shares this machine`,
      }),
    ],
    [Symbol.asyncDispose]: () => close([sides.ledger.child, sides.dbos.child], server, folder),
  }
}

/** The reason why the package is not available; undefined if it was installed. */
async function install(folder: TempFolder): Promise<string | undefined> {
  writeFileSync(folder.at('package.json'), JSON.stringify({ private: true }))
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder.path, SDK]
  try {
    await promisify(execFile)('npm', args, { cwd: folder.path, timeout: INSTALL_MS })
    return undefined
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n')[0] ?? error.name) : String(error)
  }
}

function databaseOf({ url }: PostgresServer): string {
  const other = new URL(url)
  other.pathname = '/dbos'
  return other.href
}

interface Side {
  readonly child: ChildProcess
  /** Number of operations per second. */
  readonly rate: (kind: LoadKind, milliseconds: number) => Promise<number>
}

async function startSide(name: string, args: readonly string[]): Promise<Side> {
  const child = fork(CHILD, [name, String(CLIENTS), ...args], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  process.once('exit', () => child.kill('SIGKILL'))
  const answer = async (): Promise<unknown> => {
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the side ${name} ended with ${code}`)
    })
    const [message] = await Promise.race([once(child, 'message'), ended])
    return message
  }
  await answer()
  return {
    child,
    rate: async (kind, milliseconds) => {
      child.send({ kind, milliseconds } satisfies Load)
      return Number(await answer())
    },
  }
}

async function close(children: readonly ChildProcess[], server: PostgresServer, folder: TempFolder): Promise<void> {
  for (const child of children) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await server.kill()
  folder[Symbol.dispose]()
}
