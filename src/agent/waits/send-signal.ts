/** @module Sends a signal from outside to a run that waits for it (RUN-67). */
import { SIGNAL_MAX_BYTES } from '../../../schemas/value-forms.ts'
import { recordable } from '../calls/recordable.ts'
import { LedgerRefused } from '../errors.ts'
import type { Connection } from '../runtime/connection.ts'
import { notRecordable } from '../too-large.ts'

/** Options of one signal. */
export interface SignalOptions {
  /** The sender's own id of the signal: a repeated signal with the same id counts as the same signal. */
  readonly requestId?: string
}

/** The result of sending a signal. */
export interface SentSignal {
  readonly signalId: string
  /** `delivered`: it ended a wait; `held`: it is kept for the next wait of its name. */
  readonly status: 'delivered' | 'held'
  readonly waitId?: string
}

/** Throws `LedgerRefused`, `not-recordable`, `value-too-large`. */
export async function sendSignal(
  connection: Connection,
  { runId, name, payload = null }: { readonly runId: string; readonly name: string; readonly payload: unknown },
  { requestId }: SignalOptions = {},
): Promise<SentSignal> {
  const recorded = recordable(payload, undefined, { maxBytes: SIGNAL_MAX_BYTES })
  if (!recorded.ok) throw notRecordable(`the payload of the signal ${name}`, recorded, { runId })
  const command = { kind: 'signal', name, body: { payload: recorded.value } } as const
  const options = requestId === undefined ? {} : { idempotencyKey: requestId }
  const reply = await connection.execute(runId, command, options)
  if (!reply.ok) throw new LedgerRefused(reply.problem)
  const { signalId, status, waitId } = reply.body
  return {
    signalId: String(signalId),
    status: status === 'held' ? 'held' : 'delivered',
    ...(typeof waitId === 'string' && { waitId }),
  }
}
