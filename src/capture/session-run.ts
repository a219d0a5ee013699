/** @module The run that a session records in: a named one that goes on after it, or one of its own, which begins with the first record and ends with the session. */
import { randomUUID } from 'node:crypto'
import type { Client } from '../client/client.ts'
import { LedgerError } from '../client/errors.ts'

/** The run that calls are recorded in. */
export interface RecordedRun {
  readonly id: string
  /** Its id, once it is on record. Rejects as the client does. */
  ready(): Promise<string>
}

export interface SessionRunOptions {
  readonly client: Client
  /** `--run`. */
  readonly named: string | undefined
  /** What is behind the proxy, by the owner's word. */
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

  /** The run, once it is on record. Rejects as the client does; the next call tries again. */
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
    // A run that somebody else began has a name and an input of its own: it is used as it is.
    if (named !== undefined && (await exists(client, named))) return
    const input = { entrance: 'mcp', transport, server }
    await client.execute('', { kind: 'start', body: { id: this.id, name: 'mcp', tags: ['mcp', server], input } })
  }

  /** Ends a run of its own; one with a call in doubt stays open for whoever resolves that. */
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
