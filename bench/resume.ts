/** @module The delay of the first live call of a resume after a SIGKILL, in process and over HTTP, on a ledger that can tell that the owner is gone. */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Bench, BenchGroup } from './bench.ts'
import type { BenchOptions } from './options.ts'
import type { Row } from './report.ts'
import { makeToken, serveLedger } from './server-child.ts'
import { median, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const HOMES = ['in process', 'over HTTP'] as const
const CHILD = fileURLToPath(new URL('./resume-child.js', import.meta.url))
const CHILD_MS = 60_000
/** A delay that people do not notice. */
const TARGET_MS = 500

export const resume: BenchGroup = { name: 'resume', ids: HOMES.map(idOf), open }

function idOf(home: (typeof HOMES)[number]): string {
  return home === 'over HTTP' ? 'resume http' : 'resume in process'
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const served = folder.at('served')
  const server = await serveLedger(served)
  const places = {
    'in process': ['here', folder.at('local')],
    'over HTTP': [server.url, makeToken(served, 'runs:write runs:read')],
  } as const
  const samples = new Samples()
  let rounds = 0
  return {
    round: async () => {
      rounds += 1
      for (const home of HOMES) samples.add(home, resumeMs(places[home], `killed-${rounds}`))
    },
    rows: () => HOMES.map((home) => rowOf(home, samples)),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function rowOf(home: (typeof HOMES)[number], samples: Samples): Row {
  return {
    id: idOf(home),
    what: `from run() to the first live call ${home}, after a SIGKILL under a lease of 10 minutes`,
    unit: 'ms',
    numerator: median(samples.of(home)),
    target: TARGET_MS,
    bound: 'at-most',
  }
}

function resumeMs(place: readonly string[], id: string): number {
  const killed = child([...place, id, 'die'])
  if (killed.signal !== 'SIGKILL') throw new Error(`the child should have been killed: ${killed.stderr}`)
  const resumed = child([...place, id])
  if (resumed.status !== 0) throw new Error(`the resume failed: ${resumed.stderr}`)
  return Number(resumed.stdout)
}

function child(args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [CHILD, ...args], { encoding: 'utf8', timeout: CHILD_MS })
}
