/** @module A call that may be forwarded, with its claim. */
import type { ClaimCall, SettleCall } from '../../schemas/requests.ts'

/** The entrance through which a call was seen; it prefixes the call keys. */
export type EntranceName = 'mcp' | 'hook'

export type Outcome = Pick<SettleCall, 'result' | 'error' | 'unknown' | 'unrecorded' | 'usage'>

export interface Claimed {
  readonly callId: string
  readonly fence: number
  readonly leaseMs: number
}

export interface Ticket {
  readonly tool: string
  /** The amount reserved on the run's budget. */
  readonly reserve?: ClaimCall['reserve']
  /** Undefined if the call was let through while the ledger was unavailable. */
  claim?: Claimed
  /** The outcome, while there is no claim to settle. */
  outcome?: Outcome
  /** Called when the call has ended; `isFinal`: its outcome will not change with a further call. */
  ended?: (isFinal: boolean) => void
}
