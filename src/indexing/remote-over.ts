/** @module What the ledger asks of the thread that has the files, as calls of it. */
import type { Remote } from '../ledger/indexing.ts'
import type { Following, IndexingCalls, IndexingState } from './protocol.ts'

type Answer<K extends keyof IndexingCalls> = ReturnType<IndexingCalls[K]>

export interface Tasks {
  /** As the thread last reported. */
  readonly state: () => IndexingState
  readonly ask: <K extends keyof IndexingCalls>(
    what: K,
    args: Parameters<IndexingCalls[K]>,
  ) => Promise<Awaited<Answer<K>>>
  /** A task up to the end of the store as it is at the call. Undefined where nobody waits for it any more, and of an empty store. */
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
