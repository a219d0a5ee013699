/** @module The projections that are meant to run on the event server, and the same folds here. */

import { evolve as evolveRun, init as initRun, name as runName } from '../../projections/server-run.ts'
import { evolve as evolveList, init as initList, name as listName } from '../../projections/server-run-list.ts'
import { type Json, parseJson } from '../../schemas/json.ts'
import type { ReadRecord, RecordPages } from '../store/event-store.ts'

/** How the text of a header or a body is read. */
export type ParseJson = (text: string) => unknown

export interface OwnProjection {
  /** On the server; it carries the version. */
  readonly name: string
  /** File of its script, as the build makes it. */
  readonly script: string
  /** What the server should hold once it has seen these events, as JSON. Damaged records are folded as the server folds them. */
  readonly fold: (records: RecordPages, parse?: ParseJson) => Promise<Json>
}

export const OWN_PROJECTIONS: readonly OwnProjection[] = [
  { name: runName, script: 'run.js', fold: folding({ init: initRun, evolve: evolveRun }) },
  { name: listName, script: 'run-list.js', fold: folding({ init: initList, evolve: evolveList }) },
]

/** The server's own one, which sorts streams by category: ours see nothing where it does not run. */
export const CATEGORY_PROJECTION = '$by_category'

interface Folds<State> {
  readonly init: () => State
  readonly evolve: (state: State, event: ReturnType<typeof serverEvent>) => State
}

function folding<State>({ init, evolve }: Folds<State>): OwnProjection['fold'] {
  return async (records, parse = JSON.parse) => {
    let state = init()
    for await (const page of records) for (const record of page) state = evolve(state, serverEvent(record, parse))
    return parseJson(JSON.stringify(state))
  }
}

/** Parsed when they are requested, as on the server: what cannot be parsed is the fold's to judge. */
function serverEvent({ stream, revision, header, data }: ReadRecord, parse: ParseJson) {
  return {
    streamId: stream,
    sequenceNumber: revision,
    get data(): unknown {
      return parse(data)
    },
    get metadata(): unknown {
      return { header: parse(header) }
    },
  }
}
