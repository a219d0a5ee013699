/** @module Rollback of one scope of a run that goes on: a saga, a conversation. */

import type { ExecutionContext } from '../runtime/execution-context.ts'
import { fatesIn, listsOf, NOTHING, type RunOutcome, rollbackStatus } from './outcome.ts'
import { rollBack } from './roll-back.ts'

/** On resume the ledger answers with the rollback that was; a replay reads how it ended, as a branch does that inherits it. */
export async function rollBackScope({ session }: ExecutionContext, scope: string, error: unknown): Promise<RunOutcome> {
  const { runId, registry, live, history } = session
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const inherited = history?.run.inherited?.scopes.has(scope) === true
  if (live !== undefined && !inherited) {
    const outcome = await rollBack({ connection: live.connection, registry, runId, scope, reason, session })
    history?.rolledBack(scope)
    return outcome
  }
  history?.rolledBack(scope)
  const lists = history === undefined ? NOTHING : listsOf(fatesIn(history.run, inherited), scope)
  return { runId, status: rollbackStatus(lists), ...lists }
}
