/** @module Rollback of one scope of a run that continues: a saga or a conversation. */

import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Command } from '../../client/commands.ts'
import type { Connection, Reply } from '../runtime/connection.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import type { Session } from '../runtime/session.ts'
import { thrownReason } from '../thrown.ts'
import { fatesIn, listsOf, NOTHING, type RunOutcome, rollbackStatus } from './outcome.ts'
import { rollBack } from './roll-back.ts'

/**
 * Rolls back a scope. On resume the ledger answers with the recorded rollback; a replay, and a branch that inherits it, take the result from the record. The
 * code continues in the recorded order. `part`: the rollback belongs to work that has its own turn in that order.
 */
export function rollBackScope(
  { session }: ExecutionContext,
  scope: string,
  { error, part }: { readonly error: unknown; readonly part?: RollbackTurn },
): Promise<RunOutcome> {
  const rolledBack = (at: RollbackTurn): Promise<RunOutcome> =>
    session.leaving.during(() => scopeRolledBack(session, scope, { error, at }))
  if (part !== undefined) return rolledBack(part)
  return session.order.inOrder((turn) => {
    const at = new RollbackTurn(session, turn)
    at.expects([scope])
    return rolledBack(at)
  })
}

async function scopeRolledBack(
  session: Session,
  scope: string,
  { error, at }: { readonly error: unknown; readonly at: RollbackTurn },
): Promise<RunOutcome> {
  const { runId, registry, live, history } = session
  const reason = thrownReason(error)
  const inherited = history?.run.inherited?.scopes.has(scope) === true
  if (live !== undefined && !inherited) {
    const outcome = await rollBack({ connection: at.over(live.connection), registry, runId, scope, reason, session })
    history?.rolledBack(scope)
    return outcome
  }
  history?.rolledBack(scope)
  const lists = history === undefined ? NOTHING : listsOf(fatesIn(history.run, inherited), scope)
  return { runId, status: rollbackStatus(lists), ...lists }
}

/** The turn of one or several rollbacks of scopes: their outcome comes after the last event of this run that they record. */
export class RollbackTurn {
  readonly #session: Session
  readonly #turn: Turn
  /** Compensations that are carried out. */
  readonly #open = new Set<Json | undefined>()
  #last: JsonObject | undefined
  /** The latest recorded place of the outcomes; undefined unless all of them are recorded. */
  #place: number | undefined

  constructor(session: Session, turn: Turn) {
    this.#session = session
    this.#turn = turn
  }

  /** The record may hold these rollbacks (undefined: it does not). Of one that an earlier life left unfinished, the end is yet to come. */
  expects(scopes: readonly string[] | undefined): void {
    const { history, live } = this.#session
    const isLeft = live !== undefined && scopes?.some((scope) => history?.isLeftUndone(scope) === true)
    const recorded = scopes?.map((scope) => history?.rolledBackAfter(scope)) ?? [undefined]
    if (!recorded.includes(undefined)) this.#place = Math.max(0, ...recorded.map(Number))
    if (isLeft === true || this.#place === undefined) this.#turn.live()
    else this.#turn.recorded(this.#place)
  }

  /** The connection for the rollbacks. An outcome that is recorded later waits until it is known whether anything is left to undo. */
  over(connection: Connection): Connection {
    return {
      ...connection,
      execute: async (runId, command, options) => {
        const reply = await connection.execute(runId, command, options)
        // A run within the run is rolled back over the same connection.
        if (runId === this.#session.runId && reply.ok) this.#note(command, reply)
        return reply
      },
    }
  }

  #note(command: Command, { body, created }: Extract<Reply, { ok: true }>): void {
    const isLater = Number(body.revision) > Number(this.#last?.revision ?? -1)
    if (created && typeof body.revision === 'number' && isLater) this.#last = body
    if (command.kind === 'claim' && created) this.#open.add(body.callId)
    if (command.kind === 'settle' || command.kind === 'resolve') this.#open.delete(command.callId)
    const goesOn = this.#open.size > 0 || (command.kind === 'settle' && command.body.willRetry === true)
    if (goesOn) this.#turn.live()
    else if (this.#last !== undefined) this.#turn.answered(this.#last)
    else if (this.#place !== undefined) this.#turn.recorded(this.#place)
  }
}
