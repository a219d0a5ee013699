/** @module Reactions of an open ledger to a new key and to a store that becomes unavailable. */
import { takesReads } from '../store/event-store.ts'
import { type LedgerIdentityDeps, recordRotations } from './identity/ledger-identity.ts'
import type { Indexing } from './indexing.ts'
import type { Stats } from './stats.ts'
import { watchStore } from './store-watch.ts'
import type { RunAggregates } from './write/run-aggregates.ts'

interface Watching {
  readonly stats: Stats
  readonly runs: RunAggregates
  readonly indexing: Indexing | undefined
}

/** Returns a function that ends the watch. */
export function watched(founding: LedgerIdentityDeps, { stats, runs, indexing }: Watching): () => void {
  const { keys, store, log, readOnly } = founding
  const stops = [
    keys.onChange(() => (readOnly === true ? undefined : recordNewKey(founding, indexing))),
    watchStore(store, { log, stats }),
    store.onStatus((status) => {
      if (!takesReads(status)) runs.clear()
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function recordNewKey(founding: LedgerIdentityDeps, indexing: Indexing | undefined): void {
  recordRotations(founding).then(
    () => indexing?.keysChanged(),
    (error: unknown) =>
      founding.log.error({ err: error }, 'the new key could not be recorded; the old one goes on sealing'),
  )
}
