/** @module What a run's state knows of an approval. */
import type { ApprovalNeed } from '../schemas/approval.ts'
import type { Phase } from '../schemas/values.ts'

/** `expired` is what is on record: one that is past its end is still pending or granted until an event says so. */
export type ApprovalStatus = 'pending' | 'granted' | 'denied' | 'expired' | 'used'

/** Whom a token names: who acts, for whom, and through whom that came to it. */
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
  /** The compensation that is approved with the call. */
  readonly undoneBy?: string
  readonly agent?: string
  readonly scope?: string
  /** Where the arguments stand. */
  readonly revision: number
  readonly requestedAt: string
  readonly requestedBy: Person
  readonly needs: readonly ApprovalNeed[]
  readonly expiresAt: string
  readonly selfApproval: boolean
  readonly onDenied: 'error' | 'rollback'
  /** Who approved, oldest first. */
  readonly grants: (Person & { readonly roles: readonly string[]; readonly revision: number })[]
  /** Who denied it, and why. */
  denial?: Person & { readonly comment?: string }
  status: ApprovalStatus
  /** Where it was completed, denied or ended. */
  decidedRevision?: number
  /** The call that it was used for. */
  callId?: string
}
