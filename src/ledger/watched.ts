/** @module What a new key, and a store that goes away, make of a ledger that is open. */
import { takesReads } from '../store/event-store.ts'
import { type LedgerIdentityDeps, recordRotations } from './identity/ledger-identity.ts'
import type { Stats } from './stats.ts'
import { watchStore } from './store-watch.ts'
import type { Upkeep } from './upkeep.ts'
import type { RunAggregates } from './write/run-aggregates.ts'

interface Watching {
  readonly stats: Stats
  readonly runs: RunAggregates
  readonly upkeep: Upkeep | undefined
}

/** Returns what ends the watch. */
export function watched(founding: LedgerIdentityDeps, { stats, runs, upkeep }: Watching): () => void {
  const { keys, store, log, readOnly } = founding
  const stops = [
    keys.onChange(() => (readOnly === true ? undefined : recordNewKey(founding, upkeep))),
    watchStore(store, { log, stats }),
    store.onStatus((status) => {
      if (!takesReads(status)) runs.clear()
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function recordNewKey(founding: LedgerIdentityDeps, upkeep: Upkeep | undefined): void {
  recordRotations(founding).then(
    () => upkeep?.keysChanged(),
    (error: unknown) =>
      founding.log.error({ err: error }, 'the new key could not be put on record; the old one goes on sealing'),
  )
}
