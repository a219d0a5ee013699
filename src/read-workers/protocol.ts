/** @module The messages between the thread that writes and a reader thread. Bytes are transferred, not copied. */
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { AnswerBodyRequest, AnswerPortion } from '../export/answer/answer-body.ts'
import type { BundleRequest } from '../export/bundle/plan-bundle.ts'
import type { BodyPortion, BodyRequest, LinesPortion, LinesRequest } from '../export/export-body.ts'
import type { AuditPage, PlannedQuestion } from '../ledger/audit/audit-reads.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { DsseEnvelope } from '../signing/dsse.ts'
import type { ReplayPortion, ReplayRequest } from './replay-portions.ts'

/** The kinds of body that a reader makes. */
export type ReaderJob =
  | { readonly kind: 'export'; readonly request: BodyRequest }
  | { readonly kind: 'lines'; readonly request: LinesRequest; readonly isFirst: boolean }
  | { readonly kind: 'bundle'; readonly request: BundleRequest }
  | { readonly kind: 'replay'; readonly request: ReplayRequest }
  | { readonly kind: 'question'; readonly request: QuestionRequest }
  | { readonly kind: 'answer'; readonly request: AnswerBodyRequest }

/** One page of an answer to an audit query. */
export interface QuestionRequest {
  readonly tenant: string
  /** The caller whose share of the readers' time is used. */
  readonly caller: string
  readonly planned: PlannedQuestion
}

/** The only portion of a page: its rows as the text of a JSON array, and the metadata of the page. */
export interface PagePortion {
  readonly chunk: Uint8Array
  readonly page: Omit<AuditPage, 'items' | 'itemsText'>
}

export type ReaderPortion = BodyPortion | LinesPortion | ReplayPortion | AnswerPortion | PagePortion

/** Calls to a reader. `id` identifies one body for its whole life. A reader makes a portion only when it is requested. */
export interface ReaderCalls {
  /** A notification without an answer: what the body consists of. */
  readonly open: (id: number, job: ReaderJob) => void
  readonly next: (id: number) => ReaderPortion | undefined
  readonly trailer: (id: number, trailer: ExportTrailer) => Uint8Array
  /** A notification without an answer: the body is no longer wanted, and work in progress fails at its next record. */
  readonly leave: (id: number) => void
  readonly close: (id: number) => void
}

/** Calls from a reader, in the middle of a portion, to the thread that has the log, its key and the index. */
export interface ReaderHostCalls {
  /** See `IndexOwner`. */
  readonly vouch: (id: number, damage: string | undefined) => string | undefined
  readonly opening: (id: number) => void
  readonly opened: (id: number) => void
  readonly sign: (id: number, payloadType: string, payload: Uint8Array) => DsseEnvelope | undefined
  /** A notification, like the next one: an event that the reader read does not verify. */
  readonly fault: (fault: SealFault) => void
  readonly heap: (bytes: number) => void
}
