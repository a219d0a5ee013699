/** @module What the thread that writes and a thread that reads ask of each other. Bytes are handed over, not copied. */
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { AnswerBodyRequest, AnswerPortion } from '../export/answer/answer-body.ts'
import type { BundleRequest } from '../export/bundle/plan-bundle.ts'
import type { BodyPortion, BodyRequest, LinesPortion, LinesRequest } from '../export/export-body.ts'
import type { AuditPage, PlannedQuestion } from '../ledger/audit/audit-reads.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { DsseEnvelope } from '../signing/dsse.ts'
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

/** `id` names one body for its whole life. A reader does nothing that it was not asked to do: what is not read is not made. */
export interface ReaderCalls {
  /** Told: what it is to be made of. */
  readonly open: (id: number, job: ReaderJob) => void
  readonly next: (id: number) => ReaderPortion | undefined
  readonly trailer: (id: number, trailer: ExportTrailer) => Uint8Array
  /** Told: nobody wants more, and what is under way fails at its next record. */
  readonly leave: (id: number) => void
  readonly close: (id: number) => void
}

/** What only the thread with the log, its key and the index can say: asked in the middle of a portion. */
export interface ReaderHostCalls {
  /** See `IndexOwner`. */
  readonly vouch: (id: number, damage: string | undefined) => string | undefined
  readonly opening: (id: number) => void
  readonly opened: (id: number) => void
  readonly sign: (id: number, payloadType: string, payload: Uint8Array) => DsseEnvelope | undefined
  /** Told, as the next one: an event that it read does not verify. */
  readonly fault: (fault: SealFault) => void
  readonly heap: (bytes: number) => void
}
