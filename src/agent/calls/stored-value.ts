/** @module Values of runs and of their calls that are stored beside the events, read when somebody needs them, and only then. */
import type { LargeMember } from '../../../schemas/event-type.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { ValueRef } from '../../../schemas/values.ts'
import { LedgerError } from '../../client/errors.ts'
import { AgentError } from '../errors.ts'
import type { Connection } from '../runtime/connection.ts'

type Reads = Pick<Connection, 'value'>

/** A value of a run, by what names it. */
export interface StoredValue {
  readonly runId: string
  readonly ref: ValueRef
}

/** Throws `value-missing` where the ledger at hand does not have it. */
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

/** What a body has as this member, or names. */
export async function memberValue(
  connection: Reads,
  { runId, body, name }: { readonly runId: string; readonly body: MayNameValues; readonly name: LargeMember },
): Promise<Json> {
  const ref = refIn(body, `${name}Ref`)
  return ref === undefined ? ((body[name] as Json | undefined) ?? null) : readValue(connection, { runId, ref })
}

/** The arguments of a call as the ledger lists it. */
export function argumentsOf(connection: Reads, runId: string, call: JsonObject): Promise<Json> {
  return memberValue(connection, { runId, body: call, name: 'args' })
}

/** A call as the ledger lists it, with its arguments and its result. One of which only a digest is on record has no `result`. */
export async function withValues(connection: Reads, runId: string, call: JsonObject): Promise<JsonObject> {
  const args = await argumentsOf(connection, runId, call)
  const ref = refIn(call, 'resultRef')
  if (ref === undefined || ref.kept === false) return { ...call, args }
  return { ...call, args, result: await readValue(connection, { runId, ref }) }
}

function refIn(call: MayNameValues, name: `${LargeMember}Ref`): ValueRef | undefined {
  return call[name] as ValueRef | undefined
}

/** Whether nothing but a digest of the call's result is on record. */
export function isDigestOnly(call: JsonObject): boolean {
  return refIn(call, 'resultRef')?.kept === false
}

export function notOnRecord(tool: string, callId: string): AgentError {
  const message = `of what ${tool} gave only a digest is on record (call ${callId}, record: 'digest'): whoever needs the value gets it elsewhere, or gives the tool a check that tells it`
  return new AgentError('not-recorded', message, { tool, callId })
}
