/**
 * @module Calls that an earlier process left active in code that is not run again, such as a branch of a fork that was joined, or a call that has its outcome:
 * the run cannot end before theirs is known.
 */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Command } from '../../client/commands.ts'
import { OwnerWait } from '../calls/owner-wait.ts'
import { resolveDoubt } from '../calls/resolve-doubt.ts'
import { argumentsOf } from '../calls/stored-value.ts'
import { isCovered } from '../saga/outcome.ts'
import { isDoubtful } from '../saga/roll-back.ts'
import type { Connection } from './connection.ts'
import type { Session } from './session.ts'

/** The code of this life has ended, and so have all its calls: ends those that an earlier life left and that this one did not ask for. */
export async function settleForgotten(session: Session): Promise<void> {
  if (session.live !== undefined && session.history?.holdsOpen === true) await settleLeftovers(session, [undefined])
}

const LOOK_AGAIN_MS = 1_000

/**
 * Waits for active leases, since their owner may still settle; runs `check` for the remaining calls in doubt; gives up those that may be repeated and need no
 * undo.
 */
export async function settleLeftovers(session: Session, scopes: readonly (string | undefined)[]): Promise<void> {
  const { live, history, registry, runId, signal } = session
  if (live === undefined || history === undefined) return
  const { connection } = live
  const within = async (): Promise<JsonObject[]> =>
    (await connection.calls(runId)).filter(
      ({ scope, phase }) =>
        phase !== 'compensation' && scopes.some((each) => isCovered(each, scope as string | undefined)),
    )
  let calls = await within()
  const ownerWait = new OwnerWait(
    { runId, tool: scopes.includes(undefined) ? 'what lost a race' : 'a branch of a fork' },
    registry.onWait,
  )
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
  const error = { message: 'given up, since nothing waits for it: not run again', code: 'branch-given-up' }
  const settle = { kind: 'settle', callId: String(callId), body: { fence: Number(attempt), error } } as const
  await connection.execute(runId, settle)
}
