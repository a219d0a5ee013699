/** @module A call whose outcome is not known: asks the tool's own `check`, and puts the answer on record. */
import type { Json } from '../../../schemas/json.ts'
import type { Connection } from '../runtime/connection.ts'
import { recordable } from './recordable.ts'
import type { ToolSpec } from './tool-spec.ts'

export interface CallInDoubt {
  readonly runId: string
  readonly callId: string
  /** As the record has them. */
  readonly recordedArgs: Json
}

export type DoubtResolution =
  | { readonly kind: 'executed'; readonly result: Json }
  | { readonly kind: 'not-executed' }
  | { readonly kind: 'in-doubt' }

/** Ends the doubt where the tool can tell; a check that throws cannot. */
export async function resolveDoubt(
  connection: Connection,
  spec: ToolSpec | undefined,
  call: CallInDoubt,
): Promise<DoubtResolution> {
  const { runId, callId, recordedArgs } = call
  const evidence = { check: spec?.name ?? '' }
  try {
    const found = await spec?.check?.(spec.codecs.decode(recordedArgs), { idempotencyKey: callId })
    if (found === undefined) return { kind: 'in-doubt' }
    const result = found.done ? recordable(found.result, spec?.codecs) : undefined
    const body = found.done
      ? ({ outcome: 'executed', result: result?.ok === true ? result.value : null, evidence } as const)
      : ({ outcome: 'not-executed', evidence } as const)
    const reply = await connection.execute(runId, { kind: 'resolve', callId, body })
    if (!reply.ok) return { kind: 'in-doubt' }
    return body.outcome === 'executed' ? { kind: 'executed', result: body.result } : { kind: 'not-executed' }
  } catch {
    return { kind: 'in-doubt' }
  }
}
