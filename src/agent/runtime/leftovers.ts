/**
 * @module Calls that an earlier process left active in code that is not run again, such as a branch of a fork that was joined, or a call that has its outcome:
 * the run cannot end before theirs is known.
 */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Command } from '../../client/commands.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { makeAgain } from '../calls/call.ts'
import { GIVEN_UP, isChildCall, leftChildSpec } from '../calls/child-run.ts'
import { OwnerWait } from '../calls/owner-wait.ts'
import { resolveDoubt } from '../calls/resolve-doubt.ts'
import { argumentsOf, memberValue } from '../calls/stored-value.ts'
import type { ToolSpec } from '../calls/tool-spec.ts'
import { isCovered } from '../saga/outcome.ts'
import { childrenOf, isDoubtful, rollBack } from '../saga/roll-back.ts'
import type { Connection } from './connection.ts'
import { liveOf, Session } from './session.ts'

/**
 * The code of this life has ended, and so have all its calls: ends the calls that an earlier life left and that this one did not ask for, and the rollbacks of
 * scopes that it did not come to.
 */
export async function settleForgotten(session: Session): Promise<void> {
  const { live, history, registry, runId } = session
  if (live === undefined || history === undefined) return
  const { connection } = live
  for (const { scope = '', reason } of history.rollbacksLeft)
    await rollBack({ connection, registry, runId, scope, reason, session })
  if (history.holdsOpen) await settleLeftovers(session, [undefined])
}

const LOOK_AGAIN_MS = 1_000

/**
 * Waits for active leases, since their owner may still settle; runs `check` for the remaining calls in doubt; gives up those that may be repeated and need no
 * undo, and repeats those that need one.
 */
export async function settleLeftovers(session: Session, scopes: readonly (string | undefined)[]): Promise<void> {
  const { live, registry, runId, signal } = session
  if (live === undefined) return
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
    const args = await argumentsOf(connection, runId, call)
    const cleared = await resolveDoubt(connection, spec, { runId, callId: String(call.callId), recordedArgs: args })
    if (cleared.kind !== 'in-doubt' || call.onUnknown !== 'retry') continue
    if (typeof call.compensate !== 'object') await giveUp(connection, { runId, fence: session.fence, call })
    else await repeat(session, { call, args })
  }
}

/** Makes the call again as it is recorded, so that it is known whether there is something to undo. */
async function repeat(
  session: Session,
  { call, args }: { readonly call: JsonObject; readonly args: Json },
): Promise<void> {
  const { tool, scope, occurrence = 0, key, argsRedacted } = call
  const name = String(tool)
  const spec = isChildCall(name) ? leftChild(session, call) : session.registry.get(name)
  if (spec === undefined || argsRedacted !== undefined) return
  const place = { session, dedupe: 'position', ancestors: [], ...(typeof scope === 'string' && { scope }) } as const
  const asked = { args, recorded: args, argsDigest: jsonDigest(args), input: args ?? undefined }
  const identity = { spec, tool: name, execution: place, phase: 'forward', key: String(key), ...asked } as const
  await makeAgain({ ...identity, occurrence: Number(occurrence) })
}

function leftChild(session: Session, call: JsonObject): ToolSpec {
  const { registry } = session
  const { connection } = liveOf(session)
  const outputOf = async (runId: string): Promise<Json | undefined> => {
    for await (const { data } of connection.events(runId, 'RunCompleted'))
      return memberValue(connection, { runId, body: data, name: 'output' })
    return undefined
  }
  const rollBackChild = childrenOf({ connection, registry, session })
  return leftChildSpec(call, {
    codecs: registry.codecs,
    outputOf,
    rollBackChild: async (runId, reason) => {
      const { fence } = await connection.run(runId)
      await settleLeftovers(new Session({ runId, registry, live: { connection, fence } }), [undefined])
      return rollBackChild(runId, reason)
    },
  })
}

type Claim = Extract<Command, { kind: 'claim' }>

/** The call may be repeated and has no compensation, so it makes no difference whether it was executed. Claims it again without running it and settles this attempt as failed. An error that prevents this resurfaces when the run ends. */
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
  const error = { message: 'given up, since nothing waits for it: not run again', code: GIVEN_UP }
  const settle = { kind: 'settle', callId: String(callId), body: { fence: Number(attempt), error } } as const
  await connection.execute(runId, settle)
}
