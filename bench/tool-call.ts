/** @module What a tool call costs beside the function that it wraps: claimed and settled durably, in process and over HTTP, one after the other. */
import { type Countersign, connect, open as openRuntime } from '../src/agent/index.ts'
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { storeFile } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { sampleUnits, writeRaw } from './raw-sqlite.ts'
import { type RatioSpec, ratioRow } from './report.ts'
import { makeToken, START_FLAGS, serveLedger } from './server-child.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder, type TempFolder } from './temp-folder.ts'

const HOMES = ['in process', 'over HTTP'] as const
const DENOMINATORS = ['raw insert', 'bare function'] as const
const IDS = HOMES.flatMap((home) => DENOMINATORS.map((over) => idOf(home, over)))
const SCOPES = 'runs:write runs:read'

export const toolCall: BenchGroup = { name: 'tool calls', ids: IDS, open }

function idOf(home: string, over: string): string {
  return ['tool', home === 'over HTTP' ? 'http' : 'in process', ...(over === 'bare function' ? ['bare'] : [])].join(' ')
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const local = await openRuntime({ path: folder.at('local') })
  const data = folder.at('served')
  const server = await serveLedger(data, START_FLAGS)
  const remote = connect({ url: server.url, token: makeToken(data, SCOPES) })
  const stage: Stage = {
    folder,
    samples: new Samples(),
    homes: { 'in process': local, 'over HTTP': remote },
    rounds: 0,
  }
  return {
    round: () => measure(stage, options),
    rows: () => HOMES.flatMap((home) => DENOMINATORS.map((over) => ratioRow(stage.samples, specOf(home, over)))),
    [Symbol.asyncDispose]: async () => {
      await local.close()
      await remote.close()
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function specOf(home: string, over: string): RatioSpec {
  const what = over === 'raw insert' ? 'a durable insert of one of its two events' : 'the function alone'
  return {
    id: idOf(home, over),
    what: `a tool call ${home} ÷ ${what}`,
    unit: 'us',
    over: [home, over],
    bound: 'at-most',
  }
}

interface Stage {
  readonly folder: TempFolder
  readonly samples: Samples
  readonly homes: Readonly<Record<(typeof HOMES)[number], Countersign>>
  rounds: number
}

async function measure(stage: Stage, options: BenchOptions): Promise<void> {
  const { folder, samples, homes } = stage
  stage.rounds += 1
  for (const home of HOMES) {
    samples.add(
      home,
      await callUs(homes[home], { name: `double-${stage.rounds}`, milliseconds: options.seconds * 1000 }),
    )
  }
  const stream = `run-default.bench-double-${stage.rounds}`
  const units = sampleUnits(storeFile(folder.at('local')), stream, ['ToolCallClaimed', 'ToolCallSucceeded'])
  const rows = units.flat().map((row) => [row])
  const raw = writeRaw({
    path: folder.at('raw.db'),
    units: rows,
    unitsPerTransaction: 1,
    milliseconds: directMs(options),
  })
  samples.add('raw insert', 1e6 / raw.transactionsPerSecond)
  samples.add('bare function', await bareUs(directMs(options)))
}

async function double(n: number): Promise<number> {
  return 2 * n
}

/** Microseconds of a call: claim, function, settle, each awaited before the next call is made. */
async function callUs(
  cs: Countersign,
  { name, milliseconds }: { readonly name: string; readonly milliseconds: number },
): Promise<number> {
  const tool = cs.tool(double, { name, compensate: 'not-needed' })
  return cs.run({ id: `bench-${name}`, name: 'bench' }, () => meanUs(tool, milliseconds))
}

function bareUs(milliseconds: number): Promise<number> {
  return meanUs(double, milliseconds)
}

async function meanUs(fn: (n: number) => Promise<number>, milliseconds: number): Promise<number> {
  const startedMs = performance.now()
  let calls = 0
  while (performance.now() - startedMs < milliseconds) {
    await fn(calls)
    calls += 1
  }
  return ((performance.now() - startedMs) * 1000) / calls
}
