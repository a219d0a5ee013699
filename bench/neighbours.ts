/**
 * @module N1 to N9: the latency for a tenant with one connection while 64 connections of another tenant send as many requests as they can: its p50 compared
 * with that of an idle server.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { asker, DEEDS, type Deed } from './asker.ts'
import { type Bench, type BenchGroup, directMs, scaled } from './bench.ts'
import type { BenchOptions } from './options.ts'
import { type Row, ratioRow } from './report.ts'
import { makeToken, type ServerChild, START_FLAGS, serveLedger } from './server-child.ts'
import { median, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const HOSTILE = 64
const WARM_UP_MS = 500
const MOST: Readonly<Record<Deed, number>> = { read: 3, handoff: 5, start: 5 }

const CASES = DEEDS.flatMap((beside, row) =>
  DEEDS.map((deed, column) => ({ id: `N${row * DEEDS.length + column + 1}`, deed, beside })),
)

export const neighbours: BenchGroup = {
  name: 'a tenant beside 64 connections of another one',
  ids: CASES.map(({ id }) => id),
  open,
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  const server = await serveLedger(data, START_FLAGS)
  const scopes = 'runs:write runs:read'
  const [own, hostile] = [
    makeToken(data, scopes, { tenant: 'neighbour' }),
    makeToken(data, scopes, { tenant: 'hostile' }),
  ]
  const samples = new Samples()
  const time = async (state: string, deed: Deed): Promise<void> => {
    const ask = await asker({ url: server.url, token: own, name: `n${state}` }, deed)
    await timed(ask, scaled(options, WARM_UP_MS))
    samples.add(`${state} ${deed}`, median(await timed(ask, directMs(options))))
  }
  return {
    round: async () => {
      for (const beside of DEEDS) {
        for (const deed of DEEDS) await time(`${beside} idle`, deed)
        await besides({ server, token: hostile }, beside, async () => {
          for (const deed of DEEDS) await time(`${beside} busy`, deed)
        })
      }
    },
    rows: () => CASES.map((each) => rowOf(samples, each)),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function rowOf(samples: Samples, { id, deed, beside }: (typeof CASES)[number]): Row {
  return ratioRow(samples, {
    id,
    what: `p50 of one ${deed} after the other beside ${HOSTILE} connections of another tenant that ask for a ${beside} each ÷ idle`,
    unit: 'ms',
    over: [`${beside} busy ${deed}`, `${beside} idle ${deed}`],
    bound: 'at-most',
    floor: MOST[deed],
  })
}

async function timed(ask: () => Promise<void>, ms: number): Promise<readonly number[]> {
  const found: number[] = []
  const endMs = performance.now() + ms
  while (performance.now() < endMs) {
    const startedMs = performance.now()
    await ask()
    found.push(performance.now() - startedMs)
  }
  return found
}

async function besides(
  { server, token }: { readonly server: ServerChild; readonly token: string },
  deed: Deed,
  measure: () => Promise<void>,
): Promise<void> {
  const script = fileURLToPath(new URL('neighbour-child.js', import.meta.url))
  const child = spawn(process.execPath, [script, server.url, token, deed, String(HOSTILE)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  try {
    await once(child.stdout, 'data')
    await measure()
    if (child.exitCode !== null) throw new Error(`the other tenant's connections ended with ${child.exitCode}`)
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}
