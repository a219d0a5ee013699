/** @module Whether a row of the run list fits a filter, for rows that no statement found; what a store's own statement says of it (`sqlite/run-rows.ts`). */
import { runSearchText, searchedText } from './run-search-text.ts'
import type { RunFilter, RunRow } from './view-store.ts'

/** What it asks of a run, apart from where a page begins and ends. */
export type RowFilter = Omit<RunFilter, 'tenant' | 'after' | 'limit'>

export function rowFits(row: RunRow, filter: RowFilter): boolean {
  return onceTrueFits(row, filter) && stateFits(row, filter)
}

/**
 * By what a run keeps: what its start said of it, and what is only ever added to (agents, refusals). Where the run as it is now does not fit,
 * it never did.
 */
export function onceTrueFits(row: RunRow, { name, tag, agent, contains, refused, since, until }: RowFilter): boolean {
  if (name !== undefined && row.name !== name) return false
  if (tag !== undefined && !row.tags.includes(tag)) return false
  if (agent !== undefined && !row.agents.includes(agent)) return false
  if (contains !== undefined && !runSearchText(row).includes(searchedText(contains))) return false
  if (refused === true && row.rejections === 0) return false
  return (since === undefined || row.startedAt >= since) && (until === undefined || row.startedAt < until)
}

function stateFits(row: RunRow, filter: RowFilter): boolean {
  const { status, compensation, leaseOverAt } = filter
  if (status !== undefined && row.status !== status) return false
  if (compensation !== undefined && row.compensation !== compensation) return false
  if (filter.waiting === true && row.waiting === 0) return false
  if (filter.withApprovals === true && row.approvals === 0) return false
  if (filter.withSuspects === true && !row.suspects) return false
  if (filter.withOpenCalls === true && row.openCalls === 0) return false
  if (filter.inDoubt === true && row.inDoubtCalls === 0) return false
  return leaseOverAt === undefined || (row.leaseUntil !== undefined && row.leaseUntil < leaseOverAt)
}
