/** @module The ledger of an entrance, and how patiently it is asked. */
import type { Client } from '../client/client.ts'

export interface CaptureLedger extends AsyncDisposable {
  readonly client: Client
  /** Of a ledger that is served; undefined where it is in this process. */
  readonly url: string | undefined
}

export interface CaptureClient {
  /** Whose flags they are. */
  readonly command: string
  readonly timeoutMs: number
  readonly patienceMs: number
  /** How long a store that another process has is waited for; default: not at all. */
  readonly lockedMs?: number
}
