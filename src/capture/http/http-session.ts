/** @module State shared by HTTP requests: a run, its record of calls and, if the protocol has sessions, the calls in progress. */
import { createClient } from '../../client/client.ts'
import { withTimeout } from '../../resources/with-timeout.ts'
import { CallRecord } from '../call-record.ts'
import { DefinitionsRecord } from '../definitions-record.ts'
import { type Secrets, withoutSecrets } from '../recorded-form.ts'
import { Relay, type Write } from '../relay.ts'
import { SessionRun } from '../session-run.ts'
import type { Desk } from '../texts.ts'
import { UrlApprovals } from '../url-approvals.ts'
import type { McpUpstream } from './upstreams.ts'

export interface SessionOptions {
  readonly upstream: McpUpstream
  readonly ledger: (url: string, init: RequestInit) => Promise<Response>
  readonly token: string
  readonly run: string | undefined
  readonly agent: string | undefined
  readonly secrets: Secrets
  readonly owner: string | undefined
  readonly desk: Desk
  readonly say: (text: string) => void
}

/** Hosts usually wait for 60 seconds, and must get an answer before that. */
const ANSWER_MS = 10_000
const PATIENCE_MS = 5_000
const RECORDS_MS = 2_500
const nowhere: Write = async () => undefined

export class HttpSession {
  readonly #options: SessionOptions
  readonly #run: SessionRun
  readonly #calls: CallRecord
  readonly #definitions: DefinitionsRecord
  readonly approvals: UrlApprovals
  readonly #relays = new Set<Relay>()
  readonly #over = new AbortController()
  #token: string
  #underWay = 0
  #usedMs = performance.now()

  constructor(options: SessionOptions) {
    const { upstream, ledger, secrets, owner, desk } = options
    this.#options = options
    this.#token = options.token
    const limits = { timeoutMs: ANSWER_MS, patienceMs: PATIENCE_MS }
    // No token function: a refused token is the caller's, and is answered at once.
    const fetch = (url: string, init: RequestInit): Promise<Response> =>
      ledger(url, { ...init, headers: { ...(init.headers as object), authorization: `Bearer ${this.#token}` } })
    const client = createClient({ url: 'http://localhost', token: options.token, fetch, ...limits })
    const run = new SessionRun({ client, named: options.run, server: upstream.name, transport: 'http' })
    const { effects, whenAway, pin } = upstream
    const about = { server: upstream.name, agent: options.agent ?? upstream.agent, effects, whenAway }
    this.#run = run
    this.approvals = new UrlApprovals({ client, run, desk })
    this.#calls = new CallRecord({ client, run, secrets, owner, desk, ...about })
    this.#definitions = new DefinitionsRecord({ client, run, server: upstream.name, pin, secrets, say: this.#say })
  }

  /** A line for people, which may quote the host or the server. */
  readonly #say = (text: string): void => {
    const { say, secrets } = this.#options
    say(withoutSecrets(text, secrets))
  }

  /** Aborted when the session ends. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Milliseconds since the last activity; 0 while a request is in progress. */
  get idleMs(): number {
    return this.#underWay > 0 ? 0 : performance.now() - this.#usedMs
  }

  /** Uses the token of the current request from now on. */
  uses(token: string): void {
    this.#token = token
  }

  /** Creates a relay, which identifies calls by their ids: one per session, or one per request if request ids are not shared. */
  relay(): Relay {
    const say = this.#say
    const relay = new Relay({
      ...{ toHost: nowhere, toServer: nowhere, say },
      ...{ calls: this.#calls, definitions: this.#definitions, approvals: this.approvals },
    })
    this.#relays.add(relay)
    return relay
  }

  /** Keeps the session in use until `ended` settles. */
  track(ended: Promise<void>, relay: Relay, isShared: boolean): void {
    this.#underWay += 1
    void ended
      .then(() => relay.settled())
      .catch(() => undefined)
      .then(() => {
        this.#underWay -= 1
        this.#usedMs = performance.now()
        if (!isShared) this.#relays.delete(relay)
      })
  }

  /** Marks calls without an answer as in doubt, and completes the run that the session began. */
  async end(reason: string): Promise<void> {
    const say = this.#say
    const recorded = async (): Promise<void> => {
      await Promise.all([...this.#relays].map((relay) => relay.serverGone(reason)))
      this.#over.abort()
      const { owed } = await this.#calls.close()
      if (owed > 0) say(`${owed} records could not be made: the ledger did not answer`)
      const end = await this.#run.end()
      if (end?.closed === false) say(`the run ${end.runId} stays open: ${end.reason}`)
    }
    await withTimeout(recorded(), RECORDS_MS, () => new Error('late')).catch(() =>
      say('not everything could be recorded in time: calls without an outcome are in doubt'),
    )
    this.#over.abort()
  }
}
