/** @module A call whose outcome is not known: asks the tool's own `check`, and puts the answer on record. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Connection } from '../runtime/connection.ts'
import { thrownText } from '../thrown.ts'
import type { Codecs } from './codecs.ts'
import { CALL_VALUE, recordable } from './recordable.ts'
import type { CheckResult } from './tool-options.ts'
import type { ToolSpec } from './tool-spec.ts'

export interface CallInDoubt {
  readonly runId: string
  readonly callId: string
  /** As the record has them. */
  readonly recordedArgs: Json
}

export type DoubtResolution =
  /** `answer`: of the ledger, where it was recorded. */
  | { readonly kind: 'executed'; readonly result: Json; readonly answer: JsonObject }
  | { readonly kind: 'not-executed'; readonly answer: JsonObject }
  | { readonly kind: 'in-doubt' }

/** Who can tell about a call, and of which one. */
export interface DoubtQuestion {
  readonly runId: string
  readonly callId: string
  readonly tool: string
  readonly codecs: Codecs | undefined
  readonly ask: () => CheckResult<unknown> | Promise<CheckResult<unknown>>
}

/** Ends the doubt where the tool can tell; a check that throws cannot. */
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

/** The same for whatever can tell: its answer is recorded. */
export async function resolveBy(connection: Connection, question: DoubtQuestion): Promise<DoubtResolution> {
  const { runId, callId, tool, codecs } = question
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
    const reply = await connection.execute(runId, { kind: 'resolve', callId, body })
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

/** The call stays in doubt. */
function notTaken(tool: string, reason: string): undefined {
  process.emitWarning(`the answer of the check of ${tool} was not taken (${reason}): the call stays in doubt`, {
    code: 'COUNTERSIGN_CHECK',
  })
}
