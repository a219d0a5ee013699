/** @module The run of a coding agent's session, found by its name, because each hook is a separate process that does not know the others. */
import type { Client } from '../../client/client.ts'
import { LedgerError } from '../../client/errors.ts'
import { jsonDigest } from '../../signing/digests.ts'
import type { RecordedRun } from '../session-run.ts'
import type { HookHost } from './hook-input.ts'

export interface HookRunOptions {
  readonly client: Client
  /** The value of `--run`. */
  readonly named: string | undefined
  readonly host: HookHost
  readonly session: string
}

/** Maximum number of runs per session: a resumed session keeps its name, and if its run has ended, the next run gets a number. */
const RUNS_MAX = 100
const STARTS_MAX = 5
const SESSION = /^[A-Za-z0-9_.-]{1,100}$/

/** `hook-<host>-<session>`, with a digest in place of a session name that is not valid in a run id. */
export function runIdOf(host: HookHost, session: string): string {
  const name = SESSION.test(session) ? session : jsonDigest(session.toWellFormed()).slice('sha256:'.length)
  return `hook-${host}-${name}`
}

export class HookRun implements RecordedRun {
  readonly #options: HookRunOptions
  #id: string
  #isReady = false

  constructor(options: HookRunOptions) {
    this.#options = options
    this.#id = options.named ?? runIdOf(options.host, options.session)
  }

  get id(): string {
    return this.#id
  }

  /** Whether the run ends with the session. */
  get isOwn(): boolean {
    return this.#options.named === undefined
  }

  async ready(): Promise<string> {
    if (!this.#isReady && (await this.find()) === undefined) await this.#start()
    this.#isReady = true
    return this.#id
  }

  /** Finds the run that the session records in, if it exists; after runs that have ended, the next one. */
  async find(): Promise<'open' | undefined> {
    const { named } = this.#options
    const first = this.#first
    for (let count = 1; ; count += 1) {
      const id = count === 1 ? first : `${first}.${count}`
      const status = await this.#statusOf(id)
      if (status !== undefined && status !== 'open' && named === undefined && count < RUNS_MAX) continue
      this.#id = id
      return status === undefined ? undefined : 'open'
    }
  }

  get #first(): string {
    const { named, host, session } = this.#options
    return named ?? runIdOf(host, session)
  }

  async #statusOf(runId: string): Promise<string | undefined> {
    try {
      return (await this.#options.client.run(runId)).status
    } catch (error) {
      if (error instanceof LedgerError && error.code === 'run-not-found') return undefined
      throw error
    }
  }

  /** If several hooks start the run at once, one succeeds; for the others it is the same request by idempotency key, which does not take the run over. */
  async #start(): Promise<void> {
    const { client, host, session } = this.#options
    const input = { entrance: 'hook', host, session: session.toWellFormed() }
    const body = { id: this.#id, name: 'hook', tags: ['hook', host], input }
    for (let tries = 1; ; tries += 1) {
      try {
        await client.execute('', { kind: 'start', body }, { idempotencyKey: `hook-start-${this.#id}` })
        return
      } catch (error) {
        const isBeginning = error instanceof LedgerError && error.code === 'idempotency-in-flight'
        if (!isBeginning || tries >= STARTS_MAX) throw error
        await new Promise((resolve) => setTimeout(resolve, 50 * tries))
      }
    }
  }
}
