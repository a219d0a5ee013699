/** @module Completes an answer with values read from the store: the plan of a rollback, the payload of a signal, the envelope that a refusal restored. */
import type { Outcome } from '../ledger.ts'
import type { Reader } from '../read/reader.ts'
import type { CommandResponse } from '../responses/response-parts.ts'
import type { RunAggregate } from './run-aggregate.ts'

export async function outcomeWithRead(
  reader: Reader,
  run: RunAggregate,
  answer: CommandResponse,
  of: { readonly revision: number; readonly replayed: boolean },
): Promise<Outcome> {
  if (answer.kind === 'body') {
    const { created, plan, signalAt, body } = answer
    const full = {
      ...body,
      ...(plan !== undefined && { plan: await reader.planDetails(run.stream, plan) }),
      ...(signalAt !== undefined && { payload: await reader.payloadAt(run.stream, signalAt) }),
    }
    return { ok: true, created, runId: run.runId, body: full, ...of }
  }
  if (answer.restored === undefined) return { ok: false, refusal: answer.refusal, ...of }
  const { revision, body } = answer.restored
  const restored = { ...(await reader.envelopeAt(run.stream, revision)), ...body }
  const evidence = { ...answer.refusal.evidence, restored }
  return { ok: false, refusal: { ...answer.refusal, evidence }, ...of }
}
