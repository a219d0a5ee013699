/** @module Child: one side of `durable-steps.ts`. Says when it is ready; for each number of milliseconds that it is sent, answers with steps a second. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ledgerConnection } from '../src/agent/runtime/ledger-connection.ts'
import { createRuntime } from '../src/agent/runtime/runtime.ts'
import { openLedger } from '../src/compose/compose.ts'
import { STORE_OWNER } from '../src/compose/lease-owner.ts'
import { silentLog } from '../src/ledger/effects.ts'
import { readSettings } from '../src/settings/config.ts'
import { KEY_FILE } from '../src/settings/places.ts'
import { createLedgerKeys, writeNewKeyFile } from '../src/signing/key-file.ts'
import { CALLER } from './local-ledger.ts'

const STEPS = 25

/** One run, or one workflow. */
type RunOne = (id: string) => Promise<void>

/** What is used of the SDK. */
interface Dbos {
  setConfig(config: object): void
  launch(): Promise<void>
  registerWorkflow<T>(run: () => Promise<T>, config: { readonly name: string }): () => Promise<T>
  runStep<T>(run: () => Promise<T>, config: { readonly name: string }): Promise<T>
}

const double = async (n: number): Promise<number> => 2 * n

async function ledgerSide(url: string, data: string): Promise<RunOne> {
  // A ledger on a server founds itself under keys that it was given.
  mkdirSync(data)
  const keys = join(data, KEY_FILE)
  writeNewKeyFile(keys, createLedgerKeys(new Date().toISOString(), randomBytes))
  const { ledger } = await openLedger(readSettings({ store: url, data, keys }, {}), silentLog)
  const close = async (): Promise<void> => undefined
  const runtime = createRuntime(ledgerConnection({ ledger, caller: CALLER, place: url, owner: STORE_OWNER, close }))
  const tool = runtime.tool(double, { name: 'double', compensate: 'not-needed' })
  return async (id) => {
    await runtime.run({ id, name: 'bench' }, async () => {
      for (let n = 0; n < STEPS; n += 1) await tool(n)
    })
  }
}

async function dbosSide(url: string, folder: string, clients: number): Promise<RunOne> {
  const { DBOS } = createRequire(join(folder, 'package.json'))('@dbos-inc/dbos-sdk') as { readonly DBOS: Dbos }
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: clients, logLevel: 'error' })
  const steps = async (): Promise<void> => {
    for (let n = 0; n < STEPS; n += 1) await DBOS.runStep(() => double(n), { name: 'double' })
  }
  const workflow = DBOS.registerWorkflow(steps, { name: 'steps' })
  await DBOS.launch()
  return async () => await workflow()
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
const run = side === 'dbos' ? await dbosSide(url, folder, clients) : await ledgerSide(url, folder)
process.on('message', (milliseconds) => {
  void perSecond(run, clients, Number(milliseconds)).then((rate) => process.send?.(rate))
})
process.send?.('ready')
