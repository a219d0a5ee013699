/** @module Undoes one call: the compensation is claimed, executed and settled like any other call, with its own retries. */

import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import { lacks } from '../../../schemas/redacted-parts.ts'
import type { Redacted } from '../../../schemas/redaction.ts'
import { pause } from '../../client/transport.ts'
import { failureOf } from '../errors.ts'
import { redactedResultError } from '../history/redacted-parts.ts'
import type { Connection, Reply } from '../runtime/connection.ts'
import { type ExecutionContext, runWithin } from '../runtime/execution-context.ts'
import { Session } from '../runtime/session.ts'
import { inCompensationSpan } from '../tracing/call-span.ts'
import { backoffMs } from './backoff.ts'
import { childCompensation, isChildCall, type RollBackChild } from './child-run.ts'
import { type Compensation, compensationOf, undoPlan } from './compensation.ts'
import { type Attempted, executeCall } from './execute-call.ts'
import { type Claimed, claimedIn, underLease } from './lease.ts'
import { OwnerWait } from './owner-wait.ts'
import { type DoubtResolution, resolveBy } from './resolve-doubt.ts'
import { settled, settleSuccess } from './settle.ts'
import { withValues } from './stored-value.ts'
import type { ToolRegistry } from './tool-spec.ts'

export interface Undoing {
  readonly connection: Connection
  readonly registry: ToolRegistry
  readonly runId: string
  readonly session?: Session
  readonly rollBackChild: RollBackChild
}

/** `listed` is the forward call as the ledger lists it. A call whose compensation this process does not have is left unchanged. */
export async function undo(undoing: Undoing, listed: JsonObject): Promise<void> {
  const { connection, runId } = undoing
  const compensation = undoingOf(undoing, listed)
  if (compensation === undefined) return
  const call = await withValues(connection, runId, listed)
  const { forward, own, onUnknown } = compensation
  for (let failures = 0; ; ) {
    const { reply, asked } = await claim(undoing, compensation, call)
    // An earlier process started the compensation and its outcome is unknown: the check may tell, otherwise somebody has to decide.
    if (!asked && !reply.ok && reply.problem.code === 'call-in-doubt') {
      const cleared = await ask(undoing, { compensation, call, callId: String(reply.problem.evidence.callId) })
      if (cleared.kind === 'not-executed') continue
    }
    if (!reply.ok || !reply.created) return
    const claimed = claimedIn(reply.body)
    const attempted = await underLease({ connection, runId, claimed }, () =>
      attempt(undoing, { compensation, call, claimed }),
    )
    const settling = { connection, runId, tool: compensation.tool, claimed, codecs: compensation.own.codecs }
    if (attempted.kind === 'succeeded') {
      const leavesStanding = compensation.leavesStanding?.(attempted.value) === true
      await settleSuccess({ ...settling, ...(leavesStanding && { leftStanding: true as const }) }, attempted.value)
      return
    }
    failures += 1
    const again = failures <= forward.compensationRetries && lostToUndo(call, undoing.session) === undefined
    if (attempted.kind === 'failed')
      await settled(settling, { error: failureOf(attempted.error), ...(again && { willRetry: true }) })
    else await settled(settling, { unknown: { reason: attempted.reason } })
    if (attempted.kind === 'unknown') {
      const cleared = await ask(undoing, { compensation, call, callId: claimed.callId })
      if (cleared.kind === 'executed' || (cleared.kind === 'in-doubt' && onUnknown !== 'retry')) return
    }
    if (!again) return
    await pause(backoffMs(own.backoff, failures, Math.random()))
  }
}

/** Undefined if this process cannot undo the call. */
export function undoingOf({ registry, rollBackChild }: Undoing, call: JsonObject): Compensation | undefined {
  const tool = String(call.tool)
  return isChildCall(tool)
    ? childCompensation(call, { rollBackChild, codecs: registry.codecs })
    : compensationOf(registry, tool)
}

interface Question {
  readonly compensation: Compensation
  readonly call: JsonObject
  readonly callId: string
  readonly repeated?: number
}

function ask(
  { connection, runId }: Undoing,
  { compensation, call, callId, repeated }: Question,
): Promise<DoubtResolution> {
  const { tool, own, check } = compensation
  const context = { idempotencyKey: callId }
  return resolveBy(connection, {
    runId,
    callId,
    tool,
    codecs: own.codecs,
    ask: () => check?.(undoPlan(compensation, call), context),
    ...(repeated !== undefined && { repeated }),
  })
}

/**
 * Asks the check about a compensation whose owner is gone, before a claim ends its lease: that would record the end of the rollback, and no process would
 * carry on from there. Whether it was asked in vain.
 */
async function askLeft(undoing: Undoing, compensation: Compensation, call: JsonObject): Promise<boolean> {
  if (compensation.check === undefined) return false
  const calls = await undoing.connection.calls(undoing.runId)
  const left = calls.find(({ phase, key }) => phase === 'compensation' && key === call.callId)
  if (left?.status !== 'claimed' || left.overdue !== true || left.onUnknown === 'retry') return false
  const question = { compensation, call, callId: String(left.callId), repeated: Number(left.fence) }
  return (await ask(undoing, question)).kind === 'in-doubt'
}

function declaredUndo({ compensate }: JsonObject): string | undefined {
  return isJsonObject(compensate ?? null) ? String((compensate as JsonObject).tool) : undefined
}

/** Waits while another process undoes the same call. `asked`: the check could not tell what an earlier process did. */
async function claim(
  undoing: Undoing,
  compensation: Compensation,
  call: JsonObject,
): Promise<{ readonly reply: Reply; readonly asked: boolean }> {
  const { connection, registry, runId } = undoing
  const { tool, forward, onUnknown } = compensation
  const ownerWait = new OwnerWait({ runId, tool }, registry.onWait)
  for (let mayBeLeft = call.status === 'compensating'; ; mayBeLeft = true) {
    const asked = mayBeLeft && (await askLeft(undoing, compensation, call))
    const body = {
      // The recorded name of the compensation, in case the tool was renamed.
      tool: declaredUndo(call) ?? tool,
      args: call.args ?? null,
      phase: 'compensation',
      key: String(call.callId),
      onUnknown,
      ...(forward.leaseMs !== undefined && { leaseMs: forward.leaseMs }),
    } as const
    const reply = await connection.execute(runId, { kind: 'claim', body })
    if (reply.ok || reply.problem.code !== 'call-in-progress') return { reply, asked }
    await ownerWait.again(String(reply.problem.evidence.callId ?? ''), reply.problem.retryAfterMs)
  }
}

/** Redacted arguments and results are not used to undo a call; the compensation fails, so that somebody can decide. */
function lostToUndo(call: JsonObject, session: Session | undefined): Error | undefined {
  const { callId, tool, argsRedacted, resultRedacted } = call
  const id = String(callId)
  if (isChildCall(String(tool))) return undefined
  const lacksArgs = argsRedacted !== undefined && session?.redactedArgs.has(id) !== true
  const isLost = lacks(resultRedacted as Redacted | undefined, 'result') && session?.unrecorded.has(id) !== true
  return lacksArgs || isLost ? redactedResultError(String(tool), id) : undefined
}

/** An abort of the run does not interrupt a compensation. */
async function attempt(
  { registry, runId, session }: Undoing,
  { compensation, call, claimed }: { compensation: Compensation; call: JsonObject; claimed: Claimed },
): Promise<Attempted> {
  const { callId, attempt } = claimed
  const forwardId = String(call.callId)
  const lost = lostToUndo(call, session)
  if (lost !== undefined) return { kind: 'failed', error: lost }
  const args = session?.redactedArgs.get(forwardId)
  const recorded = undoPlan(compensation, args === undefined ? call : { ...call, args })
  const live = session?.unrecorded.has(forwardId) === true
  const what = live ? { args: recorded.args, result: session.unrecorded.get(forwardId) } : recorded
  const at = session ?? new Session({ runId, registry })
  const place: ExecutionContext = { session: at, dedupe: 'position', ancestors: [], undoing: true }
  return inCompensationSpan(place, { tool: compensation.tool, callId, runId }, (traced) =>
    executeCall({
      context: {
        idempotencyKey: callId,
        callId,
        attempt,
        ...(traced.span && { traceparent: traced.span.traceparent }),
      },
      timeoutMs: compensation.own.timeoutMs,
      signal: undefined,
      run: (context) => runWithin({ ...traced, context }, () => compensation.run(what, context)),
    }),
  )
}
