/** @module The authority that time-stamps checkpoints (RFC 3161), as the logs see it. */

export interface TimestampAuthority {
  /** Host of the authority. */
  readonly name: string
  /** Requests a token for the SHA-256 of a text in UTF-8, with limits on time and size. Never rejects. */
  readonly stamp: (text: string, closing: AbortSignal) => Promise<Stamping>
}

export type Stamping =
  | {
      readonly ok: true
      /** RFC 3339, UTC. */
      readonly time: string
      readonly policy: string
      /** Hexadecimal digits. */
      readonly serial: string
      /** TimeStampResp, DER. */
      readonly reply: Uint8Array
    }
  | { readonly ok: false; readonly code: StampingFault; readonly message: string }

export type StampingFault =
  | 'unreachable'
  | 'too-large'
  | 'malformed'
  | 'rejected'
  | 'wrong-imprint'
  | 'wrong-nonce'
  | 'wrong-signature'

export interface StampFailures {
  /** Host of the authority. */
  readonly authority: string
  readonly code: StampingFault
  readonly count: number
}

/** State of time-stamping in this process, for monitoring. */
export interface StampingState {
  /** When and why the authority last did not return a usable token. */
  readonly lastFailure?: { readonly atMs: number; readonly code: StampingFault }
  /** Since when a log has been due for a time-stamp that is not recorded yet, in milliseconds since 1970. */
  readonly dueSinceMs?: number
  /** Whether a time-stamp has been due for longer than a working authority takes. */
  readonly late: boolean
}
