/** @module Rollback of one scope of a run that goes on: a saga, a conversation. */

import type { Place } from '../runtime/place.ts'
import { fatesIn, listsOf, NOTHING, type RunOutcome, rollbackStatus } from './outcome.ts'
import { rollBack } from './roll-back.ts'

/** On resume the ledger answers with the rollback that was; a replay reads how it ended, as a branch does that inherits it. */
export async function rollBackScope({ session }: Place, scope: string, error: unknown): Promise<RunOutcome> {
  const { runId, registry, live, recollection } = session
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const inherited = recollection?.run.inherited?.scopes.has(scope) === true
  if (live !== undefined && !inherited) {
    const outcome = await rollBack({ connection: live.connection, registry, runId, scope, reason, session })
    recollection?.rolledBack(scope)
    return outcome
  }
  recollection?.rolledBack(scope)
  const lists = recollection === undefined ? NOTHING : listsOf(fatesIn(recollection.run, inherited), scope)
  return { runId, status: rollbackStatus(lists), ...lists }
}
