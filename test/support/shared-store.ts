/** @module Ledger processes that share one protocol node, with keys they were given, as they would share a cluster. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandResult, countersign } from './command-line.ts'
import { type EventStoreNode, startNode } from './eventstoredb-node.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { tempFolder } from './temp-folder.ts'

export interface SharedStore extends AsyncDisposable {
  readonly node: EventStoreNode
  readonly servers: readonly ServerProcess[]
  /** A command of the command line on the shared store, with the ledger's keys. */
  readonly command: (args: readonly string[]) => Promise<CommandResult>
}

/** Starts a node and so many ledgers on it, each with a data folder of its own and a copy of the one key file. */
export async function sharedStore(processes: number): Promise<SharedStore> {
  const folder = tempFolder()
  const node = await startNode()
  const servers: ServerProcess[] = []
  const keys = folder.file('keys.json')
  const dispose = async (): Promise<void> => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    await node[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  }
  try {
    const made = await countersign(['keys', 'create', '--keys', keys])
    if (made.code !== 0) throw new Error(made.stderr)
    for (let index = 0; index < processes; index += 1) {
      const data = folder.file(`data-${index}`)
      mkdirSync(data)
      copyFileSync(keys, join(data, 'keys.json'))
      servers.push(await startServer({ data, args: ['--store', node.url] }))
    }
  } catch (error) {
    await dispose()
    throw error
  }
  const command = (args: readonly string[]): Promise<CommandResult> =>
    countersign([...args, '--store', node.url, '--keys', keys])
  return { node, servers, command, [Symbol.asyncDispose]: dispose }
}
