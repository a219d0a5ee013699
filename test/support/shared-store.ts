/** @module Ledger processes that share one EventStoreDB, with keys they were given, as they would share a cluster. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandResult, countersign } from './command-line.ts'
import { type EventStoreNode, startNode } from './eventstoredb-node.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { tempFolder } from './temp-folder.ts'

export interface Ledgers extends AsyncDisposable {
  readonly servers: readonly ServerProcess[]
  /** A command of the command line on the shared store, with the ledger's keys. */
  readonly command: (args: readonly string[]) => Promise<CommandResult>
}

export interface SharedStore extends Ledgers {
  readonly node: EventStoreNode
}

/** Starts a protocol node and so many ledgers on it, each with a data folder of its own and a copy of the one key file. */
export async function sharedStore(processes: number, args: readonly string[] = []): Promise<SharedStore> {
  const node = await startNode()
  try {
    const ledgers = await startLedgers({ url: node.url, processes, args })
    const dispose = async (): Promise<void> => {
      await ledgers[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    }
    return { ...ledgers, node, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await node[Symbol.asyncDispose]()
    throw error
  }
}

export interface LedgersOptions {
  readonly url: string
  readonly processes: number
  /** The key file; rebuilt where none is named. */
  readonly keys?: string
  readonly tenant?: string
  /** Further flags of `serve`. */
  readonly args?: readonly string[]
}

export async function startLedgers({
  url,
  processes,
  keys: keysFile,
  tenant,
  args = [],
}: LedgersOptions): Promise<Ledgers> {
  const folder = tempFolder()
  const servers: ServerProcess[] = []
  const keys = keysFile ?? folder.file('keys.json')
  const dispose = async (): Promise<void> => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  }
  try {
    if (keysFile === undefined) await makeKeys(keys)
    for (let index = 0; index < processes; index += 1) {
      const data = folder.file(`data-${index}`)
      mkdirSync(data)
      copyFileSync(keys, join(data, 'keys.json'))
      servers.push(
        await startServer({ data, args: ['--store', url, ...args], ...(tenant !== undefined && { tenant }) }),
      )
    }
  } catch (error) {
    await dispose()
    throw error
  }
  const command = (args: readonly string[]): Promise<CommandResult> =>
    countersign([...args, '--store', url, '--keys', keys])
  return { servers, command, [Symbol.asyncDispose]: dispose }
}

async function makeKeys(path: string): Promise<void> {
  const made = await countersign(['keys', 'create', '--keys', path])
  if (made.code !== 0) throw new Error(made.stderr)
}
