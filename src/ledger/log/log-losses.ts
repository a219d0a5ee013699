/** @module What the rows of the logs' file come to: losses, and what is known of a stream. */
import type { Loss } from '../../../schemas/loss.ts'
import { streamTenant } from '../../signing/stream-tenant.ts'
import type { LogHole, LogProgress, LogStop, LogStreamRow } from '../../store/log-store.ts'
import { ACKNOWLEDGED, NOTES_GONE } from '../ledger-stats.ts'
import type { KnownHead } from './tenant-logs.ts'

/** Positions of the store have no record, and no stream accounts for them. */
export const gapLoss: Loss = { scope: 'store', code: 'position-gap' }

/** Notes of the store's writers are gone or altered: what they attested may be gone as well, and nothing tells whose it was. */
export const notesLoss: Loss = { scope: 'store', code: NOTES_GONE }

/** What the file knows to be lost that no log can name. */
export function lossesOfStore(progress: Pick<LogProgress, 'gap' | 'notes'> | undefined): readonly Loss[] {
  return [
    ...(progress?.gap === undefined ? [] : [gapLoss]),
    ...(progress?.notes?.broken === undefined ? [] : [notesLoss]),
  ]
}

/** A record that lies in another tenant's stream is not named to this one. */
export function stopLoss(tenant: string, { code, stream, revision }: LogStop): Loss {
  return { scope: 'tenant', code, ...(streamTenant(stream) === tenant && { stream, revision }) }
}

export function holeLoss({ stream, revision }: LogHole): Loss {
  return { scope: 'run', code: ACKNOWLEDGED, stream, revision }
}

/** Undefined where it is another ledger's stream, or nothing is known of it. */
export function headKnownBy(row: LogStreamRow | undefined): KnownHead | undefined {
  if (row === undefined || row.foreign || row.nextRevision === 0) return undefined
  return { events: row.nextRevision, digest: row.prevDigest }
}
