/** @module The fold of waits and signals in a run; each signal is for one wait. */
import type { FoldTable } from './fold-table.ts'
import { type RunState, safeKey } from './run-state.ts'

export const WAIT_FOLDS = {
  WaitStarted: (state, { waitId, key, name, until, schema, scope, occurrence }, { revision, time }) => {
    state.waits[safeKey(waitId)] = {
      ...{ waitId, key, revision, startedAt: time, status: 'waiting' },
      ...(name === undefined ? {} : { name }),
      ...(until === undefined ? {} : { until }),
      ...(schema === undefined ? {} : { hasSchema: true }),
      ...(scope === undefined ? {} : { scope }),
      ...(occurrence === undefined ? {} : { occurrence }),
    }
    state.waitKeys[safeKey(key)] = waitId
    state.openWaits[safeKey(waitId)] = true
  },
  SignalReceived: (state, { signalId, name, waitId }, { revision, time }) => {
    if (waitId === undefined) state.heldSignals[safeKey(signalId)] = { signalId, name, revision, receivedAt: time }
    else end(state, waitId, { status: 'signalled', signalId, revision })
  },
  SignalPassedOver: (state, { signalId }) => {
    delete state.heldSignals[safeKey(signalId)]
  },
  WaitEnded: (state, { waitId, outcome, signalId = '' }) => {
    const held = state.heldSignals[safeKey(signalId)]
    delete state.heldSignals[safeKey(signalId)]
    end(state, waitId, { status: outcome, ...(held && { signalId, revision: held.revision }) })
  },
} satisfies Partial<FoldTable<RunState>>

function end(
  state: RunState,
  waitId: string,
  { status, signalId, revision }: { status: RunState['waits'][string]['status']; signalId?: string; revision?: number },
): void {
  delete state.openWaits[safeKey(waitId)]
  const wait = state.waits[safeKey(waitId)]
  if (wait === undefined) return
  wait.status = status
  if (signalId !== undefined) wait.signalId = signalId
  if (revision !== undefined) wait.signalRevision = revision
}
