/** @module The ledger that a capture command records in, and the timeouts of requests to it. */
import type { Client } from '../client/client.ts'

export interface CaptureLedger extends AsyncDisposable {
  readonly client: Client
  /** URL of a ledger that is served; undefined if the ledger is in this process. */
  readonly url: string | undefined
}

export interface CaptureClient {
  /** The command that the flags belong to. */
  readonly command: string
  readonly timeoutMs: number
  readonly patienceMs: number
  /** Milliseconds to wait for a store that another process owns; default: no wait. */
  readonly lockedMs?: number
}
