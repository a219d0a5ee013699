/** @module What the code of a run is refused is on record, so that its next life is refused alike (RUN-191). Pure. */
import type { RunState } from '../../projections/run-state.ts'
import { ANSWERS_TO_CODE, requestMark, toldRefusal } from '../../schemas/refused-request.ts'
import { type Env, type Refused, refuseOnRecord } from './decision.ts'
import type { RunCommand } from './run-command.ts'

/** The same refusal, recorded with the request that it answers, where code may catch it and no event tells of it yet. */
export function answeredOnRecord(
  state: RunState | undefined,
  { command, decided }: { readonly command: RunCommand; readonly decided: Refused },
  env: Env,
): Refused {
  const { refusal, record } = decided
  if (record !== undefined || state?.status !== 'open' || !ANSWERS_TO_CODE.has(refusal.code)) return decided
  const fingerprint = requestMark(command)
  if (fingerprint === undefined || !('body' in command)) return decided
  const told = { ...refusal, ...toldRefusal(refusal.detail, refusal.evidence) }
  const { runFence } = command.body as { readonly runFence?: number }
  return { ...decided, ...refuseOnRecord(state, env, { refusal: told, fingerprint, runFence }) }
}
