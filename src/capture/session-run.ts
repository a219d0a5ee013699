/** @module The run that records a session: a named run that continues after it, or a run of the session alone, from its first record to its end. */
import { randomUUID } from 'node:crypto'
import type { Client } from '../client/client.ts'
import { LedgerError } from '../client/errors.ts'

/** The run in which calls are recorded. */
export interface RecordedRun {
  readonly id: string
  /** Resolves to the id once the run is recorded. Rejects with the client's error. */
  ready(): Promise<string>
}

export interface SessionRunOptions {
  readonly client: Client
  /** The value of `--run`. */
  readonly named: string | undefined
  /** Name of the server behind the proxy, as given by the owner. */
  readonly server: string
  readonly transport: 'stdio' | 'http'
}

export type RunEnd = { readonly closed: boolean; readonly runId: string; readonly reason?: string } | undefined

export class SessionRun implements RecordedRun {
  readonly #options: SessionRunOptions
  readonly id: string
  #started: Promise<void> | undefined

  constructor(options: SessionRunOptions) {
    this.#options = options
    this.id = options.named ?? `mcp-${randomUUID()}`
  }

  /** Resolves once the run is recorded. Rejects with the client's error; the next call retries. */
  async ready(): Promise<string> {
    this.#started ??= this.#start()
    const starting = this.#started
    try {
      await starting
    } catch (error) {
      if (this.#started === starting) this.#started = undefined
      throw error
    }
    return this.id
  }

  async #start(): Promise<void> {
    const { client, named, server, transport } = this.#options
    // An existing run has its own name and input, and is used unchanged.
    if (named !== undefined && (await exists(client, named))) return
    const input = { entrance: 'mcp', transport, server }
    await client.execute('', { kind: 'start', body: { id: this.id, name: 'mcp', tags: ['mcp', server], input } })
  }

  /** Ends the session's own run; a run with a call in doubt stays open until the call is resolved. */
  async end(): Promise<RunEnd> {
    if (this.#started === undefined || this.#options.named !== undefined) return undefined
    try {
      await this.#started
      await this.#options.client.execute(this.id, { kind: 'complete', body: {} })
      return { closed: true, runId: this.id }
    } catch (error) {
      return { closed: false, runId: this.id, reason: error instanceof Error ? error.message : String(error) }
    }
  }
}

async function exists(client: Client, runId: string): Promise<boolean> {
  try {
    await client.run(runId)
    return true
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'run-not-found') return false
    throw error
  }
}
