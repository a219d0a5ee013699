/**
 * @module Real ledger processes on the store under test, and what a test asks of them whatever the store is. A file or a store in memory has one
 * process; on a server there are as many as are requested.
 */
import { writeFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import type { ApiClient } from './api-client.ts'
import { countersign } from './command-line.ts'
import { newPostgresUrl } from './postgres-store.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { type Ledgers, sharedStore, startLedgers } from './shared-store.ts'
import { tempFolder } from './temp-folder.ts'
import {
  freshTenant,
  isSharedServer,
  SERVER_URL,
  sharedKeyFile,
  type TestStoreKind,
  testStoreKind,
} from './test-store.ts'

export interface LedgerProcesses extends AsyncDisposable {
  /** One at least. */
  readonly first: ServerProcess
  readonly servers: readonly ServerProcess[]
  /** Of the servers' tokens. */
  readonly tenant: string
  /** Every event checked offline; throws where the verdict is another than VERIFIED. */
  readonly verify: () => Promise<void>
}

/** Starts them. `processes`: how many, where the store takes more than one; `args`: of a server on a file. */
export async function ledgerProcesses(processes: number, args: readonly string[] = []): Promise<LedgerProcesses> {
  const kind = testStoreKind('sqlite')
  const tenant = freshTenant('acme', kind)
  const { servers, command, ...ledgers } = await open(kind, { processes, tenant, args })
  const [first] = servers
  if (first === undefined) throw new Error('at least one process is asked for')
  // Other tests leave on a shared server what does not verify, and nobody else sees a store in memory: an export holds what this tenant wrote.
  const byExport = kind === 'memory' || isSharedServer(kind)
  const verified = async () => (byExport ? await verifyExport(await first.client(), first) : await command(['verify']))
  const verify = async (): Promise<void> => {
    const { code, stdout, stderr } = await verified()
    assert.is(code, 0, stdout + stderr)
    assert.match(stdout, /VERIFIED/)
  }
  return { first, servers, tenant, verify, [Symbol.asyncDispose]: () => ledgers[Symbol.asyncDispose]() }
}

interface ProcessesOf {
  readonly processes: number
  readonly tenant: string
  readonly args: readonly string[]
}

function open(kind: TestStoreKind, { args, ...more }: ProcessesOf): Promise<Ledgers> {
  if (kind === 'sqlite') return onFile(args)
  // A store in memory takes the keys that it makes along: tokens need keys that are given.
  if (kind === 'memory') return startLedgers({ url: 'memory:', processes: 1 })
  if (kind === 'postgres') return onPostgres(more.processes)
  if (SERVER_URL === '') return sharedStore(more.processes)
  return startLedgers({ url: SERVER_URL, keys: sharedKeyFile(), ...more })
}

async function onPostgres(processes: number): Promise<Ledgers> {
  return await startLedgers({ url: await newPostgresUrl(), processes })
}

async function onFile(args: readonly string[]): Promise<Ledgers> {
  const server = await startServer({ args })
  return {
    servers: [server],
    command: (command) => countersign([...command, '--data', server.data]),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function verifyExport(client: ApiClient, { data }: ServerProcess): ReturnType<Ledgers['command']> {
  using folder = tempFolder()
  const path = folder.file('export.jsonl')
  const lines: string[] = []
  for await (const line of client.lines('/v1/export')) lines.push(line)
  writeFileSync(path, `${lines.join('\n')}\n`)
  return await countersign(['verify', path, '--data', data])
}
