/** @module The answer of a command as its caller gets it, with what has to be read for it. */
import type { Outcome } from '../ledger.ts'
import type { Reader } from '../read/reader.ts'
import type { CommandResponse } from '../responses/response-parts.ts'
import type { Stats } from '../stats.ts'
import type { RunAggregate } from './run-aggregate.ts'

export interface OutcomeDeps {
  readonly reader: Reader
  readonly stats: Stats
}

export async function outcomeOf(
  { reader, stats }: OutcomeDeps,
  run: RunAggregate,
  answer: CommandResponse,
  of: { readonly revision: number; readonly replayed: boolean },
): Promise<Outcome> {
  if (answer.kind === 'body') {
    const { created, plan, body } = answer
    const full = plan === undefined ? body : { ...body, plan: await reader.planDetails(run.stream, plan) }
    return { ok: true, created, runId: run.runId, body: full, ...of }
  }
  stats.refused(answer.refusal.code)
  if (answer.restored === undefined) return { ok: false, refusal: answer.refusal, ...of }
  const { revision, body } = answer.restored
  const restored = { ...(await reader.envelopeAt(run.stream, revision)), ...body }
  const evidence = { ...answer.refusal.evidence, restored }
  return { ok: false, refusal: { ...answer.refusal, evidence }, ...of }
}
