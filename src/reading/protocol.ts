/** @module What the thread that writes and a thread that reads say to each other. Bytes are handed over, not copied. */
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { BodyPortion, BodyRequest } from '../export/export-body.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'

/** `id` names one body for its whole life. A reader does nothing that it was not asked to do: what is not read is not made. */
export type ToReader =
  | { readonly kind: 'open'; readonly id: number; readonly request: BodyRequest }
  | { readonly kind: 'next'; readonly id: number }
  | { readonly kind: 'trailer'; readonly id: number; readonly trailer: ExportTrailer }
  | { readonly kind: 'close'; readonly id: number }
  | { readonly kind: 'end' }

/** What was requested came to nothing. `retryAfterMs` is there where the store did not answer. */
export interface ReadFailure {
  readonly message: string
  readonly retryAfterMs?: number
}

export type FromReader =
  | { readonly kind: 'ready' }
  | { readonly kind: 'open-failed'; readonly message: string }
  | { readonly kind: 'portion'; readonly id: number; readonly portion: BodyPortion | undefined }
  | { readonly kind: 'trailer'; readonly id: number; readonly chunk: Uint8Array }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: ReadFailure }
  | { readonly kind: 'closed'; readonly id: number }
  /** An event that it read does not verify. */
  | { readonly kind: 'fault'; readonly fault: SealFault }
  | { readonly kind: 'memory'; readonly heapBytes: number }
