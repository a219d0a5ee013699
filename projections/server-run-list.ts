/** @module A run's row in the run list, on the event server. */
import { evolveRunRow, RUN_ROW_VERSION, type RunRowState } from './run-row.ts'
import { evolveOnServer, initialOnServer, type ServerEvent, type ServerState } from './server-fold.ts'

export const name = `countersign-run-list-v${RUN_ROW_VERSION}`

export const init = initialOnServer

export function evolve(state: ServerState<RunRowState>, event: ServerEvent): ServerState<RunRowState> {
  return evolveOnServer(evolveRunRow, state, event)
}
