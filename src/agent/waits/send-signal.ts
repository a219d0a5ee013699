/** @module Sends a signal from outside to a run that waits for it (RUN-67). */
import { SIGNAL_MAX_BYTES } from '../../../schemas/value-forms.ts'
import { recordable } from '../calls/recordable.ts'
import { LedgerRefused } from '../errors.ts'
import { aName, chars, checkOptions, type OptionRules } from '../option-rules.ts'
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

const SENT: OptionRules<SignalOptions & { readonly runId: string; readonly name: string }> = {
  ...{ runId: chars(1, 128), name: aName, requestId: chars(1, 256) },
}

/** Sends a signal to a run. Throws `invalid-option`, `LedgerRefused`, `not-recordable`, `value-too-large`. */
export async function sendSignal(
  connection: Connection,
  { runId, name, payload = null }: { readonly runId: string; readonly name: string; readonly payload: unknown },
  options: SignalOptions = {},
): Promise<SentSignal> {
  checkOptions('cs.signal', { ...options, runId, name }, SENT, ['runId', 'name'])
  const recorded = recordable(payload, undefined, { maxBytes: SIGNAL_MAX_BYTES })
  if (!recorded.ok) throw notRecordable(`the payload of the signal ${name}`, recorded, { runId })
  const command = { kind: 'signal', name, body: { payload: recorded.value } } as const
  const { requestId } = options
  const reply = await connection.execute(runId, command, requestId === undefined ? {} : { idempotencyKey: requestId })
  if (!reply.ok) throw new LedgerRefused(reply.problem)
  const { signalId, status, waitId } = reply.body
  return {
    signalId: String(signalId),
    status: status === 'held' ? 'held' : 'delivered',
    ...(typeof waitId === 'string' && { waitId }),
  }
}
