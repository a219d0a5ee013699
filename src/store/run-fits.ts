/** @module Decides whether a row of the run list matches a filter, for rows that were not selected by SQL; `sqlite/run-rows.ts` has the SQL equivalent. */
import { runSearchText, searchedText } from './run-search-text.ts'
import type { RunFilter, RunRow } from './view-store.ts'

/** The conditions on a run, without those that select a tenant and a page. */
export type RowFilter = Omit<RunFilter, 'tenant' | 'after' | 'limit'>

export function rowFits(row: RunRow, filter: RowFilter): boolean {
  return onceTrueFits(row, filter) && stateFits(row, filter)
}

/**
 * Checks the properties that a run never loses: those from its start, and those that only grow (agents, refusals). If the current row does not match, no
 * earlier state of the run did.
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
  if (filter.stuck === true && row.stuck === undefined) return false
  if (filter.withApprovals === true && row.approvals === 0) return false
  if (filter.withSuspects === true && !row.suspects) return false
  if (filter.withOpenCalls === true && row.openCalls === 0) return false
  if (filter.inDoubt === true && row.inDoubtCalls === 0) return false
  return leaseOverAt === undefined || (row.leaseUntil !== undefined && row.leaseUntil < leaseOverAt)
}
