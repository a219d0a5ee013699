/** @module What a page of events changes in the auditors' index, from when they are read to when they are saved. */
import type { ChargeState } from '../../../projections/charges.ts'
import { textBytes } from '../../resources/sized-cache.ts'
import type { AuditEntry } from '../../store/audit-index.ts'

/** What later events of a call, which name the call alone, are listed by. */
export interface Claim {
  readonly agent?: string
  readonly tool?: string
}

/** What the index does not know before the page is saved: a cache may release it meanwhile. */
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
