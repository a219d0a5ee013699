/** @module The thread that has the files, as an interface of calls for the ledger. */
import type { Remote } from '../ledger/indexing.ts'
import type { Following, IndexingCalls, IndexingState } from './protocol.ts'

type Answer<K extends keyof IndexingCalls> = ReturnType<IndexingCalls[K]>

export interface Tasks {
  /** State as last reported by the thread. */
  readonly state: () => IndexingState
  readonly ask: <K extends keyof IndexingCalls>(
    what: K,
    args: Parameters<IndexingCalls[K]>,
  ) => Promise<Awaited<Answer<K>>>
  /** Runs a task up to the end of the store at the time of the call. Undefined if the call was aborted, or if the store is empty. */
  readonly follow: <K extends Following>(what: K, signal?: AbortSignal) => Promise<Answer<K> | undefined>
}

export function remoteOver({ state, ask, follow }: Tasks): Remote {
  let faults = 0
  return {
    get faults() {
      return faults
    },
    get indexing() {
      return state().indexing
    },
    get indexBuilding() {
      return state().building.audit
    },
    listRuns: async (signal) => {
      if (await follow('listRuns', signal)) faults += 1
    },
    index: async (signal) => void (await follow('index', signal)),
    indexOwner: {
      vouch: (damage) => ask('vouch', [damage]),
      opening: () => ask('opening', []),
      opened: () => ask('opened', []),
    },
    logs: {
      get building() {
        return state().building.logs
      },
      catchUp: async (signal) => void (await follow('followLogs', signal)),
      sign: async (signal) => (await follow('signLogs', signal)) ?? 0,
      restoreHeads: async (signal) => void (await follow('restoreHeads', signal)),
      streamPath: (...place) => ask('streamPath', place),
    },
  }
}
