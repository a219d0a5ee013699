/** @module Keeps the lease of a call while its tool runs, by renewing it after each third of its duration. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { Connection } from '../runtime/connection.ts'

export interface Claimed {
  readonly callId: string
  readonly fence: number
  readonly leaseMs: number
  /** Attempt of the call, from 1; attempts of earlier processes count. */
  readonly attempt: number
  /** The recorded time of the claim. */
  readonly claimedAt: string
  /** Id of the budget reservation for the call. */
  readonly reservationId?: string
}

/** Parses the answer to a claim. */
export function claimedIn(body: JsonObject): Claimed {
  return {
    callId: String(body.callId),
    fence: Number(body.fence),
    leaseMs: Number(body.leaseMs),
    attempt: Number(body.attempt),
    claimedAt: String(body.claimedAt ?? new Date().toISOString()),
    ...(typeof body.reservationId === 'string' && { reservationId: body.reservationId }),
  }
}

const PART = 3

/** Runs the work and renews the lease of the call meanwhile. */
export async function underLease<T>(
  {
    connection,
    runId,
    claimed,
  }: { readonly connection: Connection; readonly runId: string; readonly claimed: Claimed },
  work: () => Promise<T>,
): Promise<T> {
  const stop = keepLease(connection, runId, claimed)
  try {
    return await work()
  } finally {
    stop()
  }
}

/** Renewal stops when the returned function is called, or when the ledger reports that the lease is lost; the settle reports that case. */
export function keepLease(connection: Connection, runId: string, claimed: Claimed): () => void {
  const { callId, fence } = claimed
  let timer: ReturnType<typeof setTimeout> | undefined
  let over = false

  const plan = (leaseMs: number): void => {
    timer = setTimeout(() => void renew(leaseMs), leaseMs / PART)
    timer.unref?.()
  }
  const renew = async (leaseMs: number): Promise<void> => {
    try {
      const reply = await connection.execute(runId, { kind: 'renew', callId, body: { fence } })
      if (!over && reply.ok) plan(Number(reply.body.leaseMs ?? leaseMs))
    } catch {
      // The ledger is unreachable. A settle after the deadline is accepted as well.
      if (!over) plan(leaseMs)
    }
  }
  plan(claimed.leaseMs)
  return () => {
    over = true
    clearTimeout(timer)
  }
}
