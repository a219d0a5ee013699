/** @module Resolves a call in doubt with the finding and the reason that somebody gives (RUN-17). */
import type { Json } from '../../../schemas/json.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import { AgentError, LedgerRefused } from '../errors.ts'
import type { Connection } from './connection.ts'
import type { Home } from './live-run.ts'

/** Whether a call was executed, its result, and the evidence for that. */
export interface Resolution {
  /** Whether the tool performed its work. */
  readonly executed: boolean
  /** Return value of the tool, if executed; null if it is unknown or there is none. */
  readonly result?: unknown
  /** How this is known; recorded together with the name of the caller. */
  readonly reason: string
  /** Run of the call, if known; otherwise all open and rolled-back runs are searched. */
  readonly run?: string
}

/** The state of the call after the resolution. */
export interface ResolvedCall {
  readonly runId: string
  readonly callId: string
  /** Current status of the call: `succeeded`, `failed`, or the progress of a rollback that includes it. */
  readonly status: string
}

/**
 * Ends the doubt about a call. Nothing is executed: resume the run, or call `recover`. Throws `call-not-found`, `not-recordable`, and `LedgerRefused`
 * (`call-not-in-doubt`, also while a run within the run does the work of the call: that run must be ended instead).
 */
export async function resolveCall(home: Home, callId: string, resolution: Resolution): Promise<ResolvedCall> {
  const { executed, result, reason } = resolution
  const { connection, registry } = home
  if (reason === '')
    throw new AgentError('invalid-resolution', 'say how it is known whether the call was executed: {reason}')
  const runId = resolution.run ?? (await runOfCall(connection, callId))
  const evidence: Json = { reason }
  const recorded = recordable(result, registry.codecs, CALL_VALUE)
  if (!recorded.ok) throw new AgentError('not-recordable', `the result cannot be recorded: ${recorded.reason}`)
  const body = executed
    ? ({ outcome: 'executed', result: recorded.value, evidence } as const)
    : ({ outcome: 'not-executed', evidence } as const)
  const reply = await connection.execute(runId, { kind: 'resolve', callId, body })
  if (!reply.ok) throw new LedgerRefused(reply.problem)
  const call = (await connection.calls(runId)).find((each) => each.callId === callId)
  return { runId, callId, status: String(call?.status) }
}

async function runOfCall(connection: Connection, callId: string): Promise<string> {
  for (const status of ['open', 'compensated'] as const) {
    for await (const runId of connection.runs({ status })) {
      if ((await connection.calls(runId)).some((call) => call.callId === callId)) return runId
    }
  }
  throw new AgentError('call-not-found', `no run that is open or was rolled back has a call ${callId}: name its run`, {
    callId,
  })
}
