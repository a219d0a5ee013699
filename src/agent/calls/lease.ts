/** @module Keeps the lease of a call while its tool runs: renewed at a third of its length. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { Connection } from '../runtime/connection.ts'

export interface Claimed {
  readonly callId: string
  readonly fence: number
  readonly leaseMs: number
  /** Of the call, from 1: those of earlier lives count. */
  readonly attempt: number
  /** As the record says it. */
  readonly claimedAt: string
  /** What is held on the budget for it. */
  readonly reservationId?: string
}

/** In the answer to a claim. */
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

/** The lease of a call is renewed while the work goes on. */
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

/** Stops by what it returns, or when the ledger says that the lease is lost: the settle will say the rest. */
function keepLease(connection: Connection, runId: string, claimed: Claimed): () => void {
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
      // Out of reach: a settle past the deadline is accepted as well.
      if (!over) plan(leaseMs)
    }
  }
  plan(claimed.leaseMs)
  return () => {
    over = true
    clearTimeout(timer)
  }
}
