/** @module Converts rows of the file of the logs into losses and into the known head of a stream. */
import type { Loss } from '../../../schemas/loss.ts'
import { streamTenant } from '../../signing/stream-tenant.ts'
import type { LogHole, LogProgress, LogStop, LogStreamRow } from '../../store/log-store.ts'
import { ACKNOWLEDGED, NOTES_GONE } from '../ledger-stats.ts'
import type { KnownHead } from './tenant-logs.ts'

/** Positions of the store have no record, and no stream accounts for them. */
export const gapLoss: Loss = { scope: 'store', code: 'position-gap' }

/** Notes of the store's writers are missing or altered: the events that they attested may be missing as well, and cannot be assigned to a tenant. */
export const notesLoss: Loss = { scope: 'store', code: NOTES_GONE }

/** Losses known to the file that no log can name. */
export function lossesOfStore(progress: Pick<LogProgress, 'gap' | 'notes'> | undefined): readonly Loss[] {
  return [
    ...(progress?.gap === undefined ? [] : [gapLoss]),
    ...(progress?.notes?.broken === undefined ? [] : [notesLoss]),
  ]
}

/** The place of a record in another tenant's stream is not disclosed to this tenant. */
export function stopLoss(tenant: string, { code, stream, revision }: LogStop): Loss {
  return { scope: 'tenant', code, ...(streamTenant(stream) === tenant && { stream, revision }) }
}

function holeLoss({ stream, revision }: LogHole): Loss {
  return { scope: 'run', code: ACKNOWLEDGED, stream, revision }
}

/** Events of the holes: first the first of each hole, so that a short list names all holes, then `more` of the others at most. */
export function holeLosses(holes: readonly LogHole[], more = Number.POSITIVE_INFINITY): readonly Loss[] {
  const losses = holes.map(holeLoss)
  const end = losses.length + more
  for (const { stream, revision: first, to = first } of holes)
    for (let revision = first + 1; revision <= to && losses.length < end; revision += 1)
      losses.push(holeLoss({ stream, revision }))
  return losses
}

/** Undefined for a stream of another ledger, or if nothing is known of it. */
export function headKnownBy(row: LogStreamRow | undefined): KnownHead | undefined {
  if (row === undefined || row.foreign) return undefined
  const { nextRevision, attested = 0, prevDigest } = row
  const events = Math.max(nextRevision, attested)
  return events === 0 ? undefined : { events, digest: events === nextRevision ? prevDigest : undefined }
}
