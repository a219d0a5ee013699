/** @module A row of the run list as a test needs it. */
import type { RunRow } from '../../src/store/view-store.ts'

/** Of an open run in which nothing happened yet, but for what `shape` says. */
export function runRow(shape: Partial<RunRow> = {}): RunRow {
  return {
    tenant: 'acme',
    runId: 'r1',
    name: 'triage',
    status: 'open',
    tags: [],
    agents: [],
    actor: 'agent:a',
    fold: '{}',
    startedAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    revision: 0,
    step: 0,
    rejections: 0,
    calls: 0,
    waiting: 0,
    approvals: 0,
    suspects: false,
    openCalls: 0,
    inDoubtCalls: 0,
    fence: 1,
    tokens: 0,
    ...shape,
  }
}
