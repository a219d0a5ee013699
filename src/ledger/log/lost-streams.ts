/** @module Reports, before the file of the logs is rebuilt, the streams of which the store no longer holds all events that the file knows. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SYSTEM_TENANT } from '../../../schemas/names.ts'
import { readOne } from '../../store/event-store.ts'
import type { LogRow } from '../../store/log-store.ts'
import type { LogDeps } from './log-deps.ts'
import { isStoredLeaf, missingFault } from './log-stops.ts'

const PLACES_AT_ONCE = 4_096

type Deps = Pick<LogDeps, 'store' | 'logStore' | 'sealer'>

/** Number of events that streams are known to have had, by stream. */
export type KnownEnds = ReadonlyMap<string, number>

/**
 * Reports the first event missing from the end of each stream, and resolves with what the file knows of the ends of these streams. Nothing is reported
 * for the store of another ledger.
 */
export async function noteLost(deps: Deps): Promise<KnownEnds> {
  const lost = new Map<string, number>()
  if (!(await isSameLedger(deps))) return lost
  const { logStore, store, sealer } = deps
  const ends = new Map(logStore.attestedEnds())
  for (const log of logStore.logs())
    for (const [stream, events] of await endsOf(deps, log)) if (!ends.has(stream)) ends.set(stream, events)
  for (const [stream, events] of ends) {
    const revision = (await store.head(stream)) + 1
    if (revision >= events) continue
    lost.set(stream, events)
    sealer.faultFound(missingFault({ stream, revision }))
  }
  return lost
}

async function isSameLedger({ store, logStore }: Deps): Promise<boolean> {
  const leaf = logStore.leaf(SYSTEM_TENANT, 0)
  const record = leaf && (await readOne(store, leaf))
  return leaf !== undefined && record !== undefined && isStoredLeaf(logStore, leaf, record)
}

async function endsOf({ logStore }: Deps, { tenant, size }: LogRow): Promise<KnownEnds> {
  const ends = new Map<string, number>()
  for (let from = 0; from < size; from += PLACES_AT_ONCE) {
    for (const [, stream, revision] of logStore.leafPlaces(tenant, from, Math.min(size, from + PLACES_AT_ONCE)))
      ends.set(stream, revision + 1)
    await nextTurn()
  }
  return ends
}
