/** @module What the ledger asks of the thread that has the files, as tasks for it. */
import type { Elsewhere } from '../ledger/upkeep.ts'
import type { Position } from '../store/event-store.ts'
import type { TaskDone, UpkeepState, UpkeepTask } from './protocol.ts'

/** Tasks that bring a file up to the store. */
export type Following = Extract<UpkeepTask, { readonly until: Position }>['what']

export interface Tasks {
  /** As the thread last reported. */
  readonly state: () => UpkeepState
  readonly task: (task: UpkeepTask) => Promise<TaskDone>
  /** A task up to the end of the store as it is at the call. */
  readonly follow: (what: Following, signal?: AbortSignal) => Promise<TaskDone>
}

export function elsewhereOver({ state, task, follow }: Tasks): Elsewhere {
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
      const { hasFaults } = await follow('list-runs', signal)
      if (hasFaults === true) faults += 1
    },
    index: async (signal) => void (await follow('index', signal)),
    indexOwner: {
      vouch: async (damage) => (await task({ what: 'vouch', ...(damage !== undefined && { damage }) })).state,
      opening: async () => void (await task({ what: 'opening' })),
      opened: async () => void (await task({ what: 'opened' })),
    },
    logs: {
      get building() {
        return state().building.logs
      },
      catchUp: async (signal) => void (await follow('follow-logs', signal)),
      sign: async (signal) => (await follow('sign-logs', signal)).signed ?? 0,
      restoreHeads: async (signal) => void (await follow('restore-heads', signal)),
      streamPath: async (tenant, stream, size, root) =>
        (await task({ what: 'stream-path', tenant, stream, size, root })).path,
    },
  }
}
