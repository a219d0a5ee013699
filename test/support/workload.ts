/**
 * @module Load that remembers: clients that post handoffs, calls and reservations under Idempotency-Keys, what was acknowledged to them,
 * and what was sent and never answered. Each request carries its key as a mark in its body, so that its event can be counted.
 */
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Answer, ApiClient } from './api-client.ts'

interface Request {
  readonly run: string
  readonly key: string
  readonly path: string
  readonly body: Json
}

export interface Acknowledged extends Request {
  readonly status: number
  readonly answer: JsonObject
  /** The answer said that it had been given before. */
  readonly replayed: boolean
}

export interface WorkloadOptions {
  /** Prefix of runs and keys: two workloads on one server need two. */
  readonly name: string
  readonly clients?: number
  readonly runs?: number
  /** How long a client rests that was told to come later, as Retry-After asks of it. Default 0. */
  readonly restMs?: number
}

/** Enough for any load here: the sums stay exact. */
const BUDGET_TOKENS = 1_000_000_000
/** Refusals that say "not now": the same request is asked again later. */
const NOT_NOW = new Set([503, 507])
const RETRY_ROUNDS_MAX = 200

export class Workload {
  readonly runs: readonly string[]
  /** By key. */
  readonly acknowledged = new Map<string, Acknowledged>()
  /** Sent, and not answered or told to come later: what became of them is unknown. */
  readonly open = new Map<string, Request>()
  /** Answers that no request of this load should get. */
  readonly unexpected: string[] = []
  /** How often each status was answered. */
  readonly statuses = new Map<number, number>()
  readonly #clients: number
  readonly #name: string
  readonly #restMs: number
  #turn = 0

  constructor({ name, clients = 16, runs = 4, restMs = 0 }: WorkloadOptions) {
    this.#name = name
    this.#restMs = restMs
    this.#clients = clients
    this.runs = Array.from({ length: runs }, (_, index) => `${name}-r${index}`)
  }

  async startRuns(client: ApiClient): Promise<void> {
    for (const run of this.runs) {
      const budget = { tokens: BUDGET_TOKENS }
      const answer = await client.postOnce('/v1/runs', `${run}-start`, { id: run, name: 'load', budget })
      if (answer.status !== 201 && answer.status !== 200) throw new Error(`${run}: ${answer.status} ${answer.text}`)
    }
  }

  /** Posts from all clients until the signal, or until a connection breaks; a client stops after the answer it waits for. */
  async drive(client: ApiClient, stop: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: this.#clients }, (_, index) => this.#work(client, index, stop)))
  }

  /** Asks again for everything that is open, until nothing is. Connections must hold. */
  async settle(client: ApiClient): Promise<void> {
    for (let round = 0; this.open.size > 0; round += 1) {
      if (round > RETRY_ROUNDS_MAX) throw new Error(`${this.open.size} requests are refused for good`)
      if (round > 0) await new Promise((resolve) => setTimeout(resolve, 50))
      await Promise.all([...this.open.values()].map((request) => this.#send(client, request)))
    }
  }

  async #work(client: ApiClient, index: number, stop: AbortSignal): Promise<void> {
    try {
      while (!stop.aborted) await this.#step(client, index)
    } catch {
      // The server is gone. What was not answered is among the open ones.
    }
  }

  async #step(client: ApiClient, index: number): Promise<void> {
    this.#turn += 1
    const turn = this.#turn
    const run = this.runs[(index + turn) % this.runs.length] ?? ''
    const mark = `${this.#name}-${index}-${turn}`
    if (turn % 3 === 0) return this.#handoff(client, run, mark)
    if (turn % 3 === 1) return this.#call(client, run, mark)
    return this.#reservation(client, run, mark)
  }

  async #handoff(client: ApiClient, run: string, mark: string): Promise<void> {
    const key = `${mark}-envelope`
    const payload = { entities: ['Apple'], note: key, text: 'x'.repeat(300) }
    await this.#send(client, { run, key, path: `/v1/runs/${run}/envelopes`, body: { agent: 'writer', payload } })
  }

  async #call(client: ApiClient, run: string, mark: string): Promise<void> {
    const key = `${mark}-claim`
    const path = `/v1/runs/${run}/calls`
    const claim = await this.#send(client, { run, key, path, body: { tool: 'search', args: { mark: key } } })
    if (claim === undefined) return
    const settle = `${mark}-settle`
    const body = { fence: claim.fence ?? 1, result: { mark: settle } }
    await this.#send(client, { run, key: settle, path: `${path}/${claim.callId}/settle`, body })
  }

  async #reservation(client: ApiClient, run: string, mark: string): Promise<void> {
    const key = `${mark}-reserve`
    const path = `/v1/runs/${run}/reservations`
    const reserved = await this.#send(client, { run, key, path, body: { agent: 'writer', tokens: 10, model: key } })
    if (reserved === undefined) return
    const usage = `${mark}-usage`
    const body = { usage: { tokens: 7, model: usage } }
    await this.#send(client, { run, key: usage, path: `${path}/${reserved.reservationId}/settle`, body })
  }

  /** The answer's body where it was acknowledged; throws where none came. */
  async #send(client: ApiClient, request: Request): Promise<JsonObject | undefined> {
    this.open.set(request.key, request)
    const answer = await client.postOnce(request.path, request.key, request.body)
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1)
    if (NOT_NOW.has(answer.status)) {
      if (this.#restMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#restMs))
      return undefined
    }
    this.open.delete(request.key)
    if (answer.status !== 200 && answer.status !== 201) {
      this.unexpected.push(`${request.path} ${request.key}: ${answer.status} ${answer.text}`)
      return undefined
    }
    this.acknowledged.set(request.key, acknowledged(request, answer))
    return answer.body
  }
}

function acknowledged(request: Request, { status, body, headers }: Answer): Acknowledged {
  return { ...request, status, answer: body, replayed: headers['idempotency-replayed'] === 'true' }
}
