/** @module Reactions of an open ledger to a new key and to a store that becomes unavailable. */
import { type EventStore, type StoreStatus, takesReads } from '../store/event-store.ts'
import { type LedgerIdentityDeps, recordRotations } from './identity/ledger-identity.ts'
import type { Indexing } from './indexing.ts'
import type { Log } from './ports.ts'
import type { Stats } from './stats.ts'
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

// Logs each change of the store (it stops or resumes accepting appends, it went backwards, a server may forget a stream) and counts its faults.

/** Logs once per change of state, no matter how often the store retries in between. Returns a function that ends the watch. */
function watchStore(store: EventStore, { log, stats }: { readonly log: Log; readonly stats: Stats }): () => void {
  let { state } = store.status()
  const named = new Set<string>()
  const name = ({ forgetting = [] }: StoreStatus): void => {
    const now = forgetting.map(({ stream, why }) => `${stream}: ${why}`)
    for (const [index, text] of now.entries()) if (!named.has(text)) log.error({ ...forgetting[index] }, FORGETTING)
    named.clear()
    for (const text of now) named.add(text)
  }
  name(store.status())
  let isLost = false
  const lost = ({ loss }: StoreStatus): void => {
    if (!isLost) log.error({ ...loss }, WENT_BACK)
    isLost = true
  }
  return store.onStatus((status) => {
    name(status)
    if (status.loss !== undefined) return lost(status)
    if (status.state === state) return
    const before = state
    state = status.state
    if (status.fault !== undefined) stats.storeFault(status.fault)
    if (state === 'ready') log.info({ before }, 'the store takes appends again')
    else log.error(fieldsOf(status), MESSAGES[state])
  })
}

const FORGETTING =
  'the server may forget events of this stream, or has: everything else is served on; "countersign verify" says what can be done'

const WENT_BACK =
  'the store went backwards: it no longer holds this event, which it had acknowledged, as when a standby that lagged was promoted or an older copy was put in its place. Nothing is read or written: put the newer store back, run "countersign verify" with the last checkpoint you hold, and start again; only if it is lost for good, move the note away, keep it, and tell those who audit this ledger'

const MESSAGES: Readonly<Record<Exclude<StoreStatus['state'], 'ready'>, string>> = {
  full: 'the disk of the store is full: appends are refused until there is room, reads go on',
  unavailable: 'the store is not available: appends are refused until it is',
  failed: 'the store is damaged: nothing is written until it is restored',
}

function fieldsOf({ state, detail, fault }: StoreStatus): object {
  return { state, ...(detail !== undefined && { reason: detail }), ...fault }
}
