/** @module The authority that time-stamps checkpoints (RFC 3161), as the logs see it. */

export interface TimestampAuthority {
  /** Its host. */
  readonly name: string
  /** Requests a token for SHA-256 of a text's bytes (UTF-8), within a time and a size. Never rejects. */
  readonly stamp: (text: string, closing: AbortSignal) => Promise<Stamping>
}

export type Stamping =
  | {
      readonly ok: true
      /** RFC 3339, UTC. */
      readonly time: string
      readonly policy: string
      /** Hex digits. */
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
  /** Its host. */
  readonly authority: string
  readonly code: StampingFault
  readonly count: number
}

/** How time-stamping goes on in this process, for whoever watches it. */
export interface StampingState {
  /** When the authority last gave no token that can be used, and why. */
  readonly lastFailure?: { readonly atMs: number; readonly code: StampingFault }
  /** Since when a log has been due for a time-stamp that is not on record; milliseconds since 1970. */
  readonly dueSinceMs?: number
  /** It is due for longer than a working authority takes. */
  readonly late: boolean
}
