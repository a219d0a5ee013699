/** @module Audit queries over any readable store: offline, or next to the process that owns it, and without recording the reads. */
import { MemoryBudget } from '../../resources/memory-budget.ts'
import type { AuditIndex } from '../../store/audit-index.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { AuditProjection } from './audit-projection.ts'
import { AuditService, type UnrecordedReads } from './audit-service.ts'

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
