/** @module One log line when the store stops taking appends and one when it takes them again, and a count of what failed. */
import type { EventStore, StoreStatus } from '../store/event-store.ts'
import type { Log } from './ports.ts'
import type { Stats } from './stats.ts'

/** Between the two lines nothing is logged, however often the store tries. Returns what ends the watch. */
export function watchStore(
  store: EventStore,
  { log, stats }: { readonly log: Log; readonly stats: Stats },
): () => void {
  let { state } = store.status()
  return store.onStatus((status) => {
    if (status.state === state) return
    const before = state
    state = status.state
    if (status.fault !== undefined) stats.storeFault(status.fault)
    if (state === 'ready') log.info({ before }, 'the store takes appends again')
    else log.error(fieldsOf(status), MESSAGES[state])
  })
}

const MESSAGES: Readonly<Record<Exclude<StoreStatus['state'], 'ready'>, string>> = {
  full: 'the disk of the store is full: appends are refused until there is room, reads go on',
  unavailable: 'the store is not available: appends are refused until it is',
  failed: 'the store is damaged: nothing is written until it is restored',
}

function fieldsOf({ state, detail, fault }: StoreStatus): object {
  return { state, ...(detail !== undefined && { reason: detail }), ...fault }
}
