/** @module Rollback of one scope of a run that continues: a saga or a conversation. */

import type { JsonObject } from '../../../schemas/json.ts'
import type { Connection } from '../runtime/connection.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import type { Session } from '../runtime/session.ts'
import { thrownReason } from '../thrown.ts'
import { fatesIn, listsOf, NOTHING, type RunOutcome, rollbackStatus } from './outcome.ts'
import { rollBack } from './roll-back.ts'

/**
 * Rolls back a scope. On resume the ledger answers with the recorded rollback; a replay, and a branch that inherits it, take the result from the record. The
 * code continues in the recorded order. `isPart`: the rollback belongs to work that has its own turn in that order, which would wait for this one.
 */
export function rollBackScope(
  { session }: ExecutionContext,
  scope: string,
  { error, isPart = false }: { readonly error: unknown; readonly isPart?: boolean },
): Promise<RunOutcome> {
  const rolledBack = (turn: Turn): Promise<RunOutcome> =>
    session.leaving.during(() => scopeRolledBack(session, scope, { error, turn }))
  return session.order.inOrder(rolledBack, { isEarly: isPart })
}

async function scopeRolledBack(
  session: Session,
  scope: string,
  { error, turn }: { readonly error: unknown; readonly turn: Turn },
): Promise<RunOutcome> {
  const { runId, registry, live, history } = session
  const reason = thrownReason(error)
  const inherited = history?.run.inherited?.scopes.has(scope) === true
  const recordedAfter = history?.rolledBackAfter(scope)
  if (recordedAfter === undefined) turn.live()
  else turn.recorded(recordedAfter)
  if (live !== undefined && !inherited) {
    const noted: JsonObject[] = []
    const connection = noting(live.connection, runId, noted)
    const outcome = await rollBack({ connection, registry, runId, scope, reason, session })
    history?.rolledBack(scope)
    const last = noted.toSorted((a, b) => Number(a.revision) - Number(b.revision)).at(-1)
    if (last !== undefined) turn.answered(last)
    return outcome
  }
  history?.rolledBack(scope)
  const lists = history === undefined ? NOTHING : listsOf(fatesIn(history.run, inherited), scope)
  return { runId, status: rollbackStatus(lists), ...lists }
}

/** Collects the answers that report a newly recorded event of this run; a run within it is rolled back over the same connection. */
function noting(connection: Connection, own: string, noted: JsonObject[]): Connection {
  return {
    ...connection,
    execute: async (runId, ...asked) => {
      const reply = await connection.execute(runId, ...asked)
      if (runId === own && reply.ok && reply.created && typeof reply.body.revision === 'number') noted.push(reply.body)
      return reply
    },
  }
}
