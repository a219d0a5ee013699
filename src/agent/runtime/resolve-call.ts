/** @module What somebody found out about a call in doubt, recorded with their reason (RUN-17). */
import type { Json } from '../../../schemas/json.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import { AgentError, LedgerRefused } from '../errors.ts'
import type { Connection } from './connection.ts'
import type { Home } from './live-run.ts'

/** Whether a call was executed, what came of it, and how that is known. */
export interface Resolution {
  /** Whether the tool did what it was called for. */
  readonly executed: boolean
  /** What it gave, where it was executed; null where that is not known or nothing. */
  readonly result?: unknown
  /** How this is known: it stands on record beside the name of who says so. */
  readonly reason: string
  /** The run of the call, where it is known: else every open run, and every run that was rolled back, is looked through. */
  readonly run?: string
}

/** What became of the doubt. */
export interface ResolvedCall {
  readonly runId: string
  readonly callId: string
  /** Of the call now: `succeeded` or `failed`; of one that a rollback has in hand, how far that is. */
  readonly status: string
}

/** Throws `call-not-found`, `not-recordable`, and `LedgerRefused` (`call-not-in-doubt`). Nothing is carried out: resume the run, or `recover`. */
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
