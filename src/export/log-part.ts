/**
 * @module A part of the tenant's log: its events from one leaf to the pin. Whoever follows a log takes one part after the other, each from
 * where the trailer of the one before says that it ends: nothing is missing between them, and nothing is there twice.
 */
import type { PartHead } from '../../schemas/export-trailer.ts'
import type { Caller, ExportPin, Ledger, PinnedEdge } from '../ledger/ledger.ts'
import type { Refused } from './export-refusal.ts'

export interface PendingPart extends PartHead {
  readonly last: PinnedEdge['last']
  /** Of the log at the pin: where the next part begins. */
  readonly to: number
}

export type FoundPart = { readonly ok: true; readonly value: PendingPart } | Refused

/** What a part from this leaf to the pin goes on from. Throws `LogGapError` where the store lost the event before it. */
export async function partFrom({ exports }: Ledger, caller: Caller, from: number, pin: ExportPin): Promise<FoundPart> {
  const { tree } = pin
  if (tree === null)
    return {
      ok: false,
      code: 'not-found',
      detail: 'an export from a leaf needs the log, and this ledger keeps none, or it has stopped',
    }
  if (from > tree.size)
    return {
      ok: false,
      code: 'beyond-log',
      detail: `the log has ${tree.size} leaves: an export from leaf ${from} would leave out what comes before it`,
      treeSize: tree.size,
    }
  const { root, edge, last } = await exports.edgeAt(caller, from)
  return { ok: true, value: { from, root, edge: [...edge], last, to: tree.size } }
}
