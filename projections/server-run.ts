/** @module The state of a run on the event server, with contexts and manifests represented by their digests only. */
import { evolveRun } from './run.ts'
import { RUN_PROJECTION_VERSION, type RunState } from './run-state.ts'
import { evolveOnServer, initialOnServer, type ServerEvent, type ServerState } from './server-fold.ts'

/** A state of another version has another name and is folded from the beginning. */
export const name = `countersign-run-v${RUN_PROJECTION_VERSION}`

export const init = initialOnServer

export function evolve(state: ServerState<RunState>, event: ServerEvent): ServerState<RunState> {
  return evolveOnServer(evolveRun, state, event)
}
