/** @module Decides to whom a record that does not verify belongs: to a log, which stops there, or to a stream that this ledger did not write. */

import { type Fault, faultsIn } from '../../signing/check.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { streamTenant } from '../../signing/stream-tenant.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { expectedAlone, sealFaults } from '../read/record-seal.ts'

/** Maximum number of events of a stream that are searched for one that verifies. */
const LOOKED_AT_MAX = 1_000

export interface BrokenRecord {
  readonly record: ReadRecord
  readonly faults: readonly Fault[]
  /** Whether an event of this stream is already a leaf. */
  readonly isKnownStream: boolean
}

/**
 * The tenants whose log stops at the record: the tenant of its stream, and the tenant for which it was sealed if it was moved here from another
 * stream. Empty if the stream is foreign: none of its events verifies, the logs do not know the stream, its first event does not name one of our
 * keys, and the store is one that others may write to (LOG-2).
 */
export async function logsStoppedBy(
  deps: { readonly store: EventStore; readonly sealer: Sealer },
  broken: BrokenRecord,
): Promise<ReadonlySet<string>> {
  const tenants = new Set<string>()
  const own = streamTenant(broken.record.stream)
  if (own !== undefined && (await isOwn(deps, broken))) tenants.add(own)
  const sealedFor = sealedTenant(deps.sealer, broken.record)
  if (sealedFor !== undefined) tenants.add(sealedFor)
  return tenants
}

async function isOwn(
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

const OF_THE_BODY: ReadonlySet<string> = new Set(['data-digest', 'archive-damaged', 'archive-missing'])

/** The tenant for which a record was sealed, wherever it is stored now; undefined if its MAC is not ours. */
function sealedTenant({ ring, runKeys }: Sealer, record: ReadRecord): string | undefined {
  const read = readHeader(record.header)
  if (!read.ok) return undefined
  const { stream, revision, tenant } = read.header
  const placed = { ...record, stream, revision }
  const faults = faultsIn(placed, read, expectedAlone(placed, read), { ring, runKeys, depth: 'fast' })
  return faults.every(({ code }) => OF_THE_BODY.has(code)) ? tenant : undefined
}
