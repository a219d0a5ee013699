/** @module What the thread that writes and a thread that reads say to each other. Bytes are handed over, not copied. */
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { AnswerBodyRequest, AnswerPortion } from '../export/answer/answer-body.ts'
import type { BundleRequest } from '../export/bundle/plan-bundle.ts'
import type { BodyPortion, BodyRequest, LinesPortion, LinesRequest } from '../export/export-body.ts'
import type { AuditPage, PlannedQuestion } from '../ledger/audit/audit-reads.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { DsseEnvelope } from '../signing/dsse.ts'
import type { DerivedFileRenewal } from '../store/derived-file.ts'
import type { ReplayPortion, ReplayRequest } from './replay-portions.ts'

/** What a reader makes. */
export type ReaderJob =
  | { readonly kind: 'export'; readonly request: BodyRequest }
  | { readonly kind: 'lines'; readonly request: LinesRequest; readonly isFirst: boolean }
  | { readonly kind: 'bundle'; readonly request: BundleRequest }
  | { readonly kind: 'replay'; readonly request: ReplayRequest }
  | { readonly kind: 'question'; readonly request: QuestionRequest }
  | { readonly kind: 'answer'; readonly request: AnswerBodyRequest }

/** One page of an answer to a question of auditors. */
export interface QuestionRequest {
  readonly tenant: string
  /** Whose share of the readers' time it takes. */
  readonly caller: string
  readonly planned: PlannedQuestion
}

/** The only portion of a page: its rows as the text of a JSON array, and what is said of them. */
export interface PagePortion {
  readonly chunk: Uint8Array
  readonly page: Omit<AuditPage, 'items' | 'itemsText'>
}

export type ReaderPortion = BodyPortion | LinesPortion | ReplayPortion | AnswerPortion | PagePortion

/** What only the thread with the log, its key and the index can say: asked in the middle of a portion, one question at a time. */
export type HostQuestion =
  /** What the file system says of an index that may be believed; `damage`: why it could not be read. */
  | { readonly what: 'index-state'; readonly damage?: string | undefined }
  /** A connection is about to open the file of the index, or has done so. */
  | { readonly what: 'index-opening' | 'index-opened' }
  | { readonly what: 'sign'; readonly payloadType: string; readonly payload: Uint8Array }

export type HostAnswer =
  | { readonly what: 'index-state'; readonly state: string | undefined }
  | { readonly what: 'noted' }
  | { readonly what: 'signed'; readonly envelope: DsseEnvelope | undefined }
  | { readonly what: 'failed'; readonly failure: ReadFailure }

/** `id` names one body for its whole life. A reader does nothing that it was not asked to do: what is not read is not made. */
export type ToReader =
  | { readonly kind: 'open'; readonly id: number; readonly job: ReaderJob }
  | { readonly kind: 'next'; readonly id: number }
  | { readonly kind: 'trailer'; readonly id: number; readonly trailer: ExportTrailer }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: HostAnswer }
  /** Nobody wants more: what is under way fails at its next record. */
  | { readonly kind: 'leave'; readonly id: number }
  | { readonly kind: 'close'; readonly id: number }
  | { readonly kind: 'end' }

/** What was requested came to nothing. `retryAfterMs` is there where the store did not answer, `hasLeft` where nobody wants it any more. */
export interface ReadFailure {
  readonly message: string
  readonly retryAfterMs?: number
  readonly hasLeft?: true
  /** An event of the index that the store does not hold. */
  readonly missing?: { readonly stream: string; readonly revision: number }
  /** A derived file that was found damaged and is made anew. */
  readonly renewal?: DerivedFileRenewal
}

export type FromReader =
  | { readonly kind: 'ready' }
  | { readonly kind: 'open-failed'; readonly message: string }
  | { readonly kind: 'portion'; readonly id: number; readonly portion: ReaderPortion | undefined }
  | { readonly kind: 'trailer'; readonly id: number; readonly chunk: Uint8Array }
  | { readonly kind: 'question'; readonly id: number; readonly question: HostQuestion }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: ReadFailure }
  | { readonly kind: 'closed'; readonly id: number }
  /** An event that it read does not verify. */
  | { readonly kind: 'fault'; readonly fault: SealFault }
  | { readonly kind: 'memory'; readonly heapBytes: number }
