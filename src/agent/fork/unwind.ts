/** @module Rolls back the branches that were not merged, like sagas (RUN-41). */

import { allEnded } from '../../resources/all-ended.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { fateOfItem, fatesIn, isCovered } from '../saga/outcome.ts'
import { rollBackScope } from '../saga/roll-back-scope.ts'
import type { BranchRollback } from './fork-types.ts'
import type { Verdict } from './fork-verdict.ts'
import { settleLeftovers } from './leftovers.ts'
import type { ForkPlan } from './plan-fork.ts'

/** Undoes the branches unless `isKept`. A resume continues an interrupted rollback; a replay reads its result. */
export async function unwind(
  execution: ExecutionContext,
  plan: ForkPlan<never>,
  { verdict, isKept }: { readonly verdict: Verdict; readonly isKept: boolean },
): Promise<readonly BranchRollback[]> {
  const lost = verdict.receipts.flatMap(({ branch, status }) => {
    const scope = status === 'merged' ? undefined : plan.branches.find(({ name }) => name === branch)?.scope
    return scope === undefined ? [] : [{ branch, status, scope }]
  })
  await settleLeftovers(
    execution,
    lost.map(({ scope }) => scope),
  )
  if (plan.onDiscard === 'keep') return []
  const scopes = await scopesWithCalls(execution)
  const rollbacks = lost.map(async ({ branch, status, scope }): Promise<BranchRollback[]> => {
    const inherited = execution.session.history?.run.inherited?.scopes.has(scope) === true
    if (!inherited && !scopes.some((inner) => isCovered(scope, inner))) return []
    // Records of earlier versions contain the rollback of such a branch.
    if (isKept && execution.session.history?.rolledBackAfter(scope) === undefined) return []
    const reason = new Error(`branch ${branch} of fork ${verdict.forkId} is ${status}`)
    const outcome = await rollBackScope(execution, scope, { error: reason, isPart: true })
    if (outcome.status === 'OPEN' || outcome.status === 'FAILED') return []
    const { compensated, standing, failed, unknown } = outcome
    return [{ branch, status: outcome.status, compensated, standing, failed, unknown }]
  })
  return (await allEnded(rollbacks)).flat()
}

async function scopesWithCalls({ session }: ExecutionContext): Promise<readonly string[]> {
  const { live, history, runId } = session
  const calls =
    live === undefined
      ? fatesIn(history?.run)
      : (await live.connection.calls(runId)).filter(({ phase }) => phase === 'forward').map((item) => fateOfItem(item))
  return calls.flatMap(({ scope }) => scope ?? [])
}
