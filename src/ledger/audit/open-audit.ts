/** @module The auditors' queries, put together: the index that follows the store in lulls and when it is asked, and the service over it. */
import type { AuditIndex } from '../../store/audit-index.ts'
import type { EventStore } from '../../store/event-store.ts'
import { QuietFollower } from '../quiet-follower.ts'
import type { Sealer } from '../sealer.ts'
import { AuditProjection, IndexBehindError } from './audit-projection.ts'
import type { AuditReads } from './audit-reads.ts'
import { AuditService } from './audit-service.ts'

export interface OpenAuditDeps {
  readonly store: EventStore
  readonly index: AuditIndex
  readonly sealer: Sealer
  readonly appendsSoFar: () => number
}

/** Disposing it ends the following; the index stays open: who opened it closes it. */
export function openAudit({
  store,
  index,
  sealer,
  appendsSoFar,
}: OpenAuditDeps): { readonly reads: AuditReads } & Disposable {
  const projection = new AuditProjection({ store, index, sealer })
  const follower = new QuietFollower((goOn) => projection.pass(goOn), appendsSoFar)
  const catchUp = () => follower.catchUp().catch(unlessBehind)
  return {
    reads: new AuditService({ store, index, sealer, catchUp }),
    [Symbol.dispose]: () => follower[Symbol.dispose](),
  }
}

function unlessBehind(error: unknown): void {
  if (!(error instanceof IndexBehindError)) throw error
}
