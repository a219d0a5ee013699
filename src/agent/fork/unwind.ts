/** @module Rolls back the branches that were not merged, like sagas (RUN-41). */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Command } from '../../client/commands.ts'
import { allEnded } from '../../resources/all-ended.ts'
import { OwnerWait } from '../calls/owner-wait.ts'
import { resolveDoubt } from '../calls/resolve-doubt.ts'
import { argumentsOf } from '../calls/stored-value.ts'
import type { Connection } from '../runtime/connection.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { fateOfItem, fatesIn, isCovered } from '../saga/outcome.ts'
import { isDoubtful } from '../saga/roll-back.ts'
import { rollBackScope } from '../saga/roll-back-scope.ts'
import type { BranchRollback } from './fork-types.ts'
import type { Verdict } from './fork-verdict.ts'
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

/** Calls that an earlier process left active in branches that are not run again: the run cannot end before their outcome is known. */
const LOOK_AGAIN_MS = 1_000

/**
 * Waits for active leases, since their owner may still settle; runs `check` for the remaining calls in doubt; gives up those that may be repeated and need no
 * undo.
 */
async function settleLeftovers({ session }: ExecutionContext, scopes: readonly string[]): Promise<void> {
  const { live, history, registry, runId, signal } = session
  if (live === undefined || history === undefined) return
  const { connection } = live
  const within = async (): Promise<JsonObject[]> =>
    (await connection.calls(runId)).filter(
      ({ scope, phase }) =>
        phase !== 'compensation' && scopes.some((each) => isCovered(each, scope as string | undefined)),
    )
  let calls = await within()
  const ownerWait = new OwnerWait({ runId, tool: 'a branch of a fork' }, registry.onWait)
  while (calls.some((call) => call.status === 'claimed' && !isDoubtful(call))) {
    await ownerWait.again(String(calls.find(({ status }) => status === 'claimed')?.callId), LOOK_AGAIN_MS, signal)
    calls = await within()
  }
  for (const call of calls.filter(isDoubtful)) {
    const spec = call.phase === 'forward' ? registry.get(String(call.tool)) : undefined
    const doubtful = { runId, callId: String(call.callId), recordedArgs: await argumentsOf(connection, runId, call) }
    const cleared = await resolveDoubt(connection, spec, doubtful)
    if (cleared.kind === 'in-doubt' && isHarmless(call)) await giveUp(connection, { runId, fence: session.fence, call })
  }
}

/** The call may be repeated and has no compensation, so it makes no difference whether it was executed. */
function isHarmless({ onUnknown, compensate }: JsonObject): boolean {
  return onUnknown === 'retry' && typeof compensate !== 'object'
}

type Claim = Extract<Command, { kind: 'claim' }>

/** Claims the call again without running it and settles this attempt as failed. An error that prevents this resurfaces when the run ends. */
async function giveUp(
  connection: Connection,
  { runId, fence, call }: { readonly runId: string; readonly fence: number; readonly call: JsonObject },
): Promise<void> {
  const { tool, phase, key, scope, occurrence, onUnknown, compensate, agent } = call
  const args = await argumentsOf(connection, runId, call)
  const again = { tool, args, phase, key, scope, occurrence, onUnknown, compensate, agent, runFence: fence }
  const body = Object.fromEntries(Object.entries(again).filter(([, value]) => value !== undefined)) as {
    [name: string]: Json
  }
  const claimed = await connection.execute(runId, { kind: 'claim', body } as unknown as Claim)
  if (!claimed.ok || !claimed.created) return
  const { callId, fence: attempt } = claimed.body
  const error = { message: 'given up with its branch: not run again', code: 'branch-given-up' }
  const settle = { kind: 'settle', callId: String(callId), body: { fence: Number(attempt), error } } as const
  await connection.execute(runId, settle)
}
