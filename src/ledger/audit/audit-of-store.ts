/** @module The auditors' queries over any store that can be read: offline, beside an owner, and without a record of who asked. */
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

/** Each question first brings the index to where the store is. */
export function auditOfStore(deps: StoreAuditDeps): UnrecordedReads {
  const projection = new AuditProjection({ ...deps, memory: new MemoryBudget(), isAlone: true })
  return new AuditService({ ...deps, catchUp: () => projection.pass(() => true) })
}
