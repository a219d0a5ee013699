/** @module Keeps the lease of a call while its tool runs, by renewing it after a third of its duration. */

import type { Client } from '../client/client.ts'
import { LedgerError } from '../client/errors.ts'
import type { Claimed } from './ticket.ts'

const PART = 3

/** Returns a function that stops renewal. An unreachable ledger does not stop it, because a settlement after the deadline is accepted as well. */
export function keepLease(client: Client, runId: string, { callId, fence, leaseMs }: Claimed): () => void {
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  const plan = (length: number): void => {
    timer = setTimeout(() => void renew(length), length / PART)
    timer.unref()
  }
  const renew = async (length: number): Promise<void> => {
    try {
      const { body } = await client.execute(runId, { kind: 'renew', callId, body: { fence } })
      if (!isOver) plan(Number(body.leaseMs ?? length))
    } catch (error) {
      if (!isOver && !(error instanceof LedgerError)) plan(length)
    }
  }
  plan(leaseMs)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
