/**
 * @module Child process: one side of `durable-steps.ts`. It reports when it is ready, and answers each load with the number of steps, calls or handoffs per
 * second.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ledgerConnection } from '../src/agent/runtime/ledger-connection.ts'
import { createRuntime } from '../src/agent/runtime/runtime.ts'
import { openLedger } from '../src/compose/compose.ts'
import { STORE_OWNER } from '../src/compose/lease-owner.ts'
import { silentLog } from '../src/ledger/effects.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { readSettings } from '../src/settings/config.ts'
import { KEY_FILE } from '../src/settings/places.ts'
import { createLedgerKeys, writeNewKeyFile } from '../src/signing/key-file.ts'
import { CALLER, mustExecute } from './local-ledger.ts'

const STEPS = 25

/** The operation that is done 25 times per run: `steps` are DBOS steps, or the calls of a run. */
export type LoadKind = 'steps' | 'handoffs'

export interface Load {
  readonly kind: LoadKind
  readonly milliseconds: number
}

/** Runs one run, or one workflow. */
type RunOne = (id: string) => Promise<void>
type Side = Partial<Readonly<Record<LoadKind, RunOne>>>

/** The part of the SDK that is used. */
interface Dbos {
  setConfig(config: object): void
  launch(): Promise<void>
  registerWorkflow<T>(run: () => Promise<T>, config: { readonly name: string }): () => Promise<T>
  runStep<T>(run: () => Promise<T>, config: { readonly name: string }): Promise<T>
}

const double = async (n: number): Promise<number> => 2 * n

async function ledgerSide(url: string, data: string): Promise<Side> {
  // A ledger on a server is founded with keys that are provided beforehand.
  mkdirSync(data)
  const keys = join(data, KEY_FILE)
  writeNewKeyFile(keys, createLedgerKeys(new Date().toISOString(), randomBytes))
  const { ledger } = await openLedger(readSettings({ store: url, data, keys }, {}), silentLog)
  const close = async (): Promise<void> => undefined
  const runtime = createRuntime(ledgerConnection({ ledger, caller: CALLER, place: url, owner: STORE_OWNER, close }))
  const tool = runtime.tool(double, { name: 'double', compensate: 'not-needed' })
  const calls = async (id: string): Promise<void> => {
    await runtime.run({ id, name: 'bench' }, async () => {
      for (let n = 0; n < STEPS; n += 1) await tool(n)
    })
  }
  return { steps: calls, handoffs: (id) => handOffs(ledger, id) }
}

/** Each handoff appends one action with its result, like a step that records its result. */
async function handOffs(ledger: Ledger, id: string): Promise<void> {
  await mustExecute(ledger, id, { kind: 'start', body: { id, name: 'bench' } })
  for (let n = 0; n < STEPS; n += 1) {
    const action = { id: `step-${n}`, tool: 'double', args: [n], status: 'done', result: await double(n) }
    const body = { agent: 'worker', mode: 'extend', payload: { actions: [action] } } as const
    await mustExecute(ledger, id, { kind: 'envelope', body })
  }
  await mustExecute(ledger, id, { kind: 'complete', body: {} })
}

async function dbosSide(url: string, folder: string, clients: number): Promise<Side> {
  const { DBOS } = createRequire(join(folder, 'package.json'))('@dbos-inc/dbos-sdk') as { readonly DBOS: Dbos }
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: clients, logLevel: 'error' })
  const steps = async (): Promise<void> => {
    for (let n = 0; n < STEPS; n += 1) await DBOS.runStep(() => double(n), { name: 'double' })
  }
  const workflow = DBOS.registerWorkflow(steps, { name: 'steps' })
  await DBOS.launch()
  return { steps: async () => await workflow() }
}

let runs = 0

async function perSecond(run: RunOne, clients: number, milliseconds: number): Promise<number> {
  const startedMs = performance.now()
  let steps = 0
  const client = async (): Promise<void> => {
    while (performance.now() - startedMs < milliseconds) {
      runs += 1
      await run(`bench-${runs}`)
      steps += STEPS
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return (steps * 1_000) / (performance.now() - startedMs)
}

const [side = '', clientsText = '', url = '', folder = ''] = process.argv.slice(2)
const clients = Number(clientsText)
const loads = side === 'dbos' ? await dbosSide(url, folder, clients) : await ledgerSide(url, folder)
process.on('message', ({ kind, milliseconds }: Load) => {
  const run = loads[kind]
  if (run === undefined) throw new TypeError(`the side ${side} has no load ${kind}`)
  void perSecond(run, clients, milliseconds).then((rate) => process.send?.(rate))
})
process.send?.('ready')
