/**
 * @module Records that are owed to the ledger: outcomes that it could not record, claims that may or may not be recorded, and the gap in which calls were let
 * through. Each is sent again with its own idempotency key, in order, before anything new is claimed.
 */
import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../schemas/json.ts'
import type { ClaimCall, SettleCall } from '../../schemas/requests.ts'
import type { Client } from '../client/client.ts'
import { LedgerError, UnreachableError } from '../client/errors.ts'
import type { RecordedRun } from './session-run.ts'
import type { EntranceName, Ticket } from './ticket.ts'

export interface SettleDebt {
  readonly callId: string
  readonly body: SettleCall
}

export interface ClaimDebt {
  readonly body: ClaimCall
  readonly idempotencyKey: string
}

type Debt =
  | (SettleDebt & { readonly kind: 'settle'; readonly idempotencyKey: string })
  | (ClaimDebt & { readonly kind: 'not-forwarded' })
  | (ClaimDebt & { readonly kind: 'passed'; readonly ticket: Ticket })

/** Once this many debts are kept, further calls that were let through are only counted in the gap. */
const PASSED_MAX = 1_000
const REASON_MAX_CHARS = 1_024

export interface DebtsOptions {
  readonly client: Client
  readonly run: RecordedRun
  readonly entrance: EntranceName
  readonly server: string
  /** A call that was let through has been claimed later, and is still running. */
  readonly onClaimed: (ticket: Ticket, claimed: JsonObject) => void
}

export class Debts {
  readonly #options: DebtsOptions
  #debts: Debt[] = []
  #gap: { from: string; to: string; count: number } | undefined
  #paying: Promise<void> | undefined

  constructor(options: DebtsOptions) {
    this.#options = options
  }

  get owed(): number {
    return this.#debts.length + (this.#gap === undefined ? 0 : 1)
  }

  /** Notes that a call is let through unrecorded. */
  passed(tool: string, claim: ClaimDebt): Ticket {
    const ticket: Ticket = { tool, reserve: claim.body.reserve }
    const now = new Date().toISOString()
    this.#gap = { from: this.#gap?.from ?? now, to: now, count: (this.#gap?.count ?? 0) + 1 }
    if (this.#debts.length < PASSED_MAX) this.#debts.push({ kind: 'passed', ticket, ...claim })
    return ticket
  }

  /** Notes that a claim got no answer and its call was not forwarded. */
  notForwarded(claim: ClaimDebt): void {
    this.#debts.push({ kind: 'not-forwarded', ...claim })
  }

  /** Records an outcome now, or keeps it as a debt and rejects. A result that the ledger refuses is recorded as unrecorded. */
  async settle(debt: SettleDebt): Promise<void> {
    const kept: Debt = { kind: 'settle', ...debt, idempotencyKey: randomUUID() }
    try {
      await this.#settled(kept)
    } catch (error) {
      this.#debts.push(kept)
      throw error
    }
  }

  /** Sends all debts. Rejects if the ledger does not record; debts paid until then remain paid. */
  async pay(): Promise<void> {
    while (this.owed > 0) {
      this.#paying ??= this.#payAll().finally(() => {
        this.#paying = undefined
      })
      await this.#paying
    }
  }

  async #payAll(): Promise<void> {
    await this.#options.run.ready()
    for (let debt = this.#debts[0]; debt !== undefined; debt = this.#debts[0]) {
      await this.#payOne(debt)
      this.#debts = this.#debts.filter((each) => each !== debt)
    }
    await this.#recordGap()
  }

  /** A debt that the ledger finally refuses is dropped: the refusal is recorded, or the call is counted in the gap. */
  async #payOne(debt: Debt): Promise<void> {
    try {
      if (debt.kind === 'settle') await this.#settled(debt)
      else await this.#claimedLate(debt)
    } catch (error) {
      if (isAway(error) || !(error instanceof LedgerError)) throw error
    }
  }

  async #claimedLate(debt: Exclude<Debt, { kind: 'settle' }>): Promise<void> {
    const { client, run, onClaimed } = this.#options
    const { body, idempotencyKey } = debt
    const answer = await client.execute(run.id, { kind: 'claim', body }, { idempotencyKey })
    if (!answer.created) return
    const { callId, fence } = answer.body
    const settle = (outcome: Omit<SettleCall, 'fence'>) =>
      this.#settled({
        kind: 'settle',
        callId: String(callId),
        body: { fence: Number(fence), ...outcome },
        idempotencyKey: `${idempotencyKey}-settle`,
      })
    if (debt.kind === 'not-forwarded')
      return settle({ error: { message: 'not forwarded: the ledger did not answer in time', code: 'not-forwarded' } })
    if (debt.ticket.outcome === undefined) return onClaimed(debt.ticket, answer.body)
    await settle(debt.ticket.outcome)
  }

  async #settled({ callId, body, idempotencyKey }: Extract<Debt, { kind: 'settle' }>): Promise<void> {
    const { client, run } = this.#options
    try {
      await client.execute(run.id, { kind: 'settle', callId, body }, { idempotencyKey })
    } catch (error) {
      if (
        isAway(error) ||
        !(error instanceof LedgerError) ||
        body.result === undefined ||
        NOT_ITS_FAULT.has(error.status)
      )
        throw error
      const reason = `${error.code}: ${error.message}`.slice(0, REASON_MAX_CHARS)
      const unrecorded = { ...body, result: undefined, unrecorded: { reason, answered: true as const } }
      await client.execute(
        run.id,
        { kind: 'settle', callId, body: unrecorded },
        { idempotencyKey: `${idempotencyKey}-unrecorded` },
      )
    }
  }

  async #recordGap(): Promise<void> {
    const gap = this.#gap
    if (gap === undefined) return
    const { client, run, entrance, server } = this.#options
    await client.execute(run.id, { kind: 'capture', body: { gap: { entrance, server, ...gap } } })
    if (this.#gap === gap) this.#gap = undefined
    else if (this.#gap !== undefined) this.#gap = { ...this.#gap, count: this.#gap.count - gap.count }
  }
}

/** Statuses of refusals that concern the requester or the state of the call, not the result. */
const NOT_ITS_FAULT: ReadonlySet<number> = new Set([401, 403, 404, 409])

/** Whether the ledger did not answer, or reports that it cannot record now; the call itself is not at fault. */
export function isAway(error: unknown): boolean {
  if (error instanceof UnreachableError) return true
  return error instanceof LedgerError && (error.status >= 500 || error.status === 429)
}
