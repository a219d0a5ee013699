/** @module Whose a record is that does not verify in its place: of a log, which stops there, or of a stream that this ledger did not write. */

import { type Fault, faultsIn } from '../../signing/check.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { streamTenant } from '../../signing/stream-tenant.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { expectedAlone, sealFaults } from '../read/record-seal.ts'

/** Events of a stream that are looked at for one that verifies. */
const LOOKED_AT_MAX = 1_000

export interface BrokenRecord {
  readonly record: ReadRecord
  readonly faults: readonly Fault[]
  /** An event of its stream is a leaf already. */
  readonly isKnownStream: boolean
}

/**
 * Tenants whose log stops there: the one of its stream, and the one that it was sealed for, where somebody moved it here. None where the stream is
 * foreign: none of its events verifies, nothing knows it, its first one does not name a key of ours, and the store is one that others write (LOG-2).
 */
export async function logsStoppedBy(
  deps: { readonly store: EventStore; readonly sealer: Sealer },
  broken: BrokenRecord,
): Promise<ReadonlySet<string>> {
  const tenants = new Set<string>()
  const own = streamTenant(broken.record.stream)
  if (own !== undefined && (await isOurs(deps, broken))) tenants.add(own)
  const sealedFor = sealedTenant(deps.sealer, broken.record)
  if (sealedFor !== undefined) tenants.add(sealedFor)
  return tenants
}

async function isOurs(
  { store, sealer }: { readonly store: EventStore; readonly sealer: Sealer },
  { record, faults, isKnownStream }: BrokenRecord,
): Promise<boolean> {
  if (isKnownStream || store.densePositions === true) return true
  const mayBeForeign = !readHeader(record.header).ok || faults.some(({ code }) => code === 'unknown-key')
  if (!mayBeForeign) return true
  const more = store.readStream(record.stream, { from: record.revision + 1, to: record.revision + LOOKED_AT_MAX })
  for await (const page of more) if (page.some((each) => sealFaults(sealer, each).length === 0)) return true
  return false
}

/** The tenant that a record was sealed for, wherever it lies now; undefined where its mac is not ours. */
function sealedTenant({ ring, runKeys }: Sealer, record: ReadRecord): string | undefined {
  const read = readHeader(record.header)
  if (!read.ok) return undefined
  const { stream, revision, tenant } = read.header
  const placed = { ...record, stream, revision }
  const faults = faultsIn(placed, read, expectedAlone(placed, read), { ring, runKeys, depth: 'fast' })
  return faults.every(({ code }) => code === 'data-digest') ? tenant : undefined
}
