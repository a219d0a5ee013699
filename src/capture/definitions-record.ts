/** @module Records the definitions of tools on the ledger when they have changed. */
import type { JsonObject } from '../../schemas/json.ts'
import type { Client } from '../client/client.ts'
import { type Definitions, DefinitionsSeen } from './definitions.ts'
import type { SessionRun } from './session-run.ts'

export interface DefinitionsRecordOptions {
  readonly client: Client
  readonly run: SessionRun
  readonly server: string
  readonly pin: string | undefined
  readonly say: (text: string) => void
}

export class DefinitionsRecord {
  readonly #options: DefinitionsRecordOptions
  readonly #seen: DefinitionsSeen
  #before: Promise<unknown> = Promise.resolve()
  /** The reason why no more tools are called: the definitions differ from the pinned ones. */
  fault: string | undefined

  constructor(options: DefinitionsRecordOptions) {
    this.#options = options
    this.#seen = new DefinitionsSeen(options.pin)
  }

  /** Handles a page of `tools/list` for the host; returns the error text to send in its place, if it must not be shown. */
  async seen(result: JsonObject, isFirst: boolean): Promise<string | undefined> {
    const seen = this.#seen.page(result, isFirst)
    this.fault = seen.kind === 'refused' ? seen.text : seen.kind === 'part' ? this.fault : undefined
    if ('definitions' in seen && seen.definitions !== undefined)
      await this.#record(seen.definitions, seen.kind === 'refused')
    return this.fault
  }

  /** Listing has no effects: while the ledger is unavailable, the list is shown anyway and recorded with the next one. */
  async #record(definitions: Definitions, isRefused: boolean): Promise<void> {
    const { client, run, server, say } = this.#options
    const work = this.#before.then(async () => {
      const runId = await run.ready()
      const tools = definitions.tools.map((tool) => ({ ...tool }))
      const body = {
        definitions: {
          entrance: 'mcp' as const,
          server,
          ...definitions,
          tools,
          outcome: isRefused ? ('refused' as const) : ('shown' as const),
        },
      }
      await client.execute(runId, { kind: 'capture', body })
    })
    this.#before = work.catch(() => undefined)
    try {
      await work
      say(
        `the definitions of ${definitions.count} tools have the digest ${definitions.digest}${isRefused ? ', which is not the pinned one' : ''}`,
      )
    } catch (error) {
      this.#seen.forget()
      say(
        `the definitions of the tools could not be recorded: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }
}
