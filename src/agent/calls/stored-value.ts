/** @module Values of runs and calls that are stored outside the events, read on demand. */
import type { LargeMember } from '../../../schemas/event-type.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { ValueRef } from '../../../schemas/values.ts'
import { LedgerError } from '../../client/errors.ts'
import { AgentError } from '../errors.ts'
import type { Connection } from '../runtime/connection.ts'

type Reads = Pick<Connection, 'value'>

/** A reference to a stored value of a run. */
export interface StoredValue {
  readonly runId: string
  readonly ref: ValueRef
}

/** Reads a value that is stored beside the events. Throws `value-missing` if the connected ledger does not have it. */
export async function readValue(connection: Reads, { runId, ref }: StoredValue): Promise<Json> {
  try {
    return await connection.value(runId, ref.digest)
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error
    const message = `a value of ${ref.bytes} bytes of the run ${runId} cannot be read (${error.message}): it lies beside the events, in the ledger that recorded them`
    throw new AgentError('value-missing', message, { runId, digest: ref.digest }, { cause: error })
  }
}

type MayNameValues = { readonly [M in LargeMember | `${LargeMember}Ref`]?: unknown }

/** The value of a member of a body, read from the store if the body only references it. */
export async function memberValue(
  connection: Reads,
  { runId, body, name }: { readonly runId: string; readonly body: MayNameValues; readonly name: LargeMember },
): Promise<Json> {
  const ref = refIn(body, `${name}Ref`)
  return ref === undefined ? ((body[name] as Json | undefined) ?? null) : readValue(connection, { runId, ref })
}

/** The arguments of a call that the ledger listed. */
export function argumentsOf(connection: Reads, runId: string, call: JsonObject): Promise<Json> {
  return memberValue(connection, { runId, body: call, name: 'args' })
}

/** A call that the ledger listed, with its arguments and its result. It has no `result` if only its digest is recorded. */
export async function withValues(connection: Reads, runId: string, call: JsonObject): Promise<JsonObject> {
  const args = await argumentsOf(connection, runId, call)
  const ref = refIn(call, 'resultRef')
  if (ref === undefined || ref.kept === false) return { ...call, args }
  return { ...call, args, result: await readValue(connection, { runId, ref }) }
}

function refIn(call: MayNameValues, name: `${LargeMember}Ref`): ValueRef | undefined {
  return call[name] as ValueRef | undefined
}

/** Whether only a digest of the call's result is recorded. */
export function isDigestOnly(call: JsonObject): boolean {
  return refIn(call, 'resultRef')?.kept === false
}

export function notOnRecord(tool: string, callId: string): AgentError {
  const message = `of what ${tool} gave only a digest is recorded (call ${callId}, record: 'digest'): get the value elsewhere, or give the tool a check that returns it`
  return new AgentError('not-recorded', message, { tool, callId })
}
