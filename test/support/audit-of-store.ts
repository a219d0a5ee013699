/** @module Audit queries over any readable store: offline, or next to the process that owns it, and without recording the reads. */
import { AuditProjection } from '../../src/ledger/audit/audit-projection.ts'
import { AuditService, type UnrecordedReads } from '../../src/ledger/audit/audit-service.ts'
import type { Sealer } from '../../src/ledger/identity/sealer.ts'
import { MemoryBudget } from '../../src/resources/memory-budget.ts'
import type { AuditIndex } from '../../src/store/audit-index.ts'
import type { EventStore } from '../../src/store/event-store.ts'

export interface StoreAuditDeps {
  readonly store: Pick<EventStore, 'readAll' | 'readStream' | 'recordAt' | 'end' | 'comparePositions'>
  readonly index: AuditIndex
  readonly sealer?: Sealer
  readonly onProgress?: (events: number) => void
}

/** Each query first brings the index up to the end of the store. */
export function auditOfStore(deps: StoreAuditDeps): UnrecordedReads {
  const projection = new AuditProjection({ ...deps, memory: new MemoryBudget(), isAlone: true })
  return new AuditService({ ...deps, catchUp: () => projection.pass(() => true) })
}
