/** @module Brings the index far enough for a query, and derives the `asOf` of its answer. */
import type { AuditIndex, AuditPin } from '../../store/audit-index.ts'
import { ViewBehindError } from '../read/view-behind.ts'
import type { AsOf } from './audit-reads.ts'
import type { LogBeside } from './log-beside.ts'

export interface ReachDeps {
  readonly index: Pick<AuditIndex, 'size' | 'row'>
  /** Absent if no log is kept. */
  readonly log?: LogBeside | undefined
  /** Brings the index up to the current end of the store, as far as it can. */
  readonly catchUp: () => Promise<void>
}

/** An index that cannot follow the store still answers for sizes that it covers completely, and for nothing newer. */
export async function reachSize(
  { index, catchUp, log }: ReachDeps,
  tenant: string,
  treeSize: number | undefined,
): Promise<void> {
  const exists = (): boolean => treeSize !== undefined && treeSize > 0 && index.size(tenant) >= treeSize
  try {
    const size = (await log?.follow(tenant)) ?? 0
    await catchUp()
    await log?.compare(tenant, size, (leaf) => index.row(tenant, leaf)?.id)
  } catch (error) {
    if (!(error instanceof ViewBehindError && exists())) throw error
  }
}

export function asOfPin(pin: AuditPin | undefined): AsOf {
  if (pin === undefined) return { treeSize: 0, position: null, eventId: null }
  return { treeSize: pin.size, position: pin.position, eventId: pin.eventId }
}
