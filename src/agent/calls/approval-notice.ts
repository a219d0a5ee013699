/** @module The notice that a program gets of a call that waits for an approval. */

/** A call that waits for somebody's yes. */
export interface ApprovalNotice {
  readonly runId: string
  readonly tool: string
  readonly approvalId: string
  /** Of the arguments: a decision names it. */
  readonly argsDigest: string
  /** RFC 3339: decided and used by then, or not at all. */
  readonly expiresAt: string
  /** Why somebody has to say yes. */
  readonly why: string
}

export type OnApproval = (notice: ApprovalNotice) => void
