/** @module The result of a call whose value is not in the event: read from the value store, or obtained from the tool's check. */
import type { Json } from '../../../schemas/json.ts'
import type { AgentError } from '../errors.ts'
import { redactedResultError } from '../history/redacted-parts.ts'
import type { CallIdentity } from './call-identity.ts'
import { CALL_VALUE, recordable } from './recordable.ts'
import { notOnRecord, readValue, type StoredValue } from './stored-value.ts'

/** A result that is not in the event itself. Without `ref`, the policy left it out of the record. */
export type RecordedResult = { readonly callId: string } & (StoredValue | { readonly ref?: undefined })

/** A result that cannot be obtained halts the run, which can continue where the value is available. */
export async function recordedResult(identity: CallIdentity, call: RecordedResult): Promise<Json> {
  const { session } = identity.execution
  if (call.ref === undefined) return redactedResult(identity, call.callId)
  try {
    if (call.ref.kept === false) return await fromCheck(identity, call.callId, notOnRecord)
    if (session.values === undefined) throw new TypeError('a session that is served has somewhere to read values')
    return await readValue(session.values, call)
  } catch (error) {
    throw error instanceof Error ? session.halt(error) : error
  }
}

/** A result that the policy left out: taken from this process, or from the tool's `check`; otherwise the run halts. */
async function redactedResult(identity: CallIdentity, callId: string): Promise<Json> {
  const { session } = identity.execution
  const remembered = session.unrecorded.has(callId)
    ? recordable(session.unrecorded.get(callId), identity.spec.codecs, CALL_VALUE)
    : undefined
  if (remembered?.ok === true) return remembered.value
  try {
    return await fromCheck(identity, callId, redactedResultError)
  } catch (error) {
    throw error instanceof Error ? session.halt(error) : error
  }
}

/** A result of which only the digest is recorded, as returned by the tool's `check`. A replay calls no check. */
async function fromCheck(
  { spec, args, execution }: CallIdentity,
  callId: string,
  missing: (tool: string, callId: string) => AgentError,
): Promise<Json> {
  const { check, name, codecs } = spec
  const isLive = execution.session.live !== undefined
  const found = isLive ? await check?.(codecs.decode(args), { idempotencyKey: callId }) : undefined
  const value = found?.done === true ? recordable(found.result, codecs, CALL_VALUE) : undefined
  if (value?.ok !== true) throw missing(name, callId)
  return value.value
}
