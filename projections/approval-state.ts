/** @module The state of an approval within a run's state. */
import type { ApprovalNeed } from '../schemas/approval.ts'
import type { Phase } from '../schemas/values.ts'

/** Status as recorded: an approval past its deadline stays pending or granted until an event marks it expired. */
export type ApprovalStatus = 'pending' | 'granted' | 'denied' | 'expired' | 'used'

/** The parties that a token names: the actor, the principal it acts for, and the earlier actors in between. */
export interface Person {
  readonly actor: string
  readonly principal?: string
  readonly via?: readonly string[]
}

export interface ApprovalState {
  readonly approvalId: string
  readonly key: string
  readonly tool: string
  readonly phase: Phase
  readonly argsDigest: string
  readonly generation: number
  /** The compensation that is approved together with the call. */
  readonly undoneBy?: string
  readonly agent?: string
  readonly scope?: string
  /** Revision of the request, whose event holds the arguments. */
  readonly revision: number
  readonly requestedAt: string
  readonly requestedBy: Person
  readonly needs: readonly ApprovalNeed[]
  readonly expiresAt: string
  readonly selfApproval: boolean
  readonly onDenied: 'error' | 'rollback'
  /** Grants, oldest first. */
  readonly grants: (Person & { readonly roles: readonly string[]; readonly revision: number })[]
  /** The person who denied the approval, with their comment. */
  denial?: Person & { readonly comment?: string }
  status: ApprovalStatus
  /** Revision of the event that completed, denied or expired the approval. */
  decidedRevision?: number
  /** The call that used the approval. */
  callId?: string
}
