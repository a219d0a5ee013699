/** @module How far the index has to be for a question, and what its answer is then as of. */
import type { AuditIndex, AuditPin } from '../../store/audit-index.ts'
import { ViewBehindError } from '../read/view-behind.ts'
import type { AsOf } from './audit-reads.ts'

export interface ReachDeps {
  readonly index: Pick<AuditIndex, 'size'>
  /** Brings the index to where the store is now, as far as it can. */
  readonly catchUp: () => Promise<void>
}

/** Where the index cannot follow the store it answers of what it holds whole, and of nothing newer. */
export async function reachSize(
  { index, catchUp }: ReachDeps,
  tenant: string,
  treeSize: number | undefined,
): Promise<void> {
  try {
    await catchUp()
  } catch (error) {
    const exists = treeSize !== undefined && treeSize > 0 && index.size(tenant) >= treeSize
    if (!(error instanceof ViewBehindError && exists)) throw error
  }
}

export function asOfPin(pin: AuditPin | undefined): AsOf {
  if (pin === undefined) return { treeSize: 0, position: null, eventId: null }
  return { treeSize: pin.size, position: pin.position, eventId: pin.eventId }
}
