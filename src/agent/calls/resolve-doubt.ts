/** @module Resolves a call with an unknown outcome by the tool's own `check`, and records the answer. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { SettleCall } from '../../../schemas/requests.ts'
import type { Connection } from '../runtime/connection.ts'
import { thrownText } from '../thrown.ts'
import type { Codecs } from './codecs.ts'
import { CALL_VALUE, recordable } from './recordable.ts'
import type { CheckResult } from './tool-options.ts'
import type { ToolSpec } from './tool-spec.ts'

/** Code of the failure of a compensation that did not take place. */
const NOT_EXECUTED = 'not-executed'

export interface CallInDoubt {
  readonly runId: string
  readonly callId: string
  /** The recorded arguments. */
  readonly recordedArgs: Json
}

export type DoubtResolution =
  /** `answer`: the ledger's answer to the resolution. */
  | { readonly kind: 'executed'; readonly result: Json; readonly answer: JsonObject }
  | { readonly kind: 'not-executed'; readonly answer: JsonObject }
  | { readonly kind: 'in-doubt' }

/** The call in doubt, and the function that can tell its outcome. */
export interface DoubtQuestion {
  readonly runId: string
  readonly callId: string
  readonly tool: string
  readonly codecs: Codecs | undefined
  readonly ask: () => CheckResult<unknown> | Promise<CheckResult<unknown>>
  /** Fence of a compensation that its owner left. If the check finds that it was not executed, that is recorded as a failure, and it is repeated. */
  readonly repeated?: number
}

/** Resolves the doubt if the tool can tell. A check that throws leaves the call in doubt. */
export function resolveDoubt(
  connection: Connection,
  spec: ToolSpec | undefined,
  { runId, callId, recordedArgs }: CallInDoubt,
): Promise<DoubtResolution> {
  const { name = '', codecs } = spec ?? {}
  const ask = async (): Promise<CheckResult<unknown>> => {
    const found = await spec?.check?.(spec.codecs.decode(recordedArgs), { idempotencyKey: callId })
    const result = found?.done === true ? recordable(found.result, codecs, CALL_VALUE) : undefined
    if (result === undefined || result.ok) return found
    return notTaken(name, `its result cannot be recorded: ${result.reason}`)
  }
  return resolveBy(connection, { runId, callId, tool: name, codecs, ask })
}

/** Resolves the doubt by any function that can tell the outcome; its answer is recorded. */
export async function resolveBy(connection: Connection, question: DoubtQuestion): Promise<DoubtResolution> {
  const { runId, callId, tool, codecs, repeated } = question
  const evidence = { check: tool }
  try {
    const found = await question.ask()
    if (found === undefined) return { kind: 'in-doubt' }
    if (typeof found !== 'object' || typeof found?.done !== 'boolean') {
      notTaken(tool, 'it gives { done: true, result }, { done: false }, or undefined')
      return { kind: 'in-doubt' }
    }
    const result = found.done ? recordable(found.result, codecs, CALL_VALUE) : undefined
    const body = found.done
      ? ({ outcome: 'executed', result: result?.ok === true ? result.value : null, evidence } as const)
      : ({ outcome: 'not-executed', evidence } as const)
    const failed = repeated === undefined || found.done ? undefined : notExecuted(tool, repeated)
    const reply = await connection.execute(
      runId,
      failed === undefined ? { kind: 'resolve', callId, body } : { kind: 'settle', callId, body: failed },
    )
    if (!reply.ok) return { kind: 'in-doubt' }
    const { body: answer } = reply
    return body.outcome === 'executed'
      ? { kind: 'executed', result: body.result, answer }
      : { kind: 'not-executed', answer }
  } catch (error) {
    notTaken(tool, thrownText(error))
    return { kind: 'in-doubt' }
  }
}

/** Unlike a resolution, this settle does not end the rollback. If it did, the compensation would never be repeated after a kill of this process at this point. */
function notExecuted(tool: string, fence: number): SettleCall {
  const error = { code: NOT_EXECUTED, message: `the check of ${tool} found that it was not executed` }
  return { fence, error, willRetry: true }
}

/** Warns that the answer was not accepted; the call stays in doubt. */
function notTaken(tool: string, reason: string): undefined {
  process.emitWarning(`the answer of the check of ${tool} was not taken (${reason}): the call stays in doubt`, {
    code: 'COUNTERSIGN_CHECK',
  })
}
