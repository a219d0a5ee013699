/** @module What the rows of the logs' file come to: losses, and what is known of a stream. */
import type { Loss } from '../../../schemas/loss.ts'
import { streamTenant } from '../../signing/stream-tenant.ts'
import type { LogStop, LogStreamRow } from '../../store/log-store.ts'
import type { KnownHead } from './tenant-logs.ts'

/** Positions of the store have no record, and no stream accounts for them. */
export const gapLoss: Loss = { scope: 'store', code: 'position-gap' }

/** A record that lies in another tenant's stream is not named to this one. */
export function stopLoss(tenant: string, { code, stream, revision }: LogStop): Loss {
  return { scope: 'tenant', code, ...(streamTenant(stream) === tenant && { stream, revision }) }
}

/** Undefined where it is another ledger's stream, or nothing is known of it. */
export function headKnownBy(row: LogStreamRow | undefined): KnownHead | undefined {
  if (row === undefined || row.foreign || row.nextRevision === 0) return undefined
  return { events: row.nextRevision, digest: row.prevDigest }
}
