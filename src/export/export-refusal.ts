/** @module Why there is nothing to export: a refusal of the ledger, or what the one who asked has to change. */
import type { Refusal } from '../domain/refusal.ts'

export type ExportRefusal =
  | { readonly code: 'refused'; readonly detail: string; readonly refusal: Refusal }
  /** The query cannot be answered in this form. */
  | { readonly code: 'invalid-query'; readonly detail: string }
  /** What the export stands on is not kept by this ledger, or is not there yet. */
  | { readonly code: 'not-found'; readonly detail: string }
  /** The leaf to begin at lies beyond the log, which has so many. */
  | { readonly code: 'beyond-log'; readonly detail: string; readonly treeSize: number }

export type Refused = { readonly ok: false } & ExportRefusal

export function refusedBy(refusal: Refusal): Refused {
  return { ok: false, code: 'refused', detail: refusal.detail, refusal }
}
