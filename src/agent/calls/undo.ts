/** @module Undoes one call: claimed, carried out and settled like any other, with retries of its own. */
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import { pause } from '../../client/transport.ts'
import { failureOf } from '../errors.ts'
import type { Connection, Reply } from '../runtime/connection.ts'
import { runWithin } from '../runtime/execution-context.ts'
import { Session } from '../runtime/session.ts'
import { backoffMs } from './backoff.ts'
import { type Attempted, executeCall } from './execute-call.ts'
import { type Claimed, claimedIn, keepLease } from './lease.ts'
import { OwnerWait } from './owner-wait.ts'
import { settled, settleSuccess } from './settle.ts'
import type { CallContext, Undo } from './tool-options.ts'
import type { ToolRegistry, ToolSpec } from './tool-spec.ts'

export interface Undoing {
  readonly connection: Connection
  readonly registry: ToolRegistry
  readonly runId: string
  readonly session?: Session
}

interface Compensation {
  readonly tool: string
  readonly forward: ToolSpec
  /** What the compensation itself says of unknown outcomes, time limit and backoff. */
  readonly own: ToolSpec
  readonly run: (undo: Undo<unknown, unknown>, context: CallContext) => unknown
}

/** `call` is the forward call as the ledger lists it. A compensation that nobody here can carry out is left as it is. */
export async function undo(undoing: Undoing, call: JsonObject): Promise<void> {
  const { connection, registry, runId } = undoing
  const compensation = compensationOf(registry, String(call.tool))
  if (compensation === undefined) return
  const { forward, own } = compensation
  for (let failures = 0; ; ) {
    const reply = await claim(undoing, compensation, call)
    if (!reply.ok || !reply.created) return
    const claimed = claimedIn(reply.body)
    const attempted = await attempt(undoing, { compensation, call, claimed })
    const settling = { connection, runId, tool: compensation.tool, claimed, codecs: compensation.own.codecs }
    if (attempted.kind === 'succeeded') {
      await settleSuccess(settling, attempted.value)
      return
    }
    failures += 1
    const again = failures <= forward.compensationRetries
    if (attempted.kind === 'failed')
      await settled(settling, { error: failureOf(attempted.error), ...(again && { willRetry: true }) })
    else await settled(settling, { unknown: { reason: attempted.reason } })
    if (!again || (attempted.kind === 'unknown' && own.onUnknown !== 'retry')) return
    await pause(backoffMs(own.backoff, failures, Math.random()))
  }
}

function compensationOf(registry: ToolRegistry, tool: string): Compensation | undefined {
  const forward = registry.get(tool)
  if (forward?.compensate.kind === 'inline') {
    return { tool: forward.compensate.tool, forward, own: forward, run: forward.compensate.undo }
  }
  const named = forward?.compensate.kind === 'named' ? registry.get(forward.compensate.tool) : undefined
  if (forward === undefined || named === undefined) return undefined
  return {
    tool: named.name,
    forward,
    own: named,
    run: (what, context) => named.execute(namedArgs(named, what), context),
  }
}

/** A tool that undoes another gets `{args, result}` as its one argument. */
function namedArgs(named: ToolSpec, what: Undo<unknown, unknown>): unknown {
  return named.takes === 'list' ? [what] : what
}

function declaredUndo({ compensate }: JsonObject): string | undefined {
  return isJsonObject(compensate ?? null) ? String((compensate as JsonObject).tool) : undefined
}

/** Waits while another process undoes the same call. */
async function claim(
  { connection, registry, runId }: Undoing,
  { tool, forward, own }: Compensation,
  call: JsonObject,
): Promise<Reply> {
  const ownerWait = new OwnerWait({ runId, tool }, registry.onWait)
  for (;;) {
    const body = {
      // Under the name of then, where the tool has another one by now.
      tool: declaredUndo(call) ?? tool,
      args: call.args ?? null,
      phase: 'compensation',
      key: String(call.callId),
      onUnknown: own.onUnknown,
      ...(forward.leaseMs !== undefined && { leaseMs: forward.leaseMs }),
    } as const
    const reply = await connection.execute(runId, { kind: 'claim', body })
    if (reply.ok || reply.problem.code !== 'call-in-progress') return reply
    await ownerWait.again(String(reply.problem.evidence.callId ?? ''), reply.problem.retryAfterMs)
  }
}

/** An abort of the run does not cut a compensation short. */
async function attempt(
  { connection, registry, runId, session }: Undoing,
  { compensation, call, claimed }: { compensation: Compensation; call: JsonObject; claimed: Claimed },
): Promise<Attempted> {
  using _ = keepLease(connection, runId, claimed)
  const { callId, attempt } = claimed
  const forwardId = String(call.callId)
  const { codecs } = compensation.forward
  const args = codecs.decode(call.args)
  const unrecorded = session?.unrecorded.has(forwardId) === true
  const result = unrecorded ? session.unrecorded.get(forwardId) : codecs.decode(call.result ?? null)
  const at = session ?? new Session({ runId, registry })
  return executeCall({
    context: { idempotencyKey: callId, callId, attempt },
    timeoutMs: compensation.own.timeoutMs,
    signal: undefined,
    run: (context) => {
      const place = { session: at, dedupe: 'position', ancestors: [], undoing: true, context } as const
      return runWithin(place, () => compensation.run({ args, result }, context))
    },
  })
}
