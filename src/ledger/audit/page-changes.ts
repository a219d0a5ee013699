/** @module The changes that a page of events makes to the audit index, between reading and saving them. */
import type { ChargeState } from '../../../projections/charges.ts'
import { textBytes } from '../../resources/sized-cache.ts'
import type { AuditEntry } from '../../store/audit-index.ts'

/** Facts of a call's claim, for later events of the call that name only the call. */
export interface Claim {
  readonly agent?: string
  readonly tool?: string
}

/** Changes that are not in the index before the page is saved; they are kept here because a cache may evict them in the meantime. */
export interface PageChanges {
  readonly entries: AuditEntry[]
  readonly states: Map<string, ChargeState>
  readonly claims: Map<string, Claim>
  readonly ours: Set<string>
  readonly foreign: Set<string>
  readonly sizes: Map<string, number>
}

export const noChanges = (): PageChanges => ({
  entries: [],
  states: new Map(),
  claims: new Map(),
  ours: new Set(),
  foreign: new Set(),
  sizes: new Map(),
})

export function claimBytes({ agent = '', tool = '' }: Claim): number {
  return textBytes(agent) + textBytes(tool)
}
