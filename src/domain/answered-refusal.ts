/** @module Records refusals that a run's code may catch, so that a resumed run gets the same refusal at the same request (RUN-191). Pure. */
import type { RunState } from '../../projections/run-state.ts'
import { ANSWERS_TO_CODE, requestMark, toldRefusal } from '../../schemas/refused-request.ts'
import { type Env, type Refused, refuseOnRecord } from './decision.ts'
import type { RunCommand } from './run-command.ts'

/** Returns the refusal, with an event that records it and the request it answers, if code may catch the refusal and no event records it yet. */
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
