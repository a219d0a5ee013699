/** @module Entries of the auditors' index without a store: what a test says of them, and plain values for the rest. */
import type { AuditRow } from '../../schemas/audit-fields.ts'
import type { AuditEntry, ChargeRow } from '../../src/store/audit-index.ts'

type EntryFacts = Pick<AuditRow, 'time'> &
  Partial<Omit<AuditRow, 'leaf'>> & { readonly run: string; readonly revision: number }

export function auditEntry(leaf: number, facts: EntryFacts, charges: readonly ChargeRow[] = []): AuditEntry {
  const tenant = facts.tenant ?? 'acme'
  return {
    row: {
      ...{ tenant, type: 'EnvelopeAccepted', actor: 'a', principal: 'a', kid: 'k' },
      ...{
        position: String(leaf),
        id: `e${leaf}`,
        clocked: false,
        rules: [],
        marks: [],
        stream: `run-${tenant}.${facts.run}`,
      },
      ...facts,
      leaf,
    },
    charges,
    text: '',
  }
}
