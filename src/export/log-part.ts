/**
 * @module A part of the tenant's log: its events from one leaf to the pin. A follower requests one part after the other, each from the leaf at which the
 * trailer of the previous part ends: nothing is missing or duplicated between them.
 */
import type { PartHead } from '../../schemas/export-trailer.ts'
import type { Caller, ExportPin, Ledger, PinnedEdge } from '../ledger/ledger.ts'
import type { Refused } from './export-refusal.ts'

export interface PendingPart extends PartHead {
  readonly last: PinnedEdge['last']
  /** Size of the log at the pin: the next part begins there. */
  readonly to: number
}

export type FoundPart = { readonly ok: true; readonly value: PendingPart } | Refused

/** The tree that a part from this leaf to the pin continues. Throws `LogGapError` if the store lost the event before it. */
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
