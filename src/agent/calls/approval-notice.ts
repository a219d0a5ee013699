/** @module The notice to the program that a call waits for an approval. */

/** A call that waits for an approval. */
export interface ApprovalNotice {
  readonly runId: string
  readonly tool: string
  readonly approvalId: string
  /** Digest of the arguments; a decision must name it. */
  readonly argsDigest: string
  /** RFC 3339; the approval must be granted and used by then. */
  readonly expiresAt: string
  /** Why the approval is needed. */
  readonly why: string
}

export type OnApproval = (notice: ApprovalNotice) => void
