/** @module Records the definitions of tools on the ledger when they have changed. */
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Client } from '../client/client.ts'
import { type Definitions, DefinitionsSeen, type Seen } from './definitions.ts'
import { type Secrets, withoutSecrets } from './recorded-form.ts'
import type { SessionRun } from './session-run.ts'

export interface DefinitionsRecordOptions {
  readonly client: Client
  readonly run: SessionRun
  readonly server: string
  readonly pin: string | undefined
  readonly secrets: Secrets
  readonly say: (text: string) => void
}

/** A server that never ends its list must not keep a call for ever. */
const PAGES_MAX = 1_000

export class DefinitionsRecord {
  readonly #options: DefinitionsRecordOptions
  readonly #seen: DefinitionsSeen
  #before: Promise<unknown> = Promise.resolve()
  /** Counts the changes that the server announced. */
  #changes = 0
  /** The number of changes before the first page of the host's list, and of the list that was read as a whole. */
  #listedAfter = 0
  #readAfter = -1
  /** The reason why no more tools are called: the definitions differ from the pinned ones. */
  fault: string | undefined

  constructor(options: DefinitionsRecordOptions) {
    this.#options = options
    this.#seen = new DefinitionsSeen(options.pin)
  }

  /** Whether definitions are pinned and those that the tools have now were not read. */
  get isUnread(): boolean {
    return this.#options.pin !== undefined && this.#readAfter !== this.#changes
  }

  get changes(): number {
    return this.#changes
  }

  /** The server says that its tools are others now. */
  changed(): void {
    this.#changes += 1
  }

  /**
   * Handles a page of `tools/list` for the host, asked for after `changes` changes; returns the error text to send in its place, if it must not be shown.
   */
  async seen(
    result: JsonObject,
    { isFirstPage, changes }: { readonly isFirstPage: boolean; readonly changes: number },
  ): Promise<string | undefined> {
    if (isFirstPage) this.#listedAfter = changes
    return this.#judged(this.#seen.page(result, isFirstPage), this.#listedAfter)
  }

  /** Reads the definitions for a call, because the host did not ask for them. */
  async read(page: (cursor: string | undefined) => Promise<JsonObject>): Promise<void> {
    const changes = this.#changes
    const tools: Json[] = []
    let cursor: Json | undefined
    for (let count = 0; count < PAGES_MAX && (count === 0 || typeof cursor === 'string'); count += 1) {
      const result = await page(typeof cursor === 'string' ? cursor : undefined)
      if (Array.isArray(result.tools)) tools.push(...(result.tools as readonly Json[]))
      cursor = result.nextCursor
    }
    const seen = this.#seen.judged(tools)
    // The host has not seen them: they are recorded when it does, or if they are the reason of a refusal.
    await this.#judged(seen.kind === 'new' ? { kind: 'same' } : seen, changes)
  }

  async #judged(seen: Seen, changes: number): Promise<string | undefined> {
    this.fault = seen.kind === 'refused' ? seen.text : seen.kind === 'part' ? this.fault : undefined
    if (seen.kind !== 'part') this.#readAfter = changes
    if ('definitions' in seen && seen.definitions !== undefined)
      await this.#record(seen.definitions, seen.kind === 'refused')
    return this.fault
  }

  /** Listing has no effects: while the ledger is unavailable, the list is shown anyway and recorded with the next one. */
  async #record(definitions: Definitions, isRefused: boolean): Promise<void> {
    const { client, run, server, secrets, say } = this.#options
    const work = this.#before.then(async () => {
      const runId = await run.ready()
      const tools = definitions.tools.map(({ name, digest }) => ({
        name: withoutSecrets(name, secrets).slice(0, 256),
        digest,
      }))
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
