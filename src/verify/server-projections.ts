/** @module The projections that should run on the event server, and the same folds in this process. */

import { evolve as evolveRun, init as initRun, name as runName } from '../../projections/server-run.ts'
import { evolve as evolveList, init as initList, name as listName } from '../../projections/server-run-list.ts'
import { type Json, parseJson } from '../../schemas/json.ts'
import type { ReadRecord, RecordPages } from '../store/event-store.ts'

/** Parses the text of a header or a body. */
export type ParseJson = (text: string) => unknown

export interface OwnProjection {
  /** Name on the server, which includes the version. */
  readonly name: string
  /** Name of its script file, as built. */
  readonly script: string
  /** The state that the server should have after these events, as JSON. Damaged records are folded as the server folds them. */
  readonly fold: (records: RecordPages, parse?: ParseJson) => Promise<Json>
}

export const OWN_PROJECTIONS: readonly OwnProjection[] = [
  { name: runName, script: 'run.js', fold: folding({ init: initRun, evolve: evolveRun }) },
  { name: listName, script: 'run-list.js', fold: folding({ init: initList, evolve: evolveList }) },
]

/** The server's built-in projection, which sorts streams by category: without it, the projections here receive no events. */
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

/** Members are parsed on access, as on the server: the fold decides about text that cannot be parsed. */
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
