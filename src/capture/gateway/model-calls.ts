/**
 * @module Model calls through the ledger's own commands: claimed with a reservation before a request is sent, and settled with its outcome. Commands that the
 * ledger cannot take now are kept and retried; a request to the provider is never repeated here.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { ClaimCall, Reserve, SettleCall } from '../../../schemas/requests.ts'
import type { Connection, Problem } from '../../agent/runtime/connection.ts'
import { jsonDigest } from '../../signing/digests.ts'

export interface GatewayLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface Claimed {
  readonly connection: Connection
  readonly runId: string
  readonly callId: string
  readonly fence: number
  readonly stop: () => void
}

export type Claiming =
  | { readonly ok: true; readonly claimed: Claimed }
  | { readonly ok: false; readonly problem: Problem }

export interface ClaimOf {
  readonly runId: string
  readonly tool: string
  readonly args: JsonObject
  readonly agent: string | undefined
  readonly reserve: Reserve
  readonly traceparent: string | undefined
}

export type Outcome = Pick<SettleCall, 'result' | 'error' | 'usage'>

const LEASE_MS = 60_000
const RENEWALS = 3
const FIRST_WAIT_MS = 50
const WAIT_MAX_MS = 5_000
const REMEDY = 'the call ends as one whose outcome is not known, and is charged what was reserved'

export class ModelCalls {
  readonly #log: GatewayLog
  readonly #owed = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()

  constructor(log: GatewayLog) {
    this.#log = log
  }

  /** Throws if the ledger does not answer: nothing may be sent then, and a claim that was recorded anyway is settled as soon as possible. */
  async claim(connection: Connection, of: ClaimOf): Promise<Claiming> {
    const { runId, tool, args, agent, reserve, traceparent } = of
    const body: ClaimCall = {
      ...{ tool, args, reserve, phase: 'model', key: `gateway:${randomUUID()}`, leaseMs: LEASE_MS },
      ...{ onUnknown: 'retry', effects: 'none' },
      ...(agent !== undefined && { agent }),
    }
    const options = { idempotencyKey: randomUUID(), traceparent }
    const claim = () => connection.execute(runId, { kind: 'claim', body }, options)
    try {
      const reply = await claim()
      return reply.ok ? { ok: true, claimed: this.#claimed(connection, runId, reply.body) } : reply
    } catch (error) {
      void this.#owe({ runId, callId: 'not known' }, async () => {
        const reply = await claim()
        if (!reply.ok) return false
        const claimed = this.#claimed(connection, runId, reply.body)
        return this.settle(claimed, { error: { message: 'the ledger gave no answer: not sent', code: 'not-sent' } })
      })
      throw error
    }
  }

  /** Resolves when the outcome is recorded; to false when it is finally refused, which is logged. */
  settle({ connection, runId, callId, fence, stop }: Claimed, outcome: Outcome): Promise<boolean> {
    const place = { runId, callId }
    const settled = async (body: Outcome): Promise<boolean> => {
      const reply = await connection.execute(
        runId,
        { kind: 'settle', callId, body: { fence, ...body } as SettleCall },
        key,
      )
      if (reply.ok) return true
      const { code, detail, retryAfterMs } = reply.problem
      if (retryAfterMs !== undefined) throw new Error(`${code}: ${detail}`)
      const smaller = TOO_LARGE.has(code) ? withoutContent(body) : undefined
      if (smaller === undefined) {
        this.#log.error({ ...place, code, detail, remedy: REMEDY }, REFUSED)
        return false
      }
      key = { idempotencyKey: randomUUID() }
      return settled(smaller)
    }
    let key = { idempotencyKey: randomUUID() }
    return this.#owe(place, () => settled(outcome)).finally(stop)
  }

  /** Waits for outstanding records, and logs those that the ledger does not accept within `graceMs` milliseconds. */
  async close(graceMs: number): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), graceMs)
    // A call that ends with its connection is added one event loop turn later.
    await new Promise(setImmediate)
    while (this.#owed.size > 0) await Promise.all(this.#owed)
    clearTimeout(timer)
  }

  #owe(place: object, pay: () => Promise<boolean>): Promise<boolean> {
    const owed = this.#untilPaid(place, pay)
    this.#owed.add(owed)
    return owed.finally(() => this.#owed.delete(owed))
  }

  async #untilPaid(place: object, pay: () => Promise<boolean>): Promise<boolean> {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(WAIT_MAX_MS, waitMs * 2)) {
      try {
        return await pay()
      } catch (error) {
        if (this.#closing.signal.aborted) {
          this.#log.error({ ...place, err: error, remedy: REMEDY }, 'the outcome of a model call could not be recorded')
          return false
        }
        if (waitMs === FIRST_WAIT_MS)
          this.#log.warn(
            { ...place, err: error },
            'the ledger does not take the outcome of a model call now: it is sent again until it does',
          )
        await sleep(waitMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
      }
    }
  }

  #claimed(connection: Connection, runId: string, { callId, fence, leaseMs }: JsonObject): Claimed {
    const claimed = { connection, runId, callId: String(callId), fence: Number(fence) }
    const renew = (): void =>
      void connection
        .execute(runId, { kind: 'renew', callId: claimed.callId, body: { fence: claimed.fence } })
        .catch(() => undefined)
    const timer = setInterval(renew, Number(leaseMs ?? LEASE_MS) / RENEWALS)
    timer.unref()
    return { ...claimed, stop: () => clearInterval(timer) }
  }
}

const REFUSED = 'the ledger refused the outcome of a model call'
const TOO_LARGE: ReadonlySet<string> = new Set([
  'value-too-large',
  'append-too-large',
  'redaction-too-large',
  'invalid-body',
])

/** The outcome with its content replaced by a digest; undefined if it has no content to replace. */
function withoutContent({ result, error, usage }: Outcome): Outcome | undefined {
  const used = usage === undefined ? {} : { usage }
  if (result !== undefined && !isNamed(result)) return { result: { digest: jsonDigest(result), kept: false }, ...used }
  if (error?.details === undefined) return undefined
  return { error: { message: error.message, ...(error.code !== undefined && { code: error.code }) }, ...used }
}

function isNamed(result: Json): boolean {
  return (result as JsonObject | null)?.kept === false
}
