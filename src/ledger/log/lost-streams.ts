/** @module Reports, before the file of the logs is rebuilt, the streams of which the store no longer holds all events that the file knows. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SYSTEM_TENANT } from '../../../schemas/names.ts'
import { readOne } from '../../store/event-store.ts'
import type { LogRow } from '../../store/log-store.ts'
import type { LogDeps } from './log-deps.ts'
import { isStoredLeaf, missingFault } from './log-stops.ts'

const PLACES_AT_ONCE = 4_096

type Deps = Pick<LogDeps, 'store' | 'logStore' | 'sealer'>

/** Reports the first event missing from the end of each stream. Nothing is reported for the store of another ledger. */
export async function noteLost(deps: Deps): Promise<void> {
  if (!(await isSameLedger(deps))) return
  for (const log of deps.logStore.logs()) await noteLostOf(deps, log)
}

async function isSameLedger({ store, logStore }: Deps): Promise<boolean> {
  const leaf = logStore.leaf(SYSTEM_TENANT, 0)
  const record = leaf && (await readOne(store, leaf))
  return leaf !== undefined && record !== undefined && isStoredLeaf(logStore, leaf, record)
}

async function noteLostOf({ store, logStore, sealer }: Deps, { tenant, size }: LogRow): Promise<void> {
  const ends = new Map<string, number>()
  for (let from = 0; from < size; from += PLACES_AT_ONCE) {
    for (const [, stream, revision] of logStore.leafPlaces(tenant, from, Math.min(size, from + PLACES_AT_ONCE)))
      ends.set(stream, revision)
    await nextTurn()
  }
  for (const [stream, end] of ends) {
    const head = await store.head(stream)
    if (head < end) sealer.faultFound(missingFault({ stream, revision: head + 1 }))
  }
}
