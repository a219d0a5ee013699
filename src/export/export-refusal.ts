/** @module Reasons why an export is refused: a refusal of the ledger, or a request that the caller has to change. */
import type { Refusal } from '../domain/refusal.ts'

export type ExportRefusal =
  | { readonly code: 'refused'; readonly detail: string; readonly refusal: Refusal }
  /** The query cannot be answered in this format. */
  | { readonly code: 'invalid-query'; readonly detail: string }
  /** The data that the export needs is not kept by this ledger, or does not exist yet. */
  | { readonly code: 'not-found'; readonly detail: string }
  /** The requested first leaf is beyond the log, which has `treeSize` leaves. */
  | { readonly code: 'beyond-log'; readonly detail: string; readonly treeSize: number }

export type Refused = { readonly ok: false } & ExportRefusal

export function refusedBy(refusal: Refusal): Refused {
  return { ok: false, code: 'refused', detail: refusal.detail, refusal }
}
