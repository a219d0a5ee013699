/** @module A call that may be forwarded. */
import type { ClaimCall, SettleCall } from '../../schemas/requests.ts'

/** Where a call was seen; it begins the keys of its calls. */
export type EntranceName = 'mcp' | 'hook'

export type Outcome = Pick<SettleCall, 'result' | 'error' | 'unknown' | 'usage'>

export interface Claimed {
  readonly callId: string
  readonly fence: number
  readonly leaseMs: number
}

export interface Ticket {
  readonly tool: string
  /** What is held on the run's budget for it. */
  readonly reserve?: ClaimCall['reserve']
  /** Undefined where the call was let through while the ledger was away. */
  claim?: Claimed
  /** What came of it, while there is no claim to settle. */
  outcome?: Outcome
  /** It is under way no more; `isFinal`: with an outcome that a further call does not change. */
  ended?: (isFinal: boolean) => void
}
