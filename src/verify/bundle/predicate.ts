/** @module What the manifest of a bundle says. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Loss } from '../../../schemas/loss.ts'

/** What shows that nothing was left out of a bundle: the headers of the whole log, or the tree of streams that the checkpoint names. */
export type BundleProof = 'log' | 'stream'

/** `also`: events of these types besides, whatever else is asked: what the rows of an answer follow from. */
export type BundleQuery = EventQuery & { readonly also?: readonly string[] }

export interface BundlePredicate {
  readonly exportId: string
  readonly ledgerId: string
  /** Name of the log and of its key. */
  readonly origin: string
  readonly tenant: string
  /** What was requested. */
  readonly query: BundleQuery
  /** The part of it that headers answer: every event of the log that fits it is in the bundle. */
  readonly complete: BundleQuery
  readonly exportedBy: { readonly actor: string; readonly principal?: string; readonly via?: readonly string[] }
  /** RFC 3339. */
  readonly time: string
  readonly timeZone: 'UTC'
  readonly checkpoint: { readonly size: number; readonly root: string }
  readonly counts: { readonly events: number; readonly matching: number; readonly leaves: number }
  /** Which events have a proof file of their own; the headers of the whole log prove every one. */
  readonly proofs: 'every event' | 'first and last event' | 'none'
  /** Of the answer to an auditors' question. */
  readonly answer?: { readonly question: AnswerQuestion; readonly rows: number }
  /** What the ledger says is lost, or not proven, of what was asked: then the bundle is not whole, whatever it proves. */
  readonly losses?: readonly Loss[]
}
